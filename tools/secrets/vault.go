package secrets

import (
	"crypto/aes"
	"crypto/cipher"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"sync"

	"nod/store"
)

// Bounds of a secret.
const (
	maxValue   = 16 << 10 // bytes
	maxSecrets = 200
)

var nameForm = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.-]{0,63}$`)

// CheckName refuses a name that no secret can have.
func CheckName(name string) error {
	if !nameForm.MatchString(name) {
		return fmt.Errorf("%q can't be a secret's name: it takes up to 64 letters, digits, _ . and -, and begins with a letter", name)
	}
	return nil
}

const bucket = "secrets"

// sealed is a record as it lies in the database. Names are not secret.
type sealed struct {
	Box []byte `json:"box"` // nonce and ciphertext, bound to bucket and name
}

var table = store.NewTable[store.Text, sealed](bucket, store.ParseText[store.Text])

// Vault stores secrets encrypted with AES-256-GCM. Bucket and name are additional data, so that a record can't be moved
// to another name, and a flipped bit is found.
type Vault struct {
	aead     cipher.AEAD
	redactor *Redactor

	mu     sync.Mutex
	values map[string]string
}

// OpenVault opens the secrets of a database and hands their values to the redactor, which learns later ones too.
func OpenVault(db *store.DB, key []byte, redactor *Redactor) (*Vault, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, fmt.Errorf("opening the secrets: %w", err)
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, fmt.Errorf("opening the secrets: %w", err)
	}
	v := &Vault{aead: aead, redactor: redactor, values: map[string]string{}}
	err = db.View(func(tx *store.Tx) error {
		return table.Scan(tx, nil, func(name store.Text, s sealed) (bool, error) {
			value, err := v.open(string(name), s)
			if err != nil {
				return false, err
			}
			v.learn(string(name), value)
			return true, nil
		})
	})
	if err != nil {
		return nil, err
	}
	return v, nil
}

func boundTo(name string) []byte { return []byte(bucket + "\x00" + name) }

func (v *Vault) open(name string, s sealed) (string, error) {
	value, err := v.aead.Open(nil, nil, s.Box, boundTo(name))
	if err != nil {
		return "", fmt.Errorf("reading the secret %s: it was not written with this key, or is damaged; put the right key back, or set the secret anew", name)
	}
	return string(value), nil
}

func (v *Vault) learn(name, value string) {
	v.mu.Lock()
	v.values[name] = value
	v.mu.Unlock()
	v.redactor.Add(value)
}

// Set stores a secret within the caller's commit, in place of an earlier value. The old value stays redacted.
func (v *Vault) Set(tx *store.Tx, name, value string) error {
	if err := CheckName(name); err != nil {
		return err
	}
	switch {
	case value == "":
		return errors.New("the secret is empty")
	case len(value) > maxValue:
		return fmt.Errorf("the secret has %d bytes; at most %d fit", len(value), maxValue)
	}
	known, err := table.Has(tx, store.Text(name))
	if err != nil {
		return err
	}
	if names, err := v.Names(tx, ""); err != nil {
		return err
	} else if !known && len(names) >= maxSecrets {
		return fmt.Errorf("there are %d secrets already; delete one first", maxSecrets)
	}
	if err := table.Put(tx, store.Text(name), sealed{Box: v.aead.Seal(nil, nil, []byte(value), boundTo(name))}); err != nil {
		return err
	}
	v.redactor.Add(value) // before the commit: the value may already be on its way to a log
	tx.OnCommit(func() { v.learn(name, value) })
	return nil
}

// Delete forgets a secret within the caller's commit. Its value stays redacted.
func (v *Vault) Delete(tx *store.Tx, name string) error {
	if err := table.Delete(tx, store.Text(name)); err != nil {
		return err
	}
	tx.OnCommit(func() {
		v.mu.Lock()
		defer v.mu.Unlock()
		delete(v.values, name)
	})
	return nil
}

// Hide has a value redacted that is kept nowhere.
func (v *Vault) Hide(value string) { v.redactor.Add(value) }

// Names lists the names that match a pattern in path.Match's form; "" lists all.
func (v *Vault) Names(tx *store.Tx, pattern string) (names []string, err error) {
	if _, err := path.Match(pattern, ""); err != nil {
		return nil, fmt.Errorf("%q is no pattern: use * and ?, as in api_*", pattern)
	}
	err = table.Scan(tx, nil, func(name store.Text, _ sealed) (bool, error) {
		if ok, err := path.Match(pattern, string(name)); pattern == "" || err == nil && ok {
			names = append(names, string(name))
		}
		return true, nil
	})
	slices.Sort(names)
	return names, err
}

// Value is a secret's present value.
func (v *Vault) Value(name string) (string, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	value, ok := v.values[name]
	return value, ok
}
