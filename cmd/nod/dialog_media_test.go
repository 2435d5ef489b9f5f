package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/png"
	"time"

	"nod/agent/llm/scripted"
	"nod/tools/plugins"
)

// media is the steps that say what the services for speech and pictures answer.
func (d *dialog) media(verb, text string) {
	d.t.Helper()
	var err error
	switch verb {
	case "hears":
		d.spoken.Words = text
	case "speaks":
		d.spoken.Speech = []byte("OggS\x00\x02 a made-up page OpusHead\x01")
	case "draws":
		var width, height int
		if _, err = fmt.Sscanf(text, "%dx%d", &width, &height); err == nil {
			d.spoken.Picture = blankPNG(width, height)
		}
	case "slow":
		d.spoken.Delay, err = time.ParseDuration(text)
	case "mute":
		d.spoken = scripted.Media{}
	}
	if err != nil {
		d.t.Fatal(err)
	}
	d.service.SetMedia(d.spoken)
}

func blankPNG(width, height int) []byte {
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, width, height))); err != nil {
		panic(err) // a gray picture can be written to memory
	}
	return b.Bytes()
}

// setPlugin sets a plugin up as nod.yaml would.
func setPlugin(cfg *Config, id, settings string) error {
	into, ok := map[string]any{
		plugins.ImagesID: &cfg.Plugins.Images, plugins.SpeechID: &cfg.Plugins.Speech, plugins.TelegramID: &cfg.Plugins.Telegram,
	}[id]
	if !ok {
		return errors.New("there is no such plugin")
	}
	return json.Unmarshal([]byte(settings), into)
}
