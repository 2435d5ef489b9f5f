package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"nod/agent"
	"nod/agent/llm"
	"nod/store"
	"nod/tools/plugins"
	"nod/tools/secrets"
)

func pluginConfig(t *testing.T, file plugins.File) Config {
	t.Helper()
	return Config{Home: shortDir(t), Workspace: t.TempDir(), Models: []llm.Model{{Name: "m", BaseURL: "http://127.0.0.1:1/v1", APIKey: aKey}}, Plugins: file}
}

// pluginLines are findings as they are printed. None may tell a key.
func pluginLines(t *testing.T, all []finding) string {
	t.Helper()
	var lines []string
	for _, f := range all {
		line := f.grade + " " + f.what + ": " + f.text
		for _, secret := range []string{aKey, "sk-of-the-file"} {
			if strings.Contains(line, secret) {
				t.Errorf("it tells a key: %s", line)
			}
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// TestCheckPlugins: what is set up in nod.yaml is looked at before the first start, without a database and without asking
// any service.
func TestCheckPlugins(t *testing.T) {
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "draw"), []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin)
	price, free := 0.006, 0.0
	for name, tt := range map[string]struct {
		file   plugins.File
		capped bool
		want   string
	}{
		"none":      {plugins.File{}, false, "ok plugins: none is set up"},
		"a command": {plugins.File{Images: plugins.Images{Command: "draw {prompt} {out}"}}, false, "ok plugin images: on, set up in nod.yaml: makes pictures by the command " + bin + "/draw, which costs nothing"},
		"no such command": {
			plugins.File{Images: plugins.Images{Command: "paint {prompt} {out}"}},
			false,
			"warning plugin images: on, set up in nod.yaml: makes pictures by a command, which costs nothing; but the program paint is not in PATH",
		},
		"models": {
			plugins.File{Speech: plugins.Speech{STTModel: "hear", STTPrice: &price, TTSModel: "say", TTSPrice: &free}},
			true,
			"ok plugin speech: on, set up in nod.yaml: understands recordings by the model hear at the service of the model m, $0.006 each time; " +
				"speaks by the model say at the service of the model m, which costs nothing",
		},
		"a price that nobody knows": {
			plugins.File{Images: plugins.Images{Model: "art", APIKey: "sk-of-the-file"}},
			false,
			"ok plugin images: on, set up in nod.yaml: makes pictures by the model art at OpenAI with the key of nod.yaml, its price is not known (price)",
		},
		"a price that nobody knows, and caps": {
			plugins.File{Images: plugins.Images{Model: "art"}},
			true,
			"warning plugin images: on, set up in nod.yaml: makes pictures by the model art at the service of the model m, its price is not known (price); " +
				"but the model art has no price, so that its cost can't be capped; give it price, 0 for one that costs nothing",
		},
		"a secret that is not stored": {
			plugins.File{Speech: plugins.Speech{BaseURL: "http://127.0.0.1:1/v1", APIKey: "${secret:voice}", TTSModel: "say", TTSPrice: &price}},
			false,
			"warning plugin speech: on, set up in nod.yaml: speaks by the model say at 127.0.0.1:1 with the secret voice, $0.006 each time; " +
				"but the secret voice is not stored; set_secret asks for it",
		},
		"how the chat looks": {plugins.File{Telegram: plugins.Telegram{Streaming: "off"}}, false, "ok plugin telegram: on, set up in nod.yaml: progress short, streaming off, rich false"},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := pluginConfig(t, tt.file)
			if tt.capped {
				cfg.Spending = agent.Spending{Daily: 1}
			}
			if diff := cmp.Diff(tt.want, pluginLines(t, checkPlugins(t.Context(), cfg))); diff != "" {
				t.Error(diff)
			}
			if left, err := os.ReadDir(cfg.Home); err != nil || len(left) > 0 {
				t.Errorf("it made %v: %v", left, err)
			}
		})
	}
}

// TestCheckPluginsOfTheChat: what was set up in the chat is read from the database of a nod that does not run. What is off
// lacks nothing that matters.
func TestCheckPluginsOfTheChat(t *testing.T) {
	cfg := pluginConfig(t, plugins.File{})
	db, err := store.Open(filepath.Join(cfg.Home, databaseName))
	if err != nil {
		t.Fatal(err)
	}
	vault, err := openVault(db, cfg, &secrets.Redactor{})
	if err != nil {
		t.Fatal(err)
	}
	keep := store.NewTable[store.Text, map[string]any]("plugins", store.ParseText[store.Text])
	err = errors.Join(db.Update(func(tx *store.Tx) error {
		return errors.Join(vault.Set(tx, "art", aKey),
			keep.Put(tx, "images", map[string]any{"on": true, "config": map[string]any{"model": "art", "api_key": "${secret:art}", "price": 0.04}}),
			keep.Put(tx, "speech", map[string]any{"config": map[string]any{"tts_command": "no-such-program {in} {out}"}}))
	}), db.Close())
	if err != nil {
		t.Fatal(err)
	}
	want := "ok plugin images: on, set up in the chat: makes pictures by the model art at OpenAI with the secret art, $0.04 each time\n" +
		"ok plugin speech: off, set up in the chat: speaks by a command, which costs nothing; but the program no-such-program is not in PATH"
	if diff := cmp.Diff(want, pluginLines(t, checkPlugins(t.Context(), cfg))); diff != "" {
		t.Error(diff)
	}
}

// TestCheckPluginsOfARunningBot asks the bot that runs, which holds the database.
func TestCheckPluginsOfARunningBot(t *testing.T) {
	w := newWorld(t)
	w.control = true
	w.config = func(cfg *Config) { cfg.Plugins.Telegram = plugins.Telegram{Progress: "full"} }
	w.start()
	eventually(t, "the control socket is open", func() bool {
		_, err := ask(t.Context(), w.home, "/database")
		return err == nil
	})
	want := "ok plugin telegram: on, set up in nod.yaml: progress full, streaming edit, rich false"
	if diff := cmp.Diff(want, pluginLines(t, checkPlugins(t.Context(), Config{Home: w.home}))); diff != "" {
		t.Error(diff)
	}
}
