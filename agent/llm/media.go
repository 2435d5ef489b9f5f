package llm

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	openai "github.com/sashabaranov/go-openai"

	"nod/tools"
)

// Bounds of what a service for speech and pictures may take.
const (
	speechTime  = 2 * time.Minute
	pictureTime = 5 * time.Minute
	maxMedia    = 40 << 20 // bytes of an answer; a picture comes in base64
	maxPicture  = 20 << 20 // bytes
	maxSpoken   = 20 << 20 // bytes
)

// Service is where speech or pictures are asked for. It is asked once: who waits decides on what failed.
type Service struct {
	tools.Fee        // of one request
	BaseURL   string // "" means https://api.openai.com/v1
	APIKey    Secret // "" sends no Authorization header
	Model     string
	Transport http.RoundTripper // nil: one with limits for dialling and TLS
}

// client speaks to the service through a doer that makes each failure an *Error.
func (s Service) client() (*openai.Client, *mediaDoer) {
	m := &Model{Name: s.Model, ID: s.Model, BaseURL: strings.TrimRight(cmp.Or(s.BaseURL, defaultBaseURL), "/"), APIKey: s.APIKey}
	transport := s.Transport
	if transport == nil {
		transport = sharedTransport()
	}
	doer := &mediaDoer{exchange{model: m, http: &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}}
	cfg := openai.DefaultConfig(string(s.APIKey))
	cfg.BaseURL, cfg.HTTPClient = m.BaseURL, doer
	return openai.NewClientWithConfig(cfg), doer
}

// mediaDoer is the HTTPDoer for what is no stream of an answer.
type mediaDoer struct{ exchange }

// Do sends the request. Each non-nil error is an *Error.
func (d *mediaDoer) Do(req *http.Request) (*http.Response, error) { return d.through(d.http, req) }

func (d *mediaDoer) through(client *http.Client, req *http.Request) (*http.Response, error) {
	resp, err := client.Do(req)
	if err != nil {
		return nil, d.unreachable(req.Context(), err)
	}
	if resp.StatusCode < 200 || resp.StatusCode >= 300 {
		defer resp.Body.Close()
		body, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
		return nil, classify(d.model, resp.StatusCode, resp.Header, body)
	}
	resp.Body = &bounded{body: resp.Body, left: maxMedia, full: tooMuch(d.model, fmt.Sprintf("it is larger than %d MiB", maxMedia>>20))}
	return resp, nil
}

// bounded ends a body with an error where it is longer than it may be.
type bounded struct {
	body io.ReadCloser
	left int64
	full error
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, b.full
	}
	n, err := b.body.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err
}

func (b *bounded) Close() error { return b.body.Close() }

// explain makes whatever went wrong an *Error, or the caller's own end of the context.
func (d *mediaDoer) explain(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return d.unreachable(ctx, err)
}

// Hearing understands speech. It implements tools.Hearing.
type Hearing struct{ Service }

// Transcribe gives the words of a sound file.
func (h Hearing) Transcribe(ctx context.Context, name, _ string, sound io.Reader) (string, error) {
	limited, cancel := context.WithTimeout(ctx, speechTime)
	defer cancel()
	client, doer := h.client()
	// Services go by the ending; Telegram's .oga is what they call .ogg.
	if ext := path.Ext(name); ext == ".oga" || ext == ".opus" {
		name = strings.TrimSuffix(name, ext) + ".ogg"
	}
	answer, err := client.CreateTranscription(limited, openai.AudioRequest{Model: h.Model, FilePath: name, Reader: sound})
	if err != nil {
		return "", doer.explain(ctx, err)
	}
	return strings.TrimSpace(tools.Sanitise(answer.Text)), nil
}

// Speaking reads text out. It implements tools.SpeechPort.
type Speaking struct {
	Service
	Voice string // "" means alloy
}

