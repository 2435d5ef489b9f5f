package secrets

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

const (
	// keySize is that of AES-256, in bytes.
	keySize = 32
	keyFile = "key"
	// credentialName is the key's name for systemd's LoadCredential=.
	credentialName = "nod-key"
)

// LoadKey reads the key of a home, or makes one at the first start. A key that systemd passes on in
// $CREDENTIALS_DIRECTORY goes first. It refuses a file that others could read or that belongs to somebody else.
func LoadKey(home, credentials string) ([]byte, error) {
	if credentials != "" {
		key, err := os.ReadFile(filepath.Join(credentials, credentialName))
		if err == nil {
			return checkKey(key, filepath.Join(credentials, credentialName))
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("reading the key: %w", err)
		}
	}
	path := filepath.Join(home, keyFile)
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return makeKey(path)
	}
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
	key, err := io.ReadAll(io.LimitReader(f, keySize+1))
	if err != nil {
		return nil, fmt.Errorf("reading the key: %w", err)
	}
	return checkKey(key, path)
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

// makeKey writes a new key that is there whole or not at all.
func makeKey(path string) ([]byte, error) {
	key := make([]byte, keySize)
	rand.Read(key) // never fails: crypto/rand ends the program instead
	temp, err := os.CreateTemp(filepath.Dir(path), ".key-*")
	if err != nil {
		return nil, fmt.Errorf("making the key: %w", err)
	}
	defer os.Remove(temp.Name())
	if _, err := temp.Write(key); err != nil {
		return nil, errors.Join(fmt.Errorf("making the key: %w", err), temp.Close())
	}
	if err := errors.Join(temp.Chmod(0o600), temp.Sync(), temp.Close()); err != nil {
		return nil, fmt.Errorf("making the key: %w", err)
	}
	if err := os.Rename(temp.Name(), path); err != nil {
		return nil, fmt.Errorf("making the key: %w", err)
	}
	return key, nil
}
