package emulator

import (
	"bytes"
	"fmt"
	"image"
	_ "image/gif" // the formats that a photo may have
	_ "image/jpeg"
	_ "image/png"
	"mime"
	"net/http"
	"path"
	"strings"
	"time"
)

// Limits of files (core.telegram.org/bots/api#sending-files).
const (
	maxDownload   = 20 << 20 // bytes that getFile serves
	maxPhoto      = 10 << 20
	maxPhotoSides = 10_000 // width and height together, in pixels
	maxPhotoRatio = 20
	thumbSide     = 90
)

// fileStore keeps the files of all messages by id and by download path.
type fileStore struct {
	byID   map[string]*file
	byPath map[string]*file
	n      int
}

type file struct {
	id, unique string
	path       string // for the download
	name, mime string
	data       []byte
	size       int64 // may be more than data holds: then the file can't be fetched
}

// The kinds of files, by the name of the parameter that carries them.
const (
	kindPhoto     = "photo"
	kindDocument  = "document"
	kindVideo     = "video"
	kindAudio     = "audio"
	kindVoice     = "voice"
	kindAnimation = "animation"
	kindSticker   = "sticker"
)

// folders and extensions of download paths, by kind.
var folders = map[string][2]string{
	kindPhoto: {"photos", ".jpg"}, kindDocument: {"documents", ""}, kindVideo: {"videos", ".mp4"}, kindAudio: {"music", ".mp3"},
	kindVoice: {"voice", ".oga"}, kindAnimation: {"animations", ".mp4"}, kindSticker: {"stickers", ".webp"},
}

func (fs *fileStore) add(kind, name, mimeType string, data []byte, size int64) *file {
	fs.n++
	place := folders[kind]
	ext := strings.ToLower(path.Ext(name))
	if ext == "" || strings.ContainsAny(ext, "/ ") {
		ext = place[1]
	}
	f := &file{
		id: fmt.Sprintf("AgAD%s_%d", kind, fs.n), unique: fmt.Sprintf("AQAD%d", fs.n), name: name, mime: mimeType,
		path: fmt.Sprintf("%s/file_%d%s", place[0], fs.n, ext), data: data, size: max(size, int64(len(data))),
	}
	fs.byID[f.id], fs.byPath[f.path] = f, f
	return f
}

func (f *file) missing() bool { return int64(len(f.data)) < f.size }

func (s *Server) getFile(q *request) (any, *apiError) {
	id := q.text("file_id")
	if id == "" {
		return nil, badRequest("File_id not specified")
	}
	f := s.files.byID[id]
	switch {
	case f == nil:
		return nil, badRequest("Invalid file_id")
	case f.size > maxDownload:
		return nil, badRequest("File is too big")
	case f.missing():
		return nil, badRequest("Wrong file_id or the file is temporarily unavailable")
	}
	return struct {
		ID     string `json:"file_id"`
		Unique string `json:"file_unique_id"`
		Size   int64  `json:"file_size,omitempty"`
		Path   string `json:"file_path"`
	}{f.id, f.unique, f.size, f.path}, nil
}

// serveFile is the download half of getFile.
func (s *Server) serveFile(w http.ResponseWriter, r *http.Request, filePath string) {
	s.mu.Lock()
	f := s.files.byPath[filePath]
	s.mu.Unlock()
	if f == nil || f.missing() || f.size > maxDownload {
		writeError(w, &apiError{code: http.StatusNotFound, description: "Not Found"})
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(f.data))
}

// mimeOf tells a file's type by its name, then by its content.
func mimeOf(name string, data []byte) string {
	if t := extensions[strings.ToLower(path.Ext(name))]; t != "" {
		return t
	}
	kind, _, _ := mime.ParseMediaType(http.DetectContentType(data))
	return kind
}

// photoSize measures a picture and applies the rules for photos.
func photoSize(data []byte) (width, height int, err *apiError) {
	if len(data) > maxPhoto {
		return 0, 0, badRequestf("file of size %d bytes is too big for a photo; the maximum size is %d bytes", len(data), maxPhoto)
	}
	config, _, wrong := image.DecodeConfig(bytes.NewReader(data))
	if wrong != nil {
		if http.DetectContentType(data) == "image/webp" { // the standard library can't measure it
			return 512, 512, nil
		}
		return 0, 0, badRequest("IMAGE_PROCESS_FAILED")
	}
	w, h := config.Width, config.Height
	if w+h > maxPhotoSides || min(w, h) == 0 || max(w, h) > maxPhotoRatio*min(w, h) {
		return 0, 0, badRequest("PHOTO_INVALID_DIMENSIONS")
	}
	return w, h, nil
}

// photo keeps a picture in two sizes, of which only the numbers differ: both hold the same bytes.
func (fs *fileStore) photo(data []byte, size int64, w, h int) []PhotoSize {
	full := fs.add(kindPhoto, "", "image/jpeg", data, size)
	sizes := []PhotoSize{{full.id, full.unique, w, h, full.size}}
	if longer := max(w, h); longer > thumbSide {
		small := fs.add(kindPhoto, "", "image/jpeg", data, size)
		sizes = append([]PhotoSize{{small.id, small.unique, max(1, w*thumbSide/longer), max(1, h*thumbSide/longer), small.size}}, sizes...)
	}
	return sizes
}
