package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"nod/store"
	"nod/tools/plugins"
	"nod/tools/secrets"
)

// pluginFinding is what the running bot tells the doctor of a plugin.
type pluginFinding struct{ ID, Grade, Text string }

// checkPlugins tells of each plugin that is set up. The running bot is asked where there is one: it alone can read what was
// set up in the chat, and it is its PATH that counts. No service is asked, since that costs money.
func checkPlugins(ctx context.Context, cfg Config) []finding {
	var found []pluginFinding
	text, err := ask(ctx, cfg.Home, "/plugins")
	switch {
	case err == nil:
		err = json.Unmarshal([]byte(text), &found)
	case errors.Is(err, errNotRunning):
		found, err = pluginsAlone(cfg)
	}
	if err != nil {
		return []finding{{"plugins", problem, err.Error()}}
	}
	if len(found) == 0 {
		return []finding{{"plugins", ok, "none is set up"}}
	}
	var all []finding
	for _, f := range found {
		all = append(all, finding{"plugin " + f.ID, f.Grade, f.Text})
	}
	return all
}

// pluginsAlone looks at the plugins while no bot runs.
func pluginsAlone(cfg Config) (found []pluginFinding, err error) {
	err = alone(cfg, cfg.Plugins != plugins.File{}, func(cfg Config, db *store.DB, vault *secrets.Vault) error {
		book, err := plugins.Open(db, vault, cfg.Plugins, cfg.Spending.Capped())
		if err == nil {
			found, err = lookAtPlugins(capabilities{book: book, model: cfg.Models[0], capped: cfg.Spending.Capped()})
		}
		return err
	})
	return found, err
}

// lookAtPlugins says of each plugin whether it is on, what it works with, and what it lacks.
func lookAtPlugins(c capabilities) (found []pluginFinding, err error) {
	setups, err := c.book.Setups()
	for _, s := range setups {
		state, source := "off", "the chat"
		if s.On {
			state = "on"
		}
		if s.InFile {
			source = "nod.yaml"
		}
		words, faults := c.uses(s)
		f := pluginFinding{s.ID, ok, fmt.Sprintf("%s, set up in %s: %s", state, source, strings.Join(words, "; "))}
		if err := errors.Join(faults...); err != nil {
			f.Text += "; but " + strings.ReplaceAll(err.Error(), "\n", "; ")
			if s.On {
				f.Grade = warning
			}
		}
		found = append(found, f)
	}
	return found, err
}

// pluginUse is one thing that a plugin does, by a model or by a command.
type pluginUse struct {
	does, model, command string
	key                  string // of its price
	usd                  float64
	unpriced             error // nobody said what it costs
}

// uses says what a plugin does, and by what.
func (c capabilities) uses(s plugins.Setup) (words []string, faults []error) {
	var all []pluginUse
	baseURL, key := s.Images.BaseURL, s.Images.APIKey
	switch s.ID {
	case plugins.ImagesID:
		usd, unpriced := s.Images.PicturePrice()
		all = []pluginUse{{"makes pictures", s.Images.Model, s.Images.Command, "price", usd, unpriced}}
	case plugins.SpeechID:
		baseURL, key = s.Speech.BaseURL, s.Speech.APIKey
		hears, unheard := s.Speech.HearingPrice()
		speaks, unspoken := s.Speech.SpeakingPrice()
		all = []pluginUse{
			{"understands recordings", s.Speech.STTModel, s.Speech.STTCommand, "stt_price", hears, unheard},
			{"speaks", s.Speech.TTSModel, s.Speech.TTSCommand, "tts_price", speaks, unspoken},
		}
	case plugins.TelegramID:
		t := s.Telegram
		return []string{fmt.Sprintf("progress %s, streaming %s, rich %t",
			cmp.Or(t.Progress, plugins.ProgressShort), cmp.Or(t.Streaming, plugins.StreamingEdit), t.Rich)}, nil
	}
	service, missing := c.serviceWords(baseURL, key)
	asked := false
	for _, u := range all {
		if u.model == "" && u.command == "" {
			continue
		}
		by, fault := "the model "+u.model+service, error(nil)
		if u.command != "" {
			by, fault = commandWords(u.command)
		}
		asked = asked || u.command == ""
		words, faults = append(words, u.does+" by "+by+", "+u.price()), append(faults, fault)
		if c.capped {
			faults = append(faults, u.unpriced)
		}
	}
	if asked {
		faults = append(faults, missing)
	}
	return words, faults
}

func (u pluginUse) price() string {
	switch {
	case u.unpriced != nil:
		return "its price is not known (" + u.key + ")"
	case u.usd == 0:
		return "which costs nothing"
	}
	return fmt.Sprintf("$%g each time", u.usd)
}

// serviceWords says which service a plugin's models are asked at and with which key, as capabilities.service chooses them.
func (c capabilities) serviceWords(baseURL string, key plugins.Key) (string, error) {
	if baseURL == "" && key == "" {
		return " at the service of the model " + c.model.Name, nil
	}
	where := " at OpenAI"
	if u, err := url.Parse(baseURL); err == nil && baseURL != "" {
		where = " at " + u.Host
	}
	name, stored := secrets.Reference(string(key))
	switch {
	case key == "":
		return where + " without a key", nil
	case !stored:
		return where + " with the key of nod.yaml", nil
	}
	_, err := c.book.Key(key)
	return where + " with the secret " + name, err
}

// commandWords names the program of a command, which must be in PATH.
func commandWords(line string) (string, error) {
	program, err := plugins.Program(line)
	if err != nil {
		return "a command", err
	}
	return "the command " + program, nil
}
