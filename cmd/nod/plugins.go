package main

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"

	"nod/agent/llm"
	"nod/tools"
	"nod/tools/plugins"
	"nod/tools/secrets"
)

// plugins reads what the file sets up. A key may stand there, or be referred to as elsewhere. Where spending is capped,
// what costs money needs a price.
func (l *loader) plugins(f plugins.File, capped bool) plugins.File {
	f.Images.APIKey = plugins.Key(l.secret("plugins.images.api_key", string(f.Images.APIKey)))
	f.Speech.APIKey = plugins.Key(l.secret("plugins.speech.api_key", string(f.Speech.APIKey)))
	check := func(id string, given bool, err, unpriced error) {
		if capped {
			err = errors.Join(err, unpriced)
		}
		if !given || err == nil {
			return
		}
		for line := range strings.Lines(err.Error()) {
			l.problem("plugins."+id, "%s", strings.TrimSpace(line))
		}
	}
	check(plugins.ImagesID, f.Images != plugins.Images{}, f.Images.Check(true), f.Images.Priced())
	check(plugins.SpeechID, f.Speech != plugins.Speech{}, f.Speech.Check(true), f.Speech.Priced())
	check(plugins.TelegramID, true, f.Telegram.Check(true), f.Telegram.Priced())
	return f
}

// pluginSecrets are the keys that stand in the file.
func pluginSecrets(f plugins.File) (values []string) {
	for _, key := range []plugins.Key{f.Images.APIKey, f.Speech.APIKey} {
		if _, stored := secrets.Reference(string(key)); !stored {
			values = append(values, string(key))
		}
	}
	return values
}

// capabilities are what plugins add to nod now. They are asked for each time, so that a change of settings counts at once.
type capabilities struct {
	book      *plugins.Book
	commands  plugins.Commands
	model     llm.Model         // whose service is asked where a plugin names none
	transport http.RoundTripper // nil: the network
	capped    bool              // spending is
}

// fee is a price that may not be known, which only matters where spending is capped: settings of the chat may be older
// than the caps.
func (c capabilities) fee(usd float64, err error) (tools.Fee, error) {
	if !c.capped {
		err = nil
	}
	return tools.Fee(usd), err
}

// service is where a plugin's service is. A model's key goes only where the model is.
func (c capabilities) service(baseURL string, key plugins.Key, model string) (llm.Service, error) {
	if baseURL == "" && key == "" {
		return llm.Service{BaseURL: c.model.BaseURL, APIKey: c.model.APIKey, Model: model, Transport: c.transport}, nil
	}
	value, err := c.book.Key(key)
	return llm.Service{BaseURL: baseURL, APIKey: llm.Secret(value), Model: model, Transport: c.transport}, err
}

// hearing understands speech, or is nil.
func (c capabilities) hearing() tools.Hearing {
	s, on := c.book.Speech()
	fee, unpriced := c.fee(s.HearingPrice())
	switch {
	case on && s.STTCommand != "":
		return plugins.Hearing{Commands: c.commands, Fee: fee, Line: s.STTCommand}
	case on && s.STTModel != "":
		service, err := c.service(s.BaseURL, s.APIKey, s.STTModel)
		if err := errors.Join(err, unpriced); err != nil {
			return unready{err: err}
		}
		service.Fee = fee
		return llm.Hearing{Service: service}
	}
	return nil
}

// speech makes speech, or is nil.
func (c capabilities) speech() tools.SpeechPort {
	s, on := c.book.Speech()
	fee, unpriced := c.fee(s.SpeakingPrice())
	switch {
	case on && s.TTSCommand != "":
		return plugins.Speaking{Commands: c.commands, Fee: fee, Line: s.TTSCommand}
	case on && s.TTSModel != "":
		service, err := c.service(s.BaseURL, s.APIKey, s.TTSModel)
		if err := errors.Join(err, unpriced); err != nil {
			return unready{err: err}
		}
		service.Fee = fee
		return llm.Speaking{Service: service, Voice: s.Voice}
	}
	return nil
}

// images makes pictures, or is nil.
func (c capabilities) images() tools.ImagePort {
	s, on := c.book.Images()
	fee, unpriced := c.fee(s.PicturePrice())
	switch {
	case on && s.Command != "":
		return plugins.Drawing{Commands: c.commands, Fee: fee, Line: s.Command}
	case on && s.Model != "":
		service, err := c.service(s.BaseURL, s.APIKey, s.Model)
		if err := errors.Join(err, unpriced); err != nil {
			return unready{err: err}
		}
		service.Fee = fee
		return llm.Drawing{Service: service, Size: s.Size}
	}
	return nil
}

// unready stands in for a plugin that is on and lacks something: whoever uses it is told what.
type unready struct {
	tools.Fee // none: nobody is asked
	err       error
}

func (u unready) Transcribe(context.Context, string, string, io.Reader) (string, error) {
	return "", u.err
}
func (u unready) Speak(context.Context, string) ([]byte, error) { return nil, u.err }
func (u unready) Providers() []tools.ImageProvider {
	return []tools.ImageProvider{{ID: "openai", About: "not ready: " + u.err.Error()}}
}

func (u unready) Generate(context.Context, tools.ImageRequest) ([]byte, error) { return nil, u.err }
