package fs

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"nod/approvals"
	"nod/tools"
)

// file is what stands at a path that is to be written.
type file struct {
	shown string
	data  []byte
	info  fs.FileInfo // nil when there is no file
}

// change turns a file's content into another and says what it did.
type change func(old file) (data []byte, done string, err error)

// writer is what the four writing tools have in common: a path, and a change of what is there.
type writer[In any] struct {
	name, description string
	path              func(In) string
	check             func(in *In) error
	change            func(In) change
}

func (w writer[In]) tool(workspace *tools.Workspace) tools.Tool {
	return tools.New(tools.Spec[In]{
		Name: w.name, Description: w.description, Traits: writes, Check: w.check, Judge: w.judge, Run: w.run,
		Label:  func(in In, _ bool) string { return tools.Quote(workspace.Shown(w.path(in))) },
		Target: func(in In) string { return workspace.Shown(w.path(in)) },
	})
}

// factBefore is the SHA-256 of the content that a nod was given for, or absent.
const (
	factBefore = "content before"
	absent     = "absent"
)

func (f file) fact() approvals.Fact {
	if f.info == nil {
		return approvals.Fact{Name: factBefore, Value: absent}
	}
	sum := sha256.Sum256(f.data)
	return approvals.Fact{Name: factBefore, Value: hex.EncodeToString(sum[:])}
}

// judge shows what the call would make of the file. A change that can't be made is the call's outcome at once, so that
// nobody is asked in vain; but where the model must not learn what is there, the fault goes on the card and not to the model.
func (w writer[In]) judge(_ context.Context, scope tools.Scope, in In) (tools.Judged, error) {
	place, err := scope.Workspace.Resolve(w.path(in), tools.ForWriting)
	if err != nil {
		return tools.Judged{}, err
	}
	judged := tools.Judged{Paths: []approvals.Path{place.Path}, Subject: approvals.Subject{Facts: place.Facts()}}
	if place.Denied {
		return judged, nil
	}
	old, err := w.look(scope, in, judged.Subject)
	var data []byte
	if err == nil {
		judged.Subject.Facts = append(judged.Subject.Facts, old.fact())
		data, _, err = w.change(in)(old)
	}
	switch {
	case err != nil && place.Private:
		judged.Subject.Notes = append(judged.Subject.Notes, "As things stand this can't be done: "+err.Error())
		return judged, nil
	case err != nil:
		return tools.Judged{}, err
	}
	judged.Subject.Kind = approvals.Diff
	if judged.Subject.Text, judged.Subject.Notes, err = diff(old, data); err != nil {
		return tools.Judged{}, err
	}
	if !place.Inside {
		judged.Subject.Notes = append(judged.Subject.Notes, "Outside of the workspace: "+place.Path.Canonical)
	}
	if folders := place.NewFolders(); len(folders) > 0 {
		judged.Subject.Notes = append(judged.Subject.Notes, "Makes "+count(len(folders), "new folder")+" on the way.")
	}
	return judged, nil
}

// look reads what is there now.
func (w writer[In]) look(scope tools.Scope, in In, bound approvals.Subject) (file, error) {
	held, err := scope.Workspace.Hold(w.path(in), tools.ForWriting, bound)
	if err != nil {
		return file{}, err
	}
	defer held.Close()
	return load(held)
}

// load reads a file that is to be written, or finds that there is none yet.
func load(held *tools.Held) (file, error) {
	old := file{shown: held.Path.Shown}
	if len(held.NewFolders()) > 0 {
		return old, checkWay(held)
	}
	if _, err := held.Folder().Lstat(held.Name()); errors.Is(err, fs.ErrNotExist) {
		return old, nil
	}
	f, info, err := held.OpenFile()
	if err != nil {
		return file{}, err
	}
	defer f.Close()
	old.info = info
	old.data, err = readAll(f, info.Size(), old.shown)
	return old, err
}

// checkWay finds a file where a folder would have to be.
func checkWay(held *tools.Held) error {
	first := held.NewFolders()[0]
	if info, err := held.Folder().Lstat(first); err == nil && !info.IsDir() {
		return fmt.Errorf("%s can't be made: %s is no folder", held.Path.Shown, first)
	}
	return nil
}

func (w writer[In]) run(_ context.Context, call tools.Call, in In) (out tools.Output, err error) {
	held, err := hold(call, w.path(in), tools.ForWriting)
	if err != nil {
		return tools.Output{}, err
	}
	defer func() { err = errors.Join(err, held.Close()) }()
	old, err := load(held)
	if err != nil {
		return tools.Output{}, err
	}
	data, done, err := w.change(in)(old)
	if err != nil {
		return tools.Output{}, err
	}
	if old.fact().Value != call.Approved.Subject().Fact(factBefore) {
		return tools.Output{}, fmt.Errorf("%s changed since it was looked at, so nothing was written; read it again and repeat the edit", old.shown)
	}
	if err := held.MakeFolders(); err != nil {
		return tools.Output{}, fmt.Errorf("writing %s: %w", old.shown, err)
	}
	if err := replace(held.Folder(), held.Name(), data, old.info); err != nil {
		return tools.Output{}, fmt.Errorf("writing %s: %w", old.shown, err)
	}
	return tools.Output{Text: done}, nil
}

// needText refuses what can't be edited line by line.
func (f file) needText() error {
	if f.info == nil {
		return fmt.Errorf("there is no file %s; write_file makes one", f.shown)
	}
	if binary(f.data) {
		return errors.New(describeBinary(f.shown, f.data, f.info.Size()) + " It can't be edited as text.")
	}
	return nil
}

// newMode is the mode of a file that is made.
const newMode os.FileMode = 0o644
