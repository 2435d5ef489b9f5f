package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"nod/agent/llm"
	"nod/store"
	"nod/tools"
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

// TestConfigPlugins_CapsNeedPrices of every model that costs money, as they need those of the models that answer.
func TestConfigPlugins_CapsNeedPrices(t *testing.T) {
	const models = "models: [{name: a, price_in: 0, price_out: 0}]\n"
	for _, c := range []struct {
		file string
		want []string
	}{
		{"plugins: {images: {model: m}, speech: {stt_model: s}}\n", nil},
		{"spending: {daily: 5}\nplugins: {images: {model: m}}\n", []string{"plugins.images: the model m has no price, so that its cost can't be capped; give it price, 0 for one that costs nothing"}},
		{"spending: {job: 1}\nplugins: {images: {model: m, price: }}\n", []string{"plugins.images: the model m has no price, so that its cost can't be capped; give it price, 0 for one that costs nothing"}},
		{"spending: {job: 1}\nplugins: {speech: {stt_model: s, tts_model: t}}\n", []string{
			"plugins.speech: the model s has no price, so that its cost can't be capped; give it stt_price, 0 for one that costs nothing",
			"plugins.speech: the model t has no price, so that its cost can't be capped; give it tts_price, 0 for one that costs nothing",
		}},
		{"spending: {daily: 5}\nplugins: {images: {model: m, price: 0.04}, speech: {stt_model: s, stt_price: 0, tts_command: \"x {in} {out}\"}}\n", nil},
		{"spending: {daily: 5}\nplugins: {images: {command: \"x {prompt} {out}\"}}\n", nil},
		{"plugins: {images: {model: m, price: -1}}\n", []string{"plugins.images: price must be a sum in USD from 0 to 1000, such as 0.04"}},
		{"plugins: {images: {model: m, price: .inf}}\n", []string{"plugins.images: price must be a sum in USD from 0 to 1000, such as 0.04"}},
		{"plugins: {images: {model: m, price: .nan}}\n", []string{"plugins.images: price must be a sum in USD from 0 to 1000, such as 0.04"}},
		{"plugins: {images: {model: m, price: dear}}\n", []string{"nod.yaml: line 2: plugins.images.price must be a number"}},
	} {
		if diff := cmp.Diff(c.want, newSetting(t, models+c.file, nil).problems()); diff != "" {
			t.Errorf("%s%s", c.file, diff)
		}
	}
}

// TestPlugins_SettingsThatAreOlderThanTheCaps: what the chat had set up without prices is not used until they are known.
func TestPlugins_SettingsThatAreOlderThanTheCaps(t *testing.T) {
	db := store.OpenTest(t)
	book, err := plugins.Open(db, nil, plugins.File{Images: plugins.Images{Model: "m"}, Speech: plugins.Speech{STTModel: "s", TTSModel: "t"}}, true)
	if err != nil {
		t.Fatal(err)
	}
	for _, capped := range []bool{false, true} {
		c := capabilities{book: book, capped: capped}
		_, drawing := c.images().Generate(t.Context(), tools.ImageRequest{})
		_, speaking := c.speech().Speak(t.Context(), "x")
		_, hearing := c.hearing().Transcribe(t.Context(), "x", "x", strings.NewReader("x"))
		for what, err := range map[string]error{"price": drawing, "tts_price": speaking, "stt_price": hearing} {
			if refused := strings.Contains(errors.Join(err).Error(), "give it "+what); refused != capped {
				t.Errorf("capped %t: %v", capped, err)
			}
		}
	}
}
