package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"nod/agent/llm"
	"nod/tools/plugins"
)

func TestConfigPlugins(t *testing.T) {
	s := newSetting(t, `plugins:
  images:
    model: gpt-image-1
    api_key: ${IMAGES_KEY}
  speech:
    base_url: http://localhost:8000/v1
    api_key: ${secret:voice}
    stt_model: whisper-1
    tts_command: say {in} {out}
  telegram:
    progress: full
    rich: true
`, map[string]string{"IMAGES_KEY": aKey})
	cfg, err := s.load()
	if err != nil {
		t.Fatal(err)
	}
	want := plugins.File{
		Images:   plugins.Images{Model: "gpt-image-1", APIKey: aKey},
		Speech:   plugins.Speech{BaseURL: "http://localhost:8000/v1", APIKey: "${secret:voice}", STTModel: "whisper-1", TTSCommand: "say {in} {out}"},
		Telegram: plugins.Telegram{Progress: "full", Rich: true},
	}
	if cfg.Plugins != want {
		t.Error(cmp.Diff(want, cfg.Plugins))
	}
	if !slices.Contains(cfg.secrets(), aKey) || slices.Contains(cfg.secrets(), "${secret:voice}") {
		t.Errorf("the secrets are %d", len(cfg.secrets()))
	}
	if shown := fmt.Sprintf("%v %+v", cfg, cfg); strings.Contains(shown, "hush") {
		t.Error("a key is printed")
	}
}

func TestConfigPlugins_ProblemsNameTheirPlugin(t *testing.T) {
	_, err := newSetting(t, `plugins:
  images:
    size: 64x64
  speech:
    stt_command: hear | tee {in}
  telegram:
    progress: loud
    rich: maybe
  weather:
    on: true
`, nil).load()
	if err == nil {
		t.Fatal("it was taken")
	}
	for _, want := range []string{
		"plugins.images: give either model", "plugins.speech: stt_command:", "plugins.telegram: progress must be one of",
		"plugins.telegram.rich must be true or false", "there is no setting plugins.weather",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is missing in: %v", want, err)
		}
	}
}

func TestPlugins_TheKeyOfAModelGoesOnlyWhereTheModelIs(t *testing.T) {
	c := capabilities{model: llm.Model{BaseURL: "http://model.test/v1", APIKey: aKey}, book: &plugins.Book{}}
	for _, s := range []struct{ base, key, wantBase, wantKey string }{
		{"", "", "http://model.test/v1", aKey},
		{"http://elsewhere.test", "", "http://elsewhere.test", ""},
		{"", "sk-another-one", "", "sk-another-one"},
	} {
		got, err := c.service(s.base, plugins.Key(s.key), "m")
		if err != nil || got.BaseURL != s.wantBase || string(got.APIKey) != s.wantKey {
			t.Errorf("%+v goes to %s (%v)", s, got.BaseURL, err)
		}
	}
}
