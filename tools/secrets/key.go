package secrets

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"nod/store"
)

const (
	// keySize is that of AES-256, in bytes.
	keySize = 32
	keyFile = "key"
	// maxKeyFile bounds what is read of a key file; a locked one has 115 bytes.
	maxKeyFile = 1 << 10
	// credentialName is the key's name for systemd's LoadCredential=.
	credentialName = "nod-key"
)

// KeySource says where the key of the vault comes from.
type KeySource struct {
	Home        string // NOD_HOME
	Credentials string // $CREDENTIALS_DIRECTORY, where systemd passes on what it was told to; "" if it was told nothing
	Passphrase  string // what the key in Home is locked with; "" for nothing

	cost byte // of locking; 0 is scryptCost
}

// LoadKey reads the key of a home, or makes one at the first start. A key that systemd passes on goes first. It refuses a
// file that others could read or that belongs to somebody else. A key that lies open is locked once there is a passphrase.
func LoadKey(from KeySource) ([]byte, error) {
	key, state, err := from.look()
	switch {
	case err != nil:
		return nil, err
	case state == missing:
		key = make([]byte, keySize)
		rand.Read(key) // never fails: crypto/rand ends the program instead
		return key, from.keep(key)
	case state == open && from.Passphrase != "":
		return key, from.keep(key)
	}
	return key, nil
}

// CheckKey says how the key of a home is kept, and changes nothing. The error is one that LoadKey would give.
func CheckKey(from KeySource) (words string, err error) {
	_, state, err := from.look()
	words = stateWords[state]
	if state == open && from.Passphrase != "" {
		words = "it lies open; the next start locks it with the passphrase"
	}
	return words, err
}

// keyState is how a key is kept.
type keyState int

const (
	missing keyState = iota
	open
	locked
	passedOn
)

var stateWords = map[keyState]string{
	missing: "there is none yet; the first start makes it", open: "it lies in NOD_HOME, for nod's user alone",
	locked: "it lies in NOD_HOME, locked with the passphrase", passedOn: "systemd passes it on",
}

func (s KeySource) path() string { return filepath.Join(s.Home, keyFile) }

// look reads the key, if there is one.
func (s KeySource) look() (key []byte, state keyState, err error) {
	if s.Credentials != "" {
		path := filepath.Join(s.Credentials, credentialName)
		key, err := os.ReadFile(path)
		if err == nil {
			key, err = checkKey(key, path)
			return key, passedOn, err
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, missing, fmt.Errorf("reading the key: %w", err)
		}
	}
	file, err := readKey(s.path())
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, missing, nil
	case err != nil:
		return nil, missing, err
	case isLocked(file):
		if key, err = unlock(file, s.Passphrase); err != nil {
			return nil, locked, fmt.Errorf("reading the key %s: %w", s.path(), err)
		}
		key, err = checkKey(key, s.path())
		return key, locked, err
	}
	key, err = checkKey(file, s.path())
	return key, open, err
}

// readKey reads a key file that is ours alone.
func readKey(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("reading the key: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("reading the key: %w", err)
	}
	if err := checkOwner(path, info); err != nil {
		return nil, err
	}
	file, err := io.ReadAll(io.LimitReader(f, maxKeyFile))
	if err != nil {
		return nil, fmt.Errorf("reading the key: %w", err)
	}
	return file, nil
}

func checkKey(key []byte, path string) ([]byte, error) {
	if len(key) != keySize {
		return nil, fmt.Errorf("the key %s has %d bytes instead of %d: put the right one back, without it stored secrets can't be read", path, len(key), keySize)
	}
	return key, nil
}

func checkOwner(path string, info fs.FileInfo) error {
	if info.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("the key %s can be read by others: run chmod 600 on it", path)
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("the key %s is not a regular file", path)
	}
	if !ownedByUs(info) {
		return fmt.Errorf("the key %s belongs to another user: run chown on it", path)
	}
	return nil
}

// keep writes the key file, locked if there is a passphrase, that is there whole or not at all.
func (s KeySource) keep(key []byte) error {
	path := s.path()
	if s.Passphrase != "" {
		locked, err := lock(key, s.Passphrase, cmp.Or(s.cost, scryptCost))
		if err != nil {
			return err
		}
		key = locked
	}
	temp, err := os.CreateTemp(filepath.Dir(path), ".key-*")
	if err != nil {
		return fmt.Errorf("making the key: %w", err)
	}
	defer os.Remove(temp.Name())
	if _, err := temp.Write(key); err != nil {
		return errors.Join(fmt.Errorf("making the key: %w", err), temp.Close())
	}
	if err := errors.Join(temp.Chmod(0o600), temp.Sync(), temp.Close()); err != nil {
		return fmt.Errorf("making the key: %w", err)
	}
	if err := errors.Join(os.Rename(temp.Name(), path), store.SyncFolder(filepath.Dir(path))); err != nil {
		return fmt.Errorf("making the key: %w", err)
	}
	return nil
}
