package outbox

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"nod/store"
)

// MaxFile is the largest file, in bytes, that a bot can send through Telegram's own servers.
const MaxFile = 50 << 20

// ErrTooBig says that a file exceeds MaxFile.
var ErrTooBig = errors.New("the file is over Telegram's limit of 50 MB")

// orphanAge is how old a kept file without an item must be to be swept away at the start.
const orphanAge = time.Hour

// Keep copies what r holds into the outbox folder, so that a later change or deletion of the original does not matter,
// and returns the copy's handle for File. size is the expected length in bytes, or -1. A copy that no committed item
// names is deleted at a later start.
func (o *Outbox) Keep(name string, r io.Reader, size int64) (handle string, err error) {
	if size > MaxFile {
		return "", ErrTooBig
	}
	defer func() { o.broken.Store(err != nil && !errors.Is(err, ErrTooBig)) }()
	folder := o.folder()
	handle = rand.Text() + "-" + safeName(name)
	f, err := folder.OpenFile(handle, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return "", fmt.Errorf("keeping a file to send: %w", err)
	}
	if err := errors.Join(copyBounded(f, r), f.Close(), store.SyncFolder(o.opts.Dir)); err != nil {
		if errors.Is(err, ErrTooBig) {
			err = ErrTooBig
		} else {
			err = fmt.Errorf("keeping a file to send: %w", err)
		}
		return "", errors.Join(err, folder.Remove(handle))
	}
	return handle, nil
}

func copyBounded(f *os.File, r io.Reader) error {
	n, err := io.Copy(f, io.LimitReader(r, MaxFile+1))
	if err != nil {
		return err
	}
	if n > MaxFile {
		return ErrTooBig
	}
	return f.Sync()
}

// safeName reduces a name to what is harmless in a file name, and short. The random part before it makes it unique.
func safeName(name string) string {
	name = name[strings.LastIndexAny(name, `/\`)+1:]
	name = strings.Map(func(r rune) rune {
		switch {
		case r == '.', r == '-', r == '_', r < utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsDigit(r)):
			return r
		}
		return '_'
	}, name)
	return name[max(0, len(name)-64):]
}

// discard deletes a copy that is not needed any more.
func (o *Outbox) discard(handle string) {
	if err := o.folder().Remove(handle); err != nil && !errors.Is(err, fs.ErrNotExist) {
		o.log.Warn("deleting a file that was sent", "err", err)
	}
}

// sweep deletes copies that no item names. Young ones may be about to get their item.
func (o *Outbox) sweep(named map[string]bool) error {
	entries, err := fs.ReadDir(o.folder().FS(), ".")
	if err != nil {
		return fmt.Errorf("reading the outbox folder: %w", err)
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || named[e.Name()] || time.Since(info.ModTime()) < orphanAge || !info.Mode().IsRegular() {
			continue
		}
		o.discard(e.Name())
	}
	return nil
}
