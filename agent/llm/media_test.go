package llm_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"nod/agent/llm"
	"nod/agent/llm/scripted"
	"nod/tools"
)

// mediaService is a scripted service for speech and pictures.
func mediaService(m scripted.Media) (*scripted.Server, llm.Service) {
	server := scripted.New(scripted.Sequence())
	server.SetMedia(m)
	return server, llm.Service{BaseURL: "http://media.invalid/v1/", APIKey: "sk-very-secret-key", Model: "m-1", Transport: scripted.Transport(server)}
}

func TestMedia_SpeechBothWays(t *testing.T) {
	server, service := mediaService(scripted.Media{Words: " remind me to buy milk\n", Speech: []byte("OggS and so on")})
	words, err := llm.Hearing{Service: service}.Transcribe(t.Context(), "voice.oga", "", strings.NewReader("sound"))
	if err != nil || words != "remind me to buy milk" {
		t.Errorf("heard %q, %v", words, err)
	}
	sound, err := llm.Speaking{Service: service}.Speak(t.Context(), "Good morning.")
	if err != nil || string(sound) != "OggS and so on" {
		t.Errorf("spoke %q, %v", sound, err)
	}
	asked := server.MediaRequests()
	if got := asked[0]; got.Name != "voice.ogg" || string(got.Sound) != "sound" || got.Model != "m-1" || got.Header.Get("Authorization") != "Bearer sk-very-secret-key" {
		t.Errorf("the transcription was asked for with %+v", got)
	}
	if got := asked[1]; got.Text != "Good morning." || got.Voice != "alloy" || got.Params["response_format"] != "opus" {
		t.Errorf("the speech was asked for with %+v", got)
	}
}

func TestMedia_Pictures(t *testing.T) {
	server, service := mediaService(scripted.Media{Picture: []byte("a picture")})
	for _, model := range []string{"gpt-image-1", "dall-e-3"} {
		service.Model = model
		got, err := llm.Drawing{Service: service, Size: "512x512"}.Generate(t.Context(), tools.ImageRequest{Prompt: "a cat", Extra: map[string]string{"quality": "low"}})
		if err != nil || string(got) != "a picture" {
			t.Errorf("%s drew %q, %v", model, got, err)
		}
	}
	if got := server.MediaRequests()[0].Params; got["size"] != "512x512" || got["quality"] != "low" || got["prompt"] != "a cat" {
		t.Errorf("the picture was asked for with %v", got)
	}
}

func TestMedia_FailuresAreSaidInWordsWithoutTheKey(t *testing.T) {
	for name, c := range map[string]struct {
		fault scripted.Reply
		kind  llm.Kind
	}{
		"a wrong key":  {scripted.Fail(401, "invalid_api_key", "Incorrect API key provided: sk-very-secret-key."), llm.KindAuth},
		"no credit":    {scripted.Fail(429, "insufficient_quota", "You exceeded your current quota."), llm.KindQuota},
		"an HTML page": {scripted.FailBody(502, "<html><body>Bad gateway</body></html>"), llm.KindUnavailable},
	} {
		_, service := mediaService(scripted.Media{Fault: &c.fault})
		_, err := llm.Speaking{Service: service}.Speak(t.Context(), "x")
		refused, ok := errors.AsType[*llm.Error](err)
		if !ok || refused.Kind != c.kind || strings.Contains(err.Error(), "very-secret") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// body answers every request with these bytes.
type body struct {
	status int
	bytes  []byte
	header http.Header
}

func (b body) RoundTrip(r *http.Request) (*http.Response, error) {
	w := &bytes.Buffer{}
	w.Write(b.bytes)
	return &http.Response{StatusCode: b.status, Header: b.header, Body: readCloser{w}, Request: r}, nil
}

type readCloser struct{ *bytes.Buffer }

func (readCloser) Close() error { return nil }

func TestMedia_NothingTooLargeAndNoRedirectIsFollowed(t *testing.T) {
	for name, transport := range map[string]http.RoundTripper{
		"30 MB of sound":  body{200, make([]byte, 30<<20), http.Header{}},
		"a redirect":      body{302, nil, http.Header{"Location": {"http://elsewhere.invalid/"}}},
		"an empty answer": body{200, []byte(`{"data":[]}`), http.Header{}},
		"no base64":       body{200, []byte(`{"data":[{"b64_json":"%%%"}]}`), http.Header{}},
		"a file address":  body{200, []byte(`{"data":[{"url":"file:///etc/passwd"}]}`), http.Header{}},
		"50 MB of JSON":   body{200, fmt.Appendf(nil, `{"data":[{"b64_json":"%s"}]}`, strings.Repeat("A", 50<<20)), http.Header{}},
	} {
		service := llm.Service{Model: "m", Transport: transport}
		if name == "30 MB of sound" {
			if _, err := (llm.Speaking{Service: service}).Speak(t.Context(), "x"); err == nil {
				t.Errorf("%s was taken", name)
			}
			continue
		}
		if got, err := (llm.Drawing{Service: service}).Generate(t.Context(), tools.ImageRequest{Prompt: "x"}); err == nil {
			t.Errorf("%s: got %d bytes", name, len(got))
		}
	}
}

func TestMedia_AStopEndsTheWait(t *testing.T) {
	service := llm.Service{Model: "m", Transport: silent{}}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(tools.ErrStopped)
	if _, err := (llm.Speaking{Service: service}).Speak(ctx, "x"); !errors.Is(err, tools.ErrStopped) {
		t.Errorf("a stop gave %v", err)
	}
}

// silent never answers.
type silent struct{}

func (silent) RoundTrip(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}
