package mcp

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"nod/store"
	"nod/tools/secrets"
)

// Definition is a tool as its server describes it, within bounds.
type Definition struct {
	Name        string `json:"name"` // the server's own
	Description string `json:"description,omitempty"`
	Schema      []byte `json:"schema"`
}

// known is what was last heard from a server. It is kept so that its tools are there before it is up, also for a call
// that waits for a person across a restart.
type known struct {
	Tools        []Definition `json:"tools"`
	Instructions string       `json:"instructions,omitempty"` // in the server's words
	Left         int          `json:"left,omitempty"`         // tools that were left out
	At           time.Time    `json:"at"`
}

var (
	serverTable = store.NewTable[store.Text, Server]("mcp_servers", store.ParseText[store.Text])
	// switchTable holds whether a server was switched on or off by hand, also one of nod.yaml.
	switchTable = store.NewTable[store.Text, bool]("mcp_switches", store.ParseText[store.Text])
	knownTable  = store.NewTable[store.Text, known]("mcp_known", store.ParseText[store.Text])
)

// book is what is kept of servers.
type book struct {
	db    *store.DB
	vault *secrets.Vault
}

// load reads what is kept: registered servers, switches, and what was last heard.
func (b book) load() (servers []Server, switches map[string]bool, heard map[string]known, err error) {
	switches, heard = map[string]bool{}, map[string]known{}
	err = b.db.View(func(tx *store.Tx) error {
		return errors.Join(
			serverTable.Scan(tx, nil, func(_ store.Text, s Server) (bool, error) {
				servers = append(servers, s)
				return true, nil
			}),
			switchTable.Scan(tx, nil, func(name store.Text, on bool) (bool, error) {
				switches[string(name)] = on
				return true, nil
			}),
			knownTable.Scan(tx, nil, func(name store.Text, k known) (bool, error) {
				heard[string(name)] = k
				return true, nil
			}))
	})
	if err != nil {
		return nil, nil, nil, fmt.Errorf("reading the MCP servers: %w", err)
	}
	return servers, switches, heard, nil
}

// put keeps a server. Its secrets go into the vault; the record has references to them.
func (b book) put(tx *store.Tx, s Server) (Server, error) {
	s.Env = maps.Clone(s.Env)
	keep := func(name, value string) (string, error) {
		if _, is := secrets.Reference(value); is || value == "" {
			return value, nil
		}
		return referenceTo(name), b.vault.Set(tx, name, value)
	}
	var err error
	if s.APIKey, err = keep(secretOf(s.Name, "api_key"), s.APIKey); err != nil {
		return s, fmt.Errorf("keeping the key: %w", err)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		if !IsSecret(name) {
			continue
		}
		if s.Env[name], err = keep(secretOf(s.Name, name), s.Env[name]); err != nil {
			return s, fmt.Errorf("keeping %s: %w", name, err)
		}
	}
	return s, serverTable.Put(tx, store.Text(s.Name), s)
}

const maxSecretName = 64

// secretOf is the name of a secret that belongs to a server.
func secretOf(server, what string) string {
	name := "mcp." + server + "." + what
	if len(name) <= maxSecretName {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	return name[:maxSecretName-hashDigits-1] + "-" + hex.EncodeToString(sum[:])[:hashDigits]
}

// ownSecrets are the stored secrets that were given with the server itself.
func (s Server) ownSecrets() (names []string) {
	values := maps.Clone(s.Env)
	if values == nil {
		values = map[string]string{}
	}
	if s.APIKey != "" { // then there is no environment
		values["api_key"] = s.APIKey
	}
	for what, value := range values {
		if name, ok := secrets.Reference(value); ok && name == secretOf(s.Name, what) {
			names = append(names, name)
		}
	}
	return names
}

// remove forgets a server with the secrets that belong to it.
func (b book) remove(tx *store.Tx, s Server) error {
	problems := []error{
		serverTable.Delete(tx, store.Text(s.Name)), switchTable.Delete(tx, store.Text(s.Name)), knownTable.Delete(tx, store.Text(s.Name)),
	}
	for _, name := range s.ownSecrets() {
		problems = append(problems, b.vault.Delete(tx, name))
	}
	return errors.Join(problems...)
}

// hear keeps what a server said of itself.
func (b book) hear(name string, k known) error {
	return b.db.Update(func(tx *store.Tx) error { return knownTable.Put(tx, store.Text(name), k) })
}

// turn keeps whether a server is on.
func (b book) turn(tx *store.Tx, name string, on bool) error {
	return switchTable.Put(tx, store.Text(name), on)
}

// resolved puts stored secrets in place of the references to them.
func (b book) resolved(s Server) (Server, error) {
	var missing []error
	value := func(text string) string {
		name, is := secrets.Reference(text)
		if !is {
			return text
		}
		found, ok := b.vault.Value(name)
		if !ok {
			missing = append(missing, fmt.Errorf("it needs the secret %s, which is not stored: set_secret asks for it", name))
		}
		return found
	}
	s.APIKey, s.Env = value(s.APIKey), maps.Clone(s.Env)
	for name, text := range s.Env {
		s.Env[name] = value(text)
	}
	return s, errors.Join(missing...)
}
