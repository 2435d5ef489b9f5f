package plugins

import (
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"strings"

	"nod/tools/secrets"
)

// Ids of the plugins.
const (
	ImagesID   = "images"
	SpeechID   = "speech"
	TelegramID = "telegram"
)

// Key is an api_key: a reference to a stored secret or, in nod.yaml, the secret itself. It prints as a placeholder.
type Key string

func (Key) String() string       { return "[redacted]" }
func (Key) GoString() string     { return "[redacted]" }
func (Key) LogValue() slog.Value { return slog.StringValue("[redacted]") }

// Images makes pictures, by a service of OpenAI's kind or by a command.
type Images struct {
	BaseURL string `json:"base_url,omitempty" yaml:"base_url" jsonschema:"address of the service (default: where the first model is, with its key)"`
	APIKey  Key    `json:"api_key,omitempty" yaml:"api_key" jsonschema:"its key as ${secret:NAME}, which set_secret asks for"`
	Model   string `json:"model,omitempty" yaml:"model" jsonschema:"such as gpt-image-1"`
	Size    string `json:"size,omitempty" yaml:"size" jsonschema:"such as 1024x1024"`
	Command string `json:"command,omitempty" yaml:"command" jsonschema:"instead of a service: a program with {prompt} and {out}, the PNG or JPEG file to write"`
	// Price is nil where nobody has given it.
	Price *float64 `json:"price,omitempty" yaml:"price" jsonschema:"what a picture costs, in USD, for /cost and caps on spending, which need it of a model (0 costs nothing, as a command does by default)"`
}

// Speech understands and makes speech, by a service of OpenAI's kind or by commands.
type Speech struct {
	BaseURL    string `json:"base_url,omitempty" yaml:"base_url" jsonschema:"address of the service (default: where the first model is, with its key)"`
	APIKey     Key    `json:"api_key,omitempty" yaml:"api_key" jsonschema:"its key as ${secret:NAME}, which set_secret asks for"`
	STTModel   string `json:"stt_model,omitempty" yaml:"stt_model" jsonschema:"model that understands, such as whisper-1"`
	TTSModel   string `json:"tts_model,omitempty" yaml:"tts_model" jsonschema:"model that speaks, such as gpt-4o-mini-tts"`
	Voice      string `json:"voice,omitempty" yaml:"voice" jsonschema:"its voice (default alloy)"`
	STTCommand string `json:"stt_command,omitempty" yaml:"stt_command" jsonschema:"instead of stt_model: a program with {in}, a sound file, that prints the words or writes them to {out}"`
	TTSCommand string `json:"tts_command,omitempty" yaml:"tts_command" jsonschema:"instead of tts_model: a program with {in}, a text file, and {out}, the Ogg file with Opus to write"`
	// The prices are nil where nobody has given them.
	STTPrice *float64 `json:"stt_price,omitempty" yaml:"stt_price" jsonschema:"what understanding a recording costs, in USD, for /cost and caps on spending, which need it of stt_model (0 costs nothing, as a command does by default)"`
	TTSPrice *float64 `json:"tts_price,omitempty" yaml:"tts_price" jsonschema:"what a spoken message costs, likewise"`
}

// Telegram says how the chat looks. Its zero value is what counts without settings.
type Telegram struct {
	Progress  string `json:"progress,omitempty" yaml:"progress" jsonschema:"the message that lists what is being done: full (long labels), short or off (default short)"`
	Streaming string `json:"streaming,omitempty" yaml:"streaming" jsonschema:"an answer that is being written: off (shown when it is whole), edit (a message that grows) or draft (a draft, in private chats) (default edit)"`
	Rich      bool   `json:"rich,omitempty" yaml:"rich" jsonschema:"send answers as rich messages, which old apps and the web don't show (default false)"`
}

// Values of Telegram.
const (
	ProgressFull  = "full"
	ProgressShort = "short"
	ProgressOff   = "off"

	StreamingOff   = "off"
	StreamingEdit  = "edit"
	StreamingDraft = "draft"
)

// Settings are those of one plugin.
type Settings interface {
	Images | Speech | Telegram
}

// maxText bounds each text of settings, in bytes.
const maxText = 4096

// problems gathers what is wrong with settings.
type problems []error

func (p *problems) add(format string, args ...any) { *p = append(*p, fmt.Errorf(format, args...)) }

func (p *problems) service(baseURL string, key Key, ours bool) {
	if baseURL != "" {
		u, err := url.Parse(baseURL)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" {
			p.add("base_url must be an http or https address without a password or a query")
		}
	}
	if _, stored := secrets.Reference(string(key)); key != "" && !stored && !ours {
		p.add("api_key must be of the form ${secret:NAME}; set_secret asks for the value")
	}
}

// command checks a command that must have these placeholders.
func (p *problems) command(key, line string, needed ...string) {
	if line == "" {
		return
	}
	words, err := Words(line)
	if err != nil {
		p.add("%s: %w", key, err)
		return
	}
	for _, place := range needed {
		if !slices.ContainsFunc(words[1:], func(w string) bool { return strings.Contains(w, place) }) {
			p.add("%s must name %s", key, place)
		}
	}
}

func (p *problems) texts(all ...string) {
	if slices.ContainsFunc(all, func(t string) bool { return len(t) > maxText || strings.ContainsRune(t, 0) }) {
		p.add("a text is longer than %d bytes, or holds a NUL byte", maxText)
	}
}

func (p *problems) oneOf(key, value string, allowed ...string) {
	if value != "" && !slices.Contains(allowed, value) {
		p.add("%s must be one of %s", key, strings.Join(allowed, ", "))
	}
}

// Check finds everything that is wrong. ours says that the settings come from the owner's own file, in which a key may stand.
func (s Images) Check(ours bool) error {
	var p problems
	p.service(s.BaseURL, s.APIKey, ours)
	p.command("command", s.Command, promptPlace, outPlace)
	p.texts(s.BaseURL, string(s.APIKey), s.Model, s.Size, s.Command)
	p.price("price", s.Price)
	if (s.Model == "") == (s.Command == "") {
		p.add("give either model, of a service, or command")
	}
	return errors.Join(p...)
}

// Check finds everything that is wrong: see Images.Check.
func (s Speech) Check(ours bool) error {
	var p problems
	p.service(s.BaseURL, s.APIKey, ours)
	p.command("stt_command", s.STTCommand, inPlace)
	p.command("tts_command", s.TTSCommand, inPlace, outPlace)
	p.texts(s.BaseURL, string(s.APIKey), s.STTModel, s.TTSModel, s.Voice, s.STTCommand, s.TTSCommand)
	p.price("stt_price", s.STTPrice)
	p.price("tts_price", s.TTSPrice)
	if s.STTModel != "" && s.STTCommand != "" || s.TTSModel != "" && s.TTSCommand != "" {
		p.add("a model and a command for the same exclude each other")
	}
	if s.STTModel+s.STTCommand+s.TTSModel+s.TTSCommand == "" {
		p.add("give at least one of stt_model, stt_command, tts_model and tts_command")
	}
	return errors.Join(p...)
}

// Check finds everything that is wrong: see Images.Check.
func (s Telegram) Check(bool) error {
	var p problems
	p.oneOf("progress", s.Progress, ProgressFull, ProgressShort, ProgressOff)
	p.oneOf("streaming", s.Streaming, StreamingOff, StreamingEdit, StreamingDraft)
	return errors.Join(p...)
}
