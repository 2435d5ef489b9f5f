package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nod/tools"
)

// TestKilledAroundAPicture kills the real program around a picture that costs $0.04. Once its outcome is recorded it is in
// the books; where that is unknown it comes there when a person has decided, and each picture that was made counts once.
func TestKilledAroundAPicture(t *testing.T) {
	for _, c := range []struct {
		window, button string
		made           int
		today          string
	}{
		{"tools.recorded", "", 1, "$0.0400"},
		{"tools.ran", skipButton, 1, "$0.0400"},
		{"tools.ran", againButton, 2, "$0.0800"},
		{"tools.intent", skipButton, 0, "$0.0400"}, // nobody can tell that it was not made
	} {
		t.Run(strings.TrimSpace(c.window+" "+strings.Trim(c.button, "🔁⏭ ")), func(t *testing.T) {
			t.Parallel()
			w := newCrashWorld(t, 1, nil)
			m := newParrot()
			m.service.SetMedia(someMedia)
			w.env = append(w.env, "OPENAI_BASE_URL="+w.serve(m.service)+"/v1")
			w.configure("plugins:\n  images: {model: gpt-image-1, price: 0.04}\n")
			a := &act{proof: proof{tool: tools.ImageGenerate}, t: t, model: m, me: w.people[0].Person}
			costs := func() {
				t.Helper()
				a.mark = a.me.SendText("/cost").ID
				a.sees("Today, all sessions: " + c.today)
			}

			nod := w.launch(c.window + ":1")
			a.say(`do image_generate {"provider_id":"openai","prompt":"a cat"}`)
			if !nod.killedWithin(stepPatience) {
				t.Fatalf("it never came to %s", c.window)
			}
			nod = w.launch("")
			if c.button != "" {
				a.press(c.button)
			}
			a.sees("It says:")
			costs()
			nod.kill()
			w.launch("")
			costs()
			if n := len(m.service.MediaRequests()); n != c.made {
				t.Errorf("%d pictures were made, want %d", n, c.made)
			}
		})
	}
}

// configure writes nod.yaml.
func (w *crashWorld) configure(yaml string) {
	w.t.Helper()
	if err := os.MkdirAll(w.home, 0o700); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(w.home, "nod.yaml"), []byte(yaml), 0o600); err != nil {
		w.t.Fatal(err)
	}
}
