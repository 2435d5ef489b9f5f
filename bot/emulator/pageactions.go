package emulator

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Limits of the page's requests, in bytes. Uploads may be larger than what a bot may download, to show what happens then.
const (
	maxPageBody   = 1 << 20
	maxPageUpload = 128 << 20
	pressPatience = 30 * time.Second // how long the button's spinner turns
)

// action makes a handler of a function that takes one JSON value and returns another.
func action[In any](do func(context.Context, In) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var in In
		if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxPageBody)).Decode(&in); err != nil {
			http.Error(w, "decoding the request: "+err.Error(), http.StatusBadRequest)
			return
		}
		out, err := do(r.Context(), in)
		if err != nil {
			http.Error(w, err.Error(), http.StatusUnprocessableEntity)
			return
		}
		body, err := json.Marshal(out)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		writeJSON(w, http.StatusOK, body)
	}
}

type none struct{}

type sendRequest struct {
	Text    string `json:"text"`
	ReplyTo int    `json:"reply_to"`
}

func (g *page) send(_ context.Context, in sendRequest) (any, error) {
	if strings.TrimSpace(in.Text) == "" {
		return nil, errors.New("the message is empty")
	}
	m := g.person.SendText(in.Text, ReplyTo(in.ReplyTo))
	return map[string]int{"id": m.ID}, nil
}

type pressRequest struct {
	ID   int    `json:"id"`
	Data string `json:"data"`
}

// press answers when the bot has answered the press, or has let it wait for too long.
func (g *page) press(ctx context.Context, in pressRequest) (any, error) {
	p, err := g.person.PressOn(in.ID, in.Data)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, pressPatience)
	defer cancel()
	a, err := p.Answer(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		return Answer{}, nil
	}
	return a, err
}

type editRequest struct {
	ID   int    `json:"id"`
	Text string `json:"text"`
}

func (g *page) edit(_ context.Context, in editRequest) (any, error) {
	if strings.TrimSpace(in.Text) == "" {
		return nil, errors.New("the message is empty")
	}
	return none{}, g.person.Edit(in.ID, in.Text)
}

type messageRequest struct {
	ID    int    `json:"id"`
	Emoji string `json:"emoji"`
}

func (g *page) remove(_ context.Context, in messageRequest) (any, error) {
	g.person.Delete(in.ID)
	return none{}, nil
}

// react sets the reaction, or takes it back when it is set.
func (g *page) react(_ context.Context, in messageRequest) (any, error) {
	if !slices.Contains(reactions, in.Emoji) {
		return nil, errors.New("no such reaction")
	}
	if slices.Contains(g.person.own(in.ID), in.Emoji) {
		g.person.React(in.ID)
	} else {
		g.person.React(in.ID, in.Emoji)
	}
	return none{}, nil
}

// own is what the person's reactions to a message are.
func (p *Person) own(id int) []string {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	return p.chat.marks[id].reactions[p.user.ID]
}

func (g *page) stop(context.Context, none) (any, error) {
	return map[string]bool{"stopped": g.person.StopDraft()}, nil
}

// upload takes a form: file parts, caption, reply_to, and plain=1 to send everything as documents.
func (g *page) upload(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxPageUpload)
	if err := r.ParseMultipartForm(maxPageUpload); err != nil {
		http.Error(w, "reading the upload: "+err.Error(), http.StatusBadRequest)
		return
	}
	defer func() { _ = r.MultipartForm.RemoveAll() }() // nothing was spooled: the limit is the memory limit
	var files []Upload
	for _, h := range r.MultipartForm.File["file"] {
		f, err := h.Open()
		if err != nil {
			http.Error(w, "reading the upload: "+err.Error(), http.StatusBadRequest)
			return
		}
		data, err := io.ReadAll(f)
		_ = f.Close() // it was only read
		if err != nil {
			http.Error(w, "reading the upload: "+err.Error(), http.StatusBadRequest)
			return
		}
		files = append(files, Upload{Name: h.Filename, Data: data})
	}
	if len(files) == 0 {
		http.Error(w, "there is no file in the upload", http.StatusBadRequest)
		return
	}
	q := &request{params: map[string]string{"reply_to": r.FormValue("reply_to")}}
	g.sendFiles(files, r.FormValue("plain") == "1", ReplyTo(q.id("reply_to")), Caption(r.FormValue("caption")))
	writeJSON(w, http.StatusOK, []byte("{}"))
}

func (g *page) sendFiles(files []Upload, plain bool, opts ...Option) {
	visual := !plain && !slices.ContainsFunc(files, func(u Upload) bool { return visualKind(u) == kindDocument })
	for album := range slices.Chunk(files, maxAlbum) {
		if len(album) > 1 {
			g.person.album(album, visual, opts)
			continue
		}
		u := album[0]
		switch kind := mimeOf(u.Name, u.Data); {
		case plain:
			g.person.SendDocument(u, opts...)
		case visualKind(u) == kindPhoto && isPhoto(u.Data):
			g.person.SendPhoto(u, opts...)
		case visualKind(u) == kindVideo:
			g.person.SendVideo(u, opts...)
		case kind == "audio/ogg":
			g.person.SendVoice(u, opts...)
		case slices.Contains(formats[kindAudio], kind):
			g.person.SendAudio(u, opts...)
		default:
			g.person.SendDocument(u, opts...)
		}
	}
}

func isPhoto(data []byte) bool {
	_, _, err := photoSize(data)
	return err == nil
}

// inline lists the types that the browser shows by itself; every other file is only offered for download.
var inline = []string{
	"image/png", "image/jpeg", "image/gif", "image/webp", "video/mp4", "video/webm", "audio/mpeg", "audio/mp4", "audio/ogg", "audio/x-wav",
}

func (g *page) file(w http.ResponseWriter, r *http.Request) {
	name, data, ok := g.person.s.File(r.PathValue("id"))
	if !ok {
		http.NotFound(w, r)
		return
	}
	kind := mimeOf(name, data)
	disposition := "inline"
	if !slices.Contains(inline, kind) {
		kind, disposition = "application/octet-stream", "attachment"
	}
	w.Header().Set("Content-Type", kind)
	if name != "" {
		disposition = mime.FormatMediaType(disposition, map[string]string{"filename": name})
	}
	w.Header().Set("Content-Disposition", disposition)
	w.Header().Set("Content-Security-Policy", "default-src 'none'; sandbox")
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(data))
}
