package bot

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"nod/agent"
	"nod/approvals"
	"nod/bot/keyboard"
	"nod/store"
	"nod/tools"
)

// maxFetch is how many files of a turn are offered as buttons.
const maxFetch = 6

// touched are the files that a turn's calls were about, the latest last, each once. What was sent is in the chat already.
func (t *turnView) touched() (files []keyboard.File) {
	if t.untold() {
		return nil
	}
	seen := map[string]bool{}
	for i := len(t.lines) - 1; i >= 0 && len(files) < maxFetch; i-- {
		if f := t.lines[i].file; f.Label != "" && !seen[f.Label] {
			seen[f.Label] = true
			files = append([]keyboard.File{f}, files...)
		}
	}
	return files
}

// fileOfCall is what a call has to fetch: a file within the workspace.
func fileOfCall(call tools.Execution) (f keyboard.File) {
	if call.State == tools.Completed && call.Tool != tools.SendAttachment && filepath.IsLocal(call.Target) {
		f = keyboard.File{Call: call.Call, Label: call.Target}
	}
	return f
}

// fetch sends the file that a call was about, as it is now. It is read under the rules of read_file, and nobody is asked.
func (b *buttonPress) fetch(id store.CallID) error {
	file, err := b.keepTarget(id)
	if err != nil {
		return b.end(clean(err.Error())+".", true)
	}
	return b.endWith(func(tx *store.Tx) (string, error) {
		return "", Files{Out: b.Out}.Send(tx, b.at(), file)
	})
}

// keepTarget copies a call's file to where it waits to be sent.
func (b *buttonPress) keepTarget(id store.CallID) (file tools.File, err error) {
	var call tools.Execution
	err = b.DB.View(func(tx *store.Tx) (err error) {
		call, _, err = tools.FindExecution(tx, id)
		return err
	})
	target := fileOfCall(call).Label
	if err == nil && target == "" {
		err = errors.New("this file is not known here any more")
	}
	if err == nil {
		err = b.mayRead(call, target)
	}
	if err != nil {
		return file, err
	}
	f, info, err := b.Intake.Workspace.OpenInside(target)
	if err != nil {
		return file, b.unreadable(target, err)
	}
	defer f.Close()
	switch size := info.Size(); {
	case size == 0:
		return file, fmt.Errorf("%s is empty, and Telegram takes no empty files", target)
	case size > maxUpload:
		return file, fmt.Errorf("%s has %d MB, and at most %d MB can be sent", target, size>>20, maxUpload>>20)
	}
	file.Name = filepath.Base(target)
	file.Handle, err = b.Out.Keep(file.Name, io.NewSectionReader(f, 0, info.Size()), info.Size())
	return file, err
}

// unreadable is what a person is told of an error that was worded for the model.
func (b *buttonPress) unreadable(target string, err error) error {
	b.Log.Info("a file was not fetched", "file", target, "err", err)
	return fmt.Errorf("%s is not there any more, or leads elsewhere", target)
}

// mayRead says whether the rules let the file be read without asking.
func (b *buttonPress) mayRead(call tools.Execution, target string) error {
	place, err := b.Intake.Workspace.Resolve(target, tools.ForReading)
	if err != nil {
		return b.unreadable(target, err)
	}
	return b.DB.Update(func(tx *store.Tx) error {
		rules, ok, err := b.Driver.RulesAt(tx, b.at())
		if err != nil {
			return err
		}
		ruling, err := b.Gate.Judge(tx, approvals.Request{
			Call: call.Call, Session: call.Session, Agent: agent.MainAgent, Source: approvals.Telegram, By: b.person.ID,
			Tool: tools.ReadFile, Args: json.RawMessage("{}"), Paths: []approvals.Path{place.Path}, Context: rules,
		})
		if err == nil && (!ok || ruling.Verdict != approvals.Allow) {
			err = fmt.Errorf("the rules don't let %s be read without asking", target)
		}
		return err
	})
}
