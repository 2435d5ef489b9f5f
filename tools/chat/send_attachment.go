package chat

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"

	"nod/approvals"
	"nod/store"
	"nod/tools"
)

type sendIn struct {
	FilePath   string `json:"file_path" jsonschema:"file to send, relative to the workspace or absolute"`
	Caption    string `json:"caption,omitempty" jsonschema:"text under the file (Markdown)"`
	AsDocument bool   `json:"as_document,omitempty" jsonschema:"send a picture, video or sound as a plain file, unchanged (default false)"`
}

func sendAttachment(w *tools.Workspace) tools.Tool {
	return tools.New(tools.Spec[sendIn]{
		Name: tools.SendAttachment,
		Description: "Sends a file from the workspace to the user in this chat: pictures, videos and sound so that they show or play, everything " +
			"else as a document.",
		// A write, though nothing happens before the commit of the outcome, so that several files keep their order.
		Traits: tools.Traits{Category: tools.Chat, Effect: tools.Write, Needs: tools.FilesPort},
		Check:  (*sendIn).check,
		Label:  func(in sendIn, _ bool) string { return tools.Quote(w.Shown(in.FilePath)) },
		Target: func(in sendIn) string { return w.Shown(in.FilePath) },
		Judge:  judgeSend,
		Run:    runSend,
	})
}

func (in *sendIn) check() error {
	if in.FilePath == "" {
		return errors.New("file_path is empty; name the file")
	}
	return tools.CheckCaption(in.Caption)
}

func judgeSend(_ context.Context, scope tools.Scope, in sendIn) (tools.Judged, error) {
	place, err := scope.Workspace.Resolve(in.FilePath, tools.ForReading)
	if err != nil {
		return tools.Judged{}, err
	}
	return tools.Judged{Paths: []approvals.Path{place.Path}, Subject: approvals.Subject{Facts: place.Facts()}}, nil
}

func runSend(_ context.Context, call tools.Call, in sendIn) (tools.Output, error) {
	held, err := call.Scope.Workspace.Hold(in.FilePath, tools.ForReading, call.Approved.Subject())
	if err != nil {
		return tools.Output{}, err
	}
	defer held.Close()
	f, info, err := held.OpenFile()
	if err != nil {
		return tools.Output{}, err
	}
	defer f.Close()
	files, shown, size := call.Scope.Ports.Files, held.Path.Shown, info.Size()
	switch {
	case size == 0:
		return tools.Output{}, fmt.Errorf("%s is empty, and Telegram takes no empty files", shown)
	case size > files.Limit():
		return tools.Output{}, fmt.Errorf("%s has %s, and at most %s can be sent; compress it or send a part of it",
			shown, megabytes(size), megabytes(files.Limit()))
	}
	kind, mime, err := sniff(f, size, in.AsDocument)
	if err != nil {
		return tools.Output{}, fmt.Errorf("reading %s: %w", shown, err)
	}
	file := tools.File{Name: sentName(held.Path.Canonical), Caption: in.Caption, Kind: kind}
	// A file that grows meanwhile is sent as long as it was.
	if file.Handle, err = files.Keep(file.Name, io.NewSectionReader(f, 0, size), size); err != nil {
		return tools.Output{}, fmt.Errorf("copying %s for sending: %w", shown, err)
	}
	to := call.Scope.Address
	return tools.Output{
		Text:   fmt.Sprintf("Sent %s (%s, %d bytes) as a %s.", shown, mime, size, kindWords[kind]),
		Commit: func(tx *store.Tx) error { return files.Send(tx, to, file) },
	}, nil
}

var kindWords = map[tools.FileKind]string{
	tools.Document: "document", tools.Photo: "photo", tools.Video: "video", tools.Audio: "sound file", tools.Voice: "voice message",
}

func megabytes(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/(1<<20)) }

// sentName is the file's own name, safe for where it arrives; a leading dot may stay.
func sentName(path string) string {
	if name := strings.TrimPrefix(tools.SafeName("x"+filepath.Base(path)), "x"); name != "" {
		return name
	}
	return tools.SafeName("")
}

// sniffed is how much of a file says what it is, in bytes.
const sniffed = 512

// sniff finds out how Telegram can show a file.
func sniff(f io.ReaderAt, size int64, asDocument bool) (kind tools.FileKind, mime string, err error) {
	head := make([]byte, min(size, sniffed))
	if _, err := f.ReadAt(head, 0); err != nil && !errors.Is(err, io.EOF) {
		return "", "", err
	}
	mime = http.DetectContentType(head)
	if audio := soundType(head); audio != "" {
		mime = audio
	}
	if asDocument {
		return tools.Document, mime, nil
	}
	return kindOf(f, head, mime, size), mime, nil
}