// Speak gives speech as Ogg with Opus.
func (s Speaking) Speak(ctx context.Context, text string) ([]byte, error) {
	limited, cancel := context.WithTimeout(ctx, speechTime)
	defer cancel()
	client, doer := s.client()
	answer, err := client.CreateSpeech(limited, openai.CreateSpeechRequest{
		Model: openai.SpeechModel(s.Model), Input: text, Voice: openai.SpeechVoice(cmp.Or(s.Voice, string(openai.VoiceAlloy))),
		ResponseFormat: openai.SpeechResponseFormatOpus,
	})
	if err != nil {
		return nil, doer.explain(ctx, err)
	}
	defer answer.Close()
	sound, err := io.ReadAll(io.LimitReader(answer, maxSpoken+1))
	switch {
	case err != nil:
		return nil, doer.explain(ctx, err)
	case len(sound) > maxSpoken:
		return nil, tooMuch(doer.model, fmt.Sprintf("it is larger than %d MiB", maxSpoken>>20))
	}
	return sound, nil
}

// Drawing makes pictures. It implements tools.ImagePort.
type Drawing struct {
	Service
	Size string // "" lets the service choose
}

// drawingProvider is the id under which a service makes pictures.
const drawingProvider = "openai"

// drawingExtra are the parameters of OpenAI's images endpoint that may be given besides.
var drawingExtra = []string{"size", "quality", "style", "background", "moderation"}

// Providers implements tools.ImagePort.
func (d Drawing) Providers() []tools.ImageProvider {
	return []tools.ImageProvider{{ID: drawingProvider, About: "the model " + d.Model, Extra: slices.Clone(drawingExtra), Price: d.Price()}}
}

// Generate makes one picture.
func (d Drawing) Generate(ctx context.Context, r tools.ImageRequest) ([]byte, error) {
	limited, cancel := context.WithTimeout(ctx, pictureTime)
	defer cancel()
	client, doer := d.client()
	req := openai.ImageRequest{
		Model: d.Model, Prompt: r.Prompt, N: 1, Size: cmp.Or(r.Extra["size"], d.Size), Quality: r.Extra["quality"],
		Style: r.Extra["style"], Background: r.Extra["background"], Moderation: r.Extra["moderation"],
	}
	if strings.HasPrefix(d.Model, "dall-e") { // the others always answer so, and refuse the wish (MODELS.md 1)
		req.ResponseFormat = openai.CreateImageResponseFormatB64JSON
	}
	answer, err := client.CreateImage(limited, req)
	if err != nil {
		return nil, doer.explain(ctx, err)
	}
	if len(answer.Data) == 0 {
		return nil, &Error{Kind: KindUnavailable, Model: d.Model, Message: "the answer holds no picture"}
	}
	if answer.Data[0].B64JSON == "" {
		return doer.fetch(limited, answer.Data[0].URL)
	}
	picture, err := base64.StdEncoding.DecodeString(answer.Data[0].B64JSON)
	if err != nil {
		return nil, &Error{Kind: KindUnavailable, Model: d.Model, Message: "the picture is no base64"}
	}
	return picture, nil
}

var errNoPicture = errors.New("the answer names no address of a picture")

// fetch gets a picture from the address that the service gave, which sees no key. Where that is not the service's own host
// it must be a public one.
func (d *mediaDoer) fetch(ctx context.Context, address string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil || req.URL.Scheme != "https" && req.URL.Scheme != "http" {
		return nil, d.unreachable(ctx, errNoPicture)
	}
	client := guarded()
	if base, err := url.Parse(d.model.BaseURL); err == nil && base.Host == req.URL.Host {
		client = d.http
	}
	resp, err := d.through(client, req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	picture, err := io.ReadAll(io.LimitReader(resp.Body, maxPicture+1))
	switch {
	case err != nil:
		return nil, d.explain(ctx, err)
	case len(picture) > maxPicture:
		return nil, tooMuch(d.model, fmt.Sprintf("it is larger than %d MiB", maxPicture>>20))
	}
	return picture, nil
}
