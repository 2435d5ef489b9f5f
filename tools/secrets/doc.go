// Package secrets keeps secrets and keeps them out of sight: a Vault that stores them encrypted, a Redactor that takes
// them out of every text on its way to a model, a chat, a log or a transcript, and the tools set_secret and list_secrets.
//
// It owns the key file, the records of secrets and the forms in which a secret is recognised. It leaves to others where
// texts come from. Honest limit: whoever can read NOD_HOME as the same user has both key and records, unless the key is
// locked with a passphrase that lies elsewhere; whoever can read the memory of a running nod has them anyway. The encryption
// is for backups, copies and bug reports; the sandbox keeps commands away from both.
//
// A Vault and a Redactor may be used from many goroutines.
package secrets
