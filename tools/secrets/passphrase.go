package secrets

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"errors"
	"fmt"

	"golang.org/x/crypto/scrypt"
)

// A locked key file is lockedHead, a byte for the cost, a salt, and the key in AES-256-GCM under a key that scrypt makes of
// the salt and a passphrase. So the passphrase can be checked, and everything that was encrypted before it stays as it is.
const (
	lockedHead = "nod key, locked with a passphrase (1)\n"
	saltSize   = 16
	// The cost of scrypt, N being a power of two: 32 MiB and about a quarter of a second, as the OWASP password storage cheat
	// sheet has it for this much memory.
	scryptCost, scryptR, scryptP = 15, 8, 3
	// What is taken of a file: each step doubles memory and time.
	leastCost, mostCost = 10, 20
)

// MinPassphrase is the length of the shortest passphrase that is taken, in bytes.
const MinPassphrase = 8

var (
	errLocked = errors.New("the key is locked with a passphrase: name the file that holds it in NOD_PASSPHRASE_FILE, or in nod.yaml as passphrase")
	errWrong  = errors.New("the passphrase does not open the key; use the one that it was locked with")

	errDamaged = errors.New("it is damaged: put the right one back, without it stored secrets can't be read")
)

func isLocked(file []byte) bool { return bytes.HasPrefix(file, []byte(lockedHead)) }

// lock wraps a key.
func lock(key []byte, passphrase string, cost byte) ([]byte, error) {
	salt := make([]byte, saltSize)
	rand.Read(salt) // never fails: crypto/rand ends the program instead
	seal, err := lockSeal(salt, passphrase, cost)
	if err != nil {
		return nil, fmt.Errorf("locking the key: %w", err)
	}
	head := append([]byte(lockedHead), cost)
	return seal.Seal(append(head, salt...), nil, key, head), nil
}

// unlock unwraps a key.
func unlock(file []byte, passphrase string) ([]byte, error) {
	if passphrase == "" {
		return nil, errLocked
	}
	head, rest := file[:len(lockedHead)], file[len(lockedHead):]
	if len(rest) < 1+saltSize || rest[0] < leastCost || rest[0] > mostCost {
		return nil, errDamaged
	}
	head, rest = file[:len(head)+1], rest[1:]
	seal, err := lockSeal(rest[:saltSize], passphrase, head[len(head)-1])
	if err != nil {
		return nil, fmt.Errorf("unlocking the key: %w", err)
	}
	key, err := seal.Open(nil, nil, rest[saltSize:], head)
	if err != nil {
		return nil, errWrong
	}
	return key, nil
}

func lockSeal(salt []byte, passphrase string, cost byte) (cipher.AEAD, error) {
	key, err := scrypt.Key([]byte(passphrase), salt, 1<<cost, scryptR, scryptP, keySize)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}
