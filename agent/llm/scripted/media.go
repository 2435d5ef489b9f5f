package scripted

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"
)

// Media is what the endpoints for speech and pictures answer. Those that are empty refuse.
type Media struct {
	Words   string // of every sound
	Speech  []byte // of every text
	Picture []byte // of every prompt
	Fault   *Reply // instead of all that, when set
	Delay   time.Duration
}

// MediaRequest is what one of these endpoints was asked.
type MediaRequest struct {
	Path   string // of the endpoint, such as /audio/speech
	Model  string
	Text   string // to speak, or of the picture
	Voice  string
	Name   string // of the sound file
	Sound  []byte
	Header http.Header
	Params map[string]any // of a JSON request
}

// SetMedia says what speech and pictures are answered from now on.
func (s *Server) SetMedia(m Media) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.media = m
}

// MediaRequests are those so far that were legal, in order.
func (s *Server) MediaRequests() []MediaRequest {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.mediaAsked)
}

// MediaLeft is how many of these requests were given up before their answer.
func (s *Server) MediaLeft() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mediaLeft
}

// mediaPaths are the endpoints beside those of conversations.
var mediaPaths = []string{"/audio/transcriptions", "/audio/speech", "/images/generations"}

// mediaPath is the endpoint that a request is for, or "".
func mediaPath(r *http.Request) string {
	for _, p := range mediaPaths {
		if r.Method == http.MethodPost && strings.HasSuffix(strings.TrimRight(r.URL.Path, "/"), p) {
			return p
		}
	}
	return ""
}

// soundEndings are those of files that a transcription takes (https://platform.openai.com/docs/guides/speech-to-text).
var soundEndings = []string{".flac", ".m4a", ".mp3", ".mp4", ".mpeg", ".mpga", ".oga", ".ogg", ".wav", ".webm"}

const (
	maxSound = 25 << 20 // bytes
	maxInput = 4096     // characters of a text to speak
)

func (s *Server) serveMedia(w http.ResponseWriter, r *http.Request, endpoint string) {
	asked := MediaRequest{Path: endpoint, Header: r.Header.Clone()}
	wrong := ""
	if endpoint == "/audio/transcriptions" {
		wrong = asked.readForm(r)
	} else {
		wrong = asked.readJSON(r)
	}
	if wrong == "" && asked.Model == "" {
		wrong = "you must provide a model parameter"
	}
	if wrong != "" {
		Fail(http.StatusBadRequest, "invalid_request_error", wrong).refuse(w)
		return
	}
	s.mu.Lock()
	s.mediaAsked = append(s.mediaAsked, asked)
	m := s.media
	s.mu.Unlock()
	select {
	case <-time.After(m.Delay):
	case <-r.Context().Done():
		s.mu.Lock()
		defer s.mu.Unlock()
		s.mediaLeft++
		return
	}
	if m.Fault != nil {
		m.Fault.refuse(w)
		return
	}
	m.answer(w, asked)
}

func (m Media) answer(w http.ResponseWriter, asked MediaRequest) {
	switch {
	case asked.Path == "/audio/transcriptions" && m.Words != "":
		writeJSON(w, http.StatusOK, map[string]any{"text": m.Words})
	case asked.Path == "/audio/speech" && len(m.Speech) > 0:
		w.Header().Set("Content-Type", "audio/ogg")
		_, _ = w.Write(m.Speech)
	case asked.Path == "/images/generations" && len(m.Picture) > 0:
		writeJSON(w, http.StatusOK, map[string]any{"created": 1, "data": []any{map[string]any{"b64_json": base64.StdEncoding.EncodeToString(m.Picture)}}})
	default:
		Fail(http.StatusNotFound, "model_not_found", "The model does not exist or you do not have access to it.").refuse(w)
	}
}

// readForm reads a sound file with its parameters. What is wrong is the service's complaint.
func (q *MediaRequest) readForm(r *http.Request) (wrong string) {
	if err := r.ParseMultipartForm(maxSound + 1<<20); err != nil {
		return "Could not parse multipart form"
	}
	q.Model = r.FormValue("model")
	file, head, err := r.FormFile("file")
	if err != nil {
		return "you must provide a file parameter"
	}
	defer file.Close()
	if q.Sound, err = io.ReadAll(file); err != nil {
		return "Could not read the file"
	}
	q.Name = head.Filename
	switch {
	case !slices.Contains(soundEndings, strings.ToLower(path.Ext(q.Name))):
		return fmt.Sprintf("Invalid file format. Supported formats: %v", soundEndings)
	case len(q.Sound) == 0:
		return "Audio file is too short. Minimum audio length is 0.1 seconds."
	case len(q.Sound) > maxSound:
		return fmt.Sprintf("Maximum content size limit (%d) exceeded", maxSound)
	}
	return ""
}

func (q *MediaRequest) readJSON(r *http.Request) (wrong string) {
	if json.NewDecoder(io.LimitReader(r.Body, maxBody)).Decode(&q.Params) != nil {
		return "We could not parse the JSON body of your request."
	}
	text := func(key string) string { s, _ := q.Params[key].(string); return s }
	q.Model, q.Voice = text("model"), text("voice")
	if q.Path == "/audio/speech" {
		switch q.Text = text("input"); {
		case q.Text == "" || len([]rune(q.Text)) > maxInput:
			return fmt.Sprintf("input: string should have 1 to %d characters", maxInput)
		case q.Voice == "":
			return "you must provide a voice parameter"
		}
		return ""
	}
	q.Text = text("prompt")
	_, wish := q.Params["response_format"]
	switch {
	case q.Text == "":
		return "you must provide a prompt parameter"
	case wish && !strings.HasPrefix(q.Model, "dall-e"):
		return "Unknown parameter: 'response_format'."
	}
	return ""
}
