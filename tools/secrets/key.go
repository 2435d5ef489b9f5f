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
	if from.Credentials != "" {
		path := filepath.Join(from.Credentials, credentialName)
		key, err := os.ReadFile(path)
		if err == nil {
			return checkKey(key, path)
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("reading the key: %w", err)
		}
	}
	path := filepath.Join(from.Home, keyFile)
	file, err := readKey(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		key := make([]byte, keySize)
		rand.Read(key) // never fails: crypto/rand ends the program instead
		return key, keep(path, key, from)
	case err != nil:
		return nil, err
	case isLocked(file):
		key, err := unlock(file, from.Passphrase)
		if err != nil {
			return nil, fmt.Errorf("reading the key %s: %w", path, err)
		}
		return checkKey(key, path)
	}
	key, err := checkKey(file, path)
	if err == nil && from.Passphrase != "" {
		err = keep(path, key, from)
	}
	return key, err
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

// keep writes a key file, locked if there is a passphrase, that is there whole or not at all.
func keep(path string, key []byte, how KeySource) error {
	if how.Passphrase != "" {
		locked, err := lock(key, how.Passphrase, cmp.Or(how.cost, scryptCost))
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
