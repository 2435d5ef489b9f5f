package main

import (
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io/fs"
	"log/slog"
	"math"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"nod/agent/llm"
	"nod/agent/llm/scripted"
	"nod/bot/emulator"
	"nod/store"
)

// demoUser is the person at the demo's page, who owns its bot.
var demoUser = emulator.User{ID: 1001, FirstName: "You"}

// demoCommand runs the bot against an emulator of Telegram with a chat page, in folders that are thrown away.
func demoCommand(ctx context.Context, _ []string, out stdio) (err error) {
	dir, err := os.MkdirTemp("", "nod-demo-")
	if err != nil {
		return fmt.Errorf("making the demo's folder: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	cfg, err := demoConfig(out, dir)
	if err != nil {
		return err
	}
	scripts, err := fs.Sub(demoScripts, "demo")
	if err != nil {
		return fmt.Errorf("finding the demo's scripts: %w", err)
	}
	d, err := newDemo(cfg, scripts, out)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("opening the demo's page: %w", err)
	}
	key := emulator.NewKey()
	server := &http.Server{
		Handler: emulator.NewPage(d.person, emulator.PageOptions{
			Key: key, Hosts: hosts(listener), Notice: "Demo · " + d.about, Suggestions: d.offers,
		}),
		ReadHeaderTimeout: 10 * time.Second,
	}
	d.ready = func() {
		fmt.Fprintf(out.out, "nod demo: open http://%s/?key=%s\n%s\nCtrl-C ends it and removes its files.\n", listener.Addr(), key, d.hint)
	}
	return runStaged(ctx, d.log, []loop{
		{name: "the bot", run: func(ctx context.Context) error { return run(ctx, d.wiring) }, limit: 15 * time.Second},
		{name: "the page", run: func(ctx context.Context) error { return servePage(ctx, server, listener) }, limit: 5 * time.Second},
	})
}

// hosts are the names by which a browser may call the page; any other is DNS rebinding.
func hosts(l net.Listener) []string {
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		return nil
	}
	return []string{"127.0.0.1:" + port, "localhost:" + port}
}

// servePage serves until ctx ends.
func servePage(ctx context.Context, server *http.Server, listener net.Listener) error {
	stop := context.AfterFunc(ctx, func() { server.Close() })
	defer stop()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving the demo's page: %w", err)
	}
	return nil
}

// demo is a bot with nothing to configure.
type demo struct {
	wiring
	telegram *emulator.Server
	person   *emulator.Person
	about    string   // which model answers, in a few words
	hint     string   // the same for the terminal, with what to do about it
	offers   []string // what to try
}

// demoConfig takes the model from the environment and nod.yaml, and nothing else.
func demoConfig(out stdio, dir string) (Config, error) {
	cfg, err := loadConfig(out.env, false)
	if err != nil {
		return cfg, err
	}
	cfg.Token, cfg.API = llm.Secret(emulator.Token), "http://telegram.invalid"
	cfg.Home, cfg.Workspace = filepath.Join(dir, "home"), filepath.Join(dir, "workspace")
	cfg.Owners = []store.UserID{store.UserID(demoUser.ID)}
	return cfg, nil
}

// demoCalls is how many API calls the emulator remembers. Nobody looks at them here, and a demo may run for days.
const demoCalls = 100

// newDemo wires a demo. The scripts are its model where none is configured, and what it offers to try.
func newDemo(cfg Config, scripts fs.FS, out stdio) (*demo, error) {
	script, err := newDemoModel(scripts)
	if err != nil {
		return nil, err
	}
	log := slog.New(slog.NewTextHandler(out.err, &slog.HandlerOptions{Level: max(cfg.Log, slog.LevelWarn)}))
	telegram := emulator.New(emulator.Options{Flood: &emulator.Flood{}, KeepCalls: demoCalls})
	d := &demo{telegram: telegram, person: telegram.Private(demoUser), offers: script.titles()}
	d.wiring = wiring{config: cfg, log: log, telegram: emulator.Transport(telegram), notice: out.out, fleeting: true}
	const rest = "The rest is the real program with its rules, cards, files, commands and jobs, and this page stands in for Telegram. " +
		"Files are in a throw-away folder.\n\nTap a suggestion below, or write."
	name := cfg.Models[0].Name
	d.about = name + " answers"
	d.hint = "The model is " + name + "."
	d.greeting = "👋 This is a demo of **nod**, an agent that asks before it acts. The model is `" + name + "`. " + rest
	if !cfg.ModelGiven {
		d.model = scripted.Transport(scripted.New(script.reply))
		d.config.Models = []llm.Model{{Name: "demo", BaseURL: "http://model.invalid/v1", ContextWindow: 128_000}}
		d.about = "a script answers, not a model"
		d.hint = "No model is configured, so a scripted demo model answers; set OPENAI_API_KEY or OPENAI_BASE_URL to use a real one."
		d.greeting = "👋 This is a demo of **nod**, an agent that asks before it acts. No model is configured, so a **script** plays the model: it knows a few tricks. " + rest
	}
	return d, fillWorkspace(cfg.Workspace)
}

const welcomeFile = `# Welcome

This file lies in the workspace of nod's demo. The agent may read what is here.
It asks before it changes anything, runs a command or looks elsewhere.
`

// fillWorkspace puts a few things to play with in the workspace.
func fillWorkspace(dir string) error {
	if err := os.MkdirAll(filepath.Join(dir, "pictures"), 0o755); err != nil {
		return fmt.Errorf("filling the workspace: %w", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "welcome.md"), []byte(welcomeFile), 0o644); err != nil {
		return fmt.Errorf("filling the workspace: %w", err)
	}
	f, err := os.Create(filepath.Join(dir, "pictures", "nod.png"))
	if err != nil {
		return fmt.Errorf("filling the workspace: %w", err)
	}
	return errors.Join(png.Encode(f, drawing()), f.Close())
}

// drawing is a nodding head: a disc with a tick, on an evening sky.
func drawing() image.Image {
	const size = 480
	img := image.NewRGBA(image.Rect(0, 0, size, size))
	for y := range size {
		for x := range size {
			img.Set(x, y, pixel(float64(x)/size, float64(y)/size))
		}
	}
	return img
}

func pixel(x, y float64) color.Color {
	switch {
	case onTick(x, y):
		return color.RGBA{0x1b, 0x5e, 0x3b, 0xff}
	case math.Hypot(x-0.5, y-0.5) < 0.36:
		return color.RGBA{0x7d, 0xd8, 0x9f, 0xff}
	}
	return color.RGBA{uint8(40 + 60*y), uint8(70 + 80*y), uint8(130 + 60*y), 0xff}
}

// onTick says whether a point lies on one of the two strokes of a tick.
func onTick(x, y float64) bool {
	return nearLine(x, y, 0.33, 0.52, 0.45, 0.64) || nearLine(x, y, 0.45, 0.64, 0.68, 0.38)
}

func nearLine(x, y, x1, y1, x2, y2 float64) bool {
	along := ((x-x1)*(x2-x1) + (y-y1)*(y2-y1)) / ((x2-x1)*(x2-x1) + (y2-y1)*(y2-y1))
	along = min(max(along, 0), 1)
	return math.Hypot(x-x1-along*(x2-x1), y-y1-along*(y2-y1)) < 0.035
}
