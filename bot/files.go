package bot

import (
	"io"

	"nod/bot/outbox"
	"nod/bot/render"
	"nod/store"
	"nod/tools"
)

// Files sends files into chats for tools. It implements tools.FilePort.
type Files struct {
	Out  *outbox.Outbox
	Mask func(string) string // takes secrets out of captions; nil leaves them as they are
}

// maxUpload is the largest file that a bot can send, in bytes (core.telegram.org/bots/api#sending-files).
const maxUpload = 50 << 20

// Limit is the largest file that can be sent, in bytes.
func (Files) Limit() int64 { return maxUpload }

// Keep copies a file to where it waits to be sent.
func (f Files) Keep(name string, r io.Reader, size int64) (string, error) {
	return f.Out.Keep(name, r, size)
}

// Send puts a kept file in the outbox, within the caller's commit. The answer that follows it makes the sound.
func (f Files) Send(tx *store.Tx, to store.Address, file tools.File) error {
	item := outbox.Item{To: to, Kind: outbox.Upload, Silent: true, File: &outbox.File{Handle: file.Handle, Name: file.Name, Kind: fileKinds[file.Kind]}}
	f.caption(&item, file.Caption)
	return f.Out.Put(tx, item)
}

// caption puts words under what is sent.
func (f Files) caption(item *outbox.Item, markdown string) {
	if f.Mask != nil {
		markdown = f.Mask(markdown)
	}
	if markdown != "" {
		caption := render.Head(markdown)
		item.HTML, item.Plain = caption.HTML, caption.Plain
	}
}

// SendAlbum puts kept photos in the outbox as one album; a single one goes by itself.
func (f Files) SendAlbum(tx *store.Tx, to store.Address, photos []tools.File) error {
	if len(photos) == 1 {
		return f.Send(tx, to, photos[0])
	}
	item := outbox.Item{To: to, Kind: outbox.Album, Silent: true}
	for _, p := range photos {
		item.Photos = append(item.Photos, outbox.File{Handle: p.Handle, Name: p.Name, Kind: outbox.Photo})
	}
	f.caption(&item, photos[0].Caption)
	return f.Out.Put(tx, item)
}

var fileKinds = map[tools.FileKind]outbox.FileKind{
	tools.Document: outbox.Document, tools.Photo: outbox.Photo, tools.Video: outbox.Video,
	tools.Audio: outbox.Audio, tools.Voice: outbox.Voice,
}
