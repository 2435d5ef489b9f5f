package gallery

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"nod/store"
	"nod/tools"
)

// keep writes a picture's bytes under their own hash, so that they last through a power cut.
func (d *Desk) keep(l look) error {
	if _, err := d.folder.Stat(l.stored); err == nil {
		return nil
	}
	temp := "new-" + rand.Text()
	f, err := d.folder.OpenFile(temp, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("keeping a picture: %w", reason(err))
	}
	_, err = io.Copy(f, bytes.NewReader(l.content))
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = d.folder.Rename(temp, l.stored)
	}
	if err == nil {
		err = tools.SyncFolder(d.folder)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("keeping a picture: %w", reason(err)), reason(ignoreMissing(d.folder.Remove(temp))))
	}
	return nil
}

// reason is why a file of the folder could not be used, without its name, which no model is to read.
func reason(err error) error {
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		return pathErr.Err
	}
	if linkErr, ok := errors.AsType[*os.LinkError](err); ok {
		return linkErr.Err
	}
	return err
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// sweep deletes copies that are older than age and belong to no gallery. It looks and deletes within one transaction, since
// an addition that is being committed counts on its copy; a folder of a few pictures is gone through in no time.
func (d *Desk) sweep(age time.Duration) {
	err := d.db.Update(func(tx *store.Tx) error {
		used := map[string]bool{}
		err := galleries.Scan(tx, nil, func(_ store.Text, g Gallery) (bool, error) {
			for _, p := range g.Pictures {
				used[p.Stored] = true
			}
			return true, nil
		})
		if err != nil {
			return err
		}
		return d.removeUnused(used, age)
	})
	if err != nil {
		d.log.Warn("deleting pictures that belong to no gallery", "err", err)
	}
}

func (d *Desk) removeUnused(used map[string]bool, age time.Duration) error {
	entries, err := fs.ReadDir(d.folder.FS(), ".")
	if err != nil {
		return err
	}
	for _, e := range entries {
		info, infoErr := e.Info()
		if infoErr != nil || used[e.Name()] || time.Since(info.ModTime()) < age {
			continue
		}
		err = errors.Join(err, ignoreMissing(d.folder.Remove(e.Name())))
	}
	return err
}

// there says whether a copy is in its place.
func (d *Desk) there(stored string) error {
	if strings.ContainsRune(stored, '/') {
		return errors.New("a picture's record is damaged")
	}
	if _, err := d.folder.Stat(stored); err != nil {
		return fmt.Errorf("the copy of a picture is gone: %w", reason(err))
	}
	return nil
}
