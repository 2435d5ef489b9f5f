// Package refs makes references that a model can hold and hand back, but neither read nor forge: sealed ids, bound to
// what they refer to, to whom they were given, and to a time.
//
// It owns the key of the seals, which lies in the database. It leaves to others what the ids mean.
package refs

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"time"

	"nod/store"
)

// Life is how long a reference is good for.
const Life = 24 * time.Hour

// ErrBad says that a reference is not one that was given to this person for this purpose, or is too old. The text is for
// the model.
var ErrBad = errors.New("this reference is not valid here: it was changed, belongs to something or somebody else, or is older than a day; list again and use the new one unchanged")

// Kind is what a reference refers to; it is its prefix.
type Kind string

const (
	Group   Kind = "group"
	Person  Kind = "person"
	Picture Kind = "picture"
)

const bucket = "ref_key"

var keys = store.NewTable[store.Text, []byte](bucket, store.ParseText[store.Text])

// Box seals and opens references. It may be used from many goroutines.
type Box struct{ aead cipher.AEAD }

// New opens the box of a database, and makes its key the first time.
func New(db *store.DB) (*Box, error) {
	const name = store.Text("key")
	var key []byte
	err := db.View(func(tx *store.Tx) (err error) {
		key, _, err = keys.Get(tx, name)
		return err
	})
	if err == nil && key == nil {
		key = make([]byte, 32)
		rand.Read(key) // never fails, see its doc
		err = db.Update(func(tx *store.Tx) error { return keys.Put(tx, name, key) })
	}
	if err != nil {
		return nil, fmt.Errorf("reading the key of references: %w", err)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, fmt.Errorf("reading the key of references: %w", err)
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, fmt.Errorf("reading the key of references: %w", err)
	}
	return &Box{aead: aead}, nil
}

// Seal makes a reference to an id for whom binding names, such as a person or a chat.
func (b *Box) Seal(kind Kind, binding, id string) string {
	plain := binary.BigEndian.AppendUint64(nil, uint64(time.Now().Add(Life).Unix()))
	sealed := b.aead.Seal(nil, nil, append(plain, id...), bound(kind, binding))
	return string(kind) + "_" + base64.RawURLEncoding.EncodeToString(sealed)
}

// Open gives back the id of a reference that was made for the same kind and binding. Its error is ErrBad.
func (b *Box) Open(kind Kind, binding, ref string) (id string, err error) {
	text, ok := strings.CutPrefix(ref, string(kind)+"_")
	if !ok {
		return "", ErrBad
	}
	sealed, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil {
		return "", ErrBad
	}
	plain, err := b.aead.Open(nil, nil, sealed, bound(kind, binding))
	if err != nil || len(plain) < 8 {
		return "", ErrBad
	}
	if time.Now().Unix() > int64(binary.BigEndian.Uint64(plain)) {
		return "", ErrBad
	}
	return string(plain[8:]), nil
}

func bound(kind Kind, binding string) []byte { return []byte(string(kind) + "\x00" + binding) }
