package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"nod/agent/llm"
	"nod/store"
	"nod/tools/secrets"
	"nod/tools/shell"
)

// openVault opens the secrets with the key of the home, or with the one that systemd passes on.
func openVault(db *store.DB, cfg Config, redactor *secrets.Redactor) (*secrets.Vault, error) {
	key, err := secrets.LoadKey(keySource(cfg))
	if err != nil {
		return nil, err
	}
	return secrets.OpenVault(db, key, redactor)
}

func keySource(cfg Config) secrets.KeySource {
	return secrets.KeySource{Home: cfg.Home, Credentials: cfg.Credentials, Passphrase: string(cfg.Passphrase)}
}

// checkKey says how the key of the stored secrets is kept.
func checkKey(cfg Config) finding {
	words, err := secrets.CheckKey(keySource(cfg))
	if err != nil {
		return finding{"key of the secrets", problem, err.Error()}
	}
	return finding{"key of the secrets", ok, words}
}

// resolveSecrets puts stored secrets in place of the references to them. All that are missing are named at once.
func resolveSecrets(models []llm.Model, vault *secrets.Vault, redactor *secrets.Redactor) error {
	var missing []error
	resolve := func(where string, value llm.Secret) llm.Secret {
		name, ok := secrets.Reference(string(value))
		if !ok {
			return value
		}
		stored, ok := vault.Value(name)
		if !ok {
			missing = append(missing, fmt.Errorf("%s refers to the secret %s, which is not stored: start without it, and have the agent set it in the chat", where, name))
			return ""
		}
		redactor.Add(stored)
		return llm.Secret(stored)
	}
	for i := range models {
		models[i].APIKey = resolve("the api_key of model "+models[i].Name, models[i].APIKey)
		for key, value := range models[i].Headers {
			models[i].Headers[key] = resolve("the header "+key+" of model "+models[i].Name, value)
		}
	}
	return errors.Join(missing...)
}

// variables are those of the configuration for commands. A stored secret is read when a command needs it, so that one
// that is set while nod runs is there at once.
func variables(declared map[string]commandVariable, vault *secrets.Vault) (all []shell.Variable) {
	for _, name := range slices.Sorted(maps.Keys(declared)) {
		value := string(declared[name].Value)
		read := func() string { return value }
		if secret, stored := secrets.Reference(value); stored {
			read = func() string {
				value, _ := vault.Value(secret)
				return value
			}
		}
		all = append(all, shell.Variable{Name: name, Value: read})
	}
	return all
}
