package chat

import (
	"bytes"
	"image"
	_ "image/jpeg" // sizes of photos
	_ "image/png"
	"io"

	"nod/tools"
)

// kindOf is how a file is sent. Whatever Telegram would refuse in a special form goes as a document.
func kindOf(f io.ReaderAt, head []byte, mime string, size int64) tools.FileKind {
	switch mime {
	case "image/jpeg", "image/png":
		if showsAsPhoto(io.NewSectionReader(f, 0, size), size) {
			return tools.Photo
		}
	case "video/mp4":
		return tools.Video
	case "audio/mpeg", "audio/mp4":
		return tools.Audio
	case "application/ogg", "audio/ogg":
		if bytes.Contains(head, []byte("OpusHead")) {
			return tools.Voice
		}
	}
	return tools.Document
}

// showsAsPhoto reads the picture's header only.
func showsAsPhoto(r io.Reader, size int64) bool {
	config, _, err := image.DecodeConfig(r)
	return err == nil && tools.FitsPhoto(config.Width, config.Height, size)
}

// soundType knows the sound files that net/http takes for something else: MPEG audio without an ID3 tag, and M4A.
func soundType(head []byte) string {
	switch {
	case len(head) > 11 && string(head[4:11]) == "ftypM4A":
		return "audio/mp4"
	case len(head) > 3 && head[0] == 0xff && (head[1] == 0xfb || head[1] == 0xf3 || head[1] == 0xf2):
		return "audio/mpeg" // layer III of MPEG 1, 2 or 2.5
	}
	return ""
}
