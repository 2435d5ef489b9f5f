package chat

import (
	"bytes"
	"image"
	_ "image/jpeg" // sizes of photos
	_ "image/png"
	"io"

	"nod/tools"
)

// What Telegram shows as a photo: at most 10 MB, width and height together at most 10000, and neither more than 20 times
// the other (Bot API, sendPhoto).
const (
	maxPhoto      = 10 << 20
	maxPhotoSides = 10_000
	maxPhotoRatio = 20
)

// kindOf is how a file is sent. Whatever Telegram would refuse in a special form goes as a document.
func kindOf(f io.ReaderAt, head []byte, mime string, size int64) tools.FileKind {
	switch mime {
	case "image/jpeg", "image/png":
		if size <= maxPhoto && showsAsPhoto(io.NewSectionReader(f, 0, size)) {
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
func showsAsPhoto(r io.Reader) bool {
	config, _, err := image.DecodeConfig(r)
	if err != nil || config.Width <= 0 || config.Height <= 0 {
		return false
	}
	long, short := max(config.Width, config.Height), min(config.Width, config.Height)
	return long+short <= maxPhotoSides && long <= maxPhotoRatio*short
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
