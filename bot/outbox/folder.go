package outbox

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"

	"nod/store"
)

// folder is where files wait to be sent.
func (o *Outbox) folder() *os.Root { return o.files.Load() }

// CanKeep says whether files can be kept, after one could not: it tries. A folder that went missing is made anew.
func (o *Outbox) CanKeep() bool {
	if !o.broken.Load() {
		return true
	}
	err := probe(o.folder())
	if err != nil {
		err = o.reopen()
	}
	if err != nil {
		o.log.Warn("files can't be kept for sending", "err", err)
		return false
	}
	o.broken.Store(false)
	return true
}

// reopen opens the folder by its name again.
func (o *Outbox) reopen() error {
	if err := store.MakeFolder(o.opts.Dir); err != nil {
		return fmt.Errorf("making the outbox folder: %w", err)
	}
	root, err := os.OpenRoot(o.opts.Dir)
	if err != nil {
		return fmt.Errorf("opening the outbox folder: %w", err)
	}
	if err := probe(root); err != nil {
		return errors.Join(err, root.Close())
	}
	old := o.files.Swap(root)
	return old.Close()
}

// probe writes a file and removes it.
func probe(folder *os.Root) error {
	name := ".probe-" + rand.Text()
	f, err := folder.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("writing to the outbox folder: %w", err)
	}
	_, err = f.WriteString("probe")
	return errors.Join(err, f.Close(), folder.Remove(name))
}
