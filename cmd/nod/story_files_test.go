package main

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"

	"nod/agent/llm/scripted"
	"nod/bot/emulator"
)

// TestFILE1_SD4_HostileNamesStayInUploads: whatever a file is called, it is kept in uploads/ under a name of its own.
func TestFILE1_SD4_HostileNamesStayInUploads(t *testing.T) {
	names := []string{"../../../CLAUDE.md", "/etc/x", "", ".", "..", strings.Repeat("a", 300) + ".txt", "nul\x00byte", "a\u202Efdp.exe", "CON\r\n.txt", "-rf", ".env", "$(id)", "`id`;rm -rf ~.sh", strings.Repeat("ü", 400), "..\\..\\x", "same.txt", "same.txt"}
	story(t, func(d *dialog) {
		for _, name := range names {
			d.ann.SendDocument(emulator.Upload{Name: name, Mime: "text/plain", Data: []byte(name)})
			d.model.push(scripted.Say("Kept."))
			d.settle()
		}
		entries, err := os.ReadDir(filepath.Join(d.workspace, "uploads"))
		if err != nil {
			t.Fatal(err)
		}
		if len(entries) != len(names) {
			t.Errorf("%d files of %d are kept", len(entries), len(names))
		}
		for _, e := range entries {
			if bad := strings.ContainsFunc(e.Name(), func(r rune) bool { return !unicode.IsPrint(r) }); bad || len(e.Name()) > 255 || !e.Type().IsRegular() {
				t.Errorf("kept as %q", e.Name())
			}
		}
		if top, err := os.ReadDir(d.workspace); err != nil || len(top) != 1 {
			t.Errorf("the workspace holds more than uploads: %v %v", top, err)
		}
	})
}

func TestAPictureGoesOutAsAPhotoAndAsADocumentWhenAsked(t *testing.T) {
	story(t, func(d *dialog) {
		d.write("cat.png", string(tinyPNG))
		d.play(`user> send me the cat
model> call send_attachment {"file_path":"cat.png","caption":"The *cat*"}
  call send_attachment {"file_path":"cat.png","as_document":true}
model> say Sent.
bot< Sent.`)
		if calls := d.telegram.Calls("sendPhoto"); len(calls) != 1 || calls[0].Params["caption"] != "The <i>cat</i>" {
			t.Errorf("photos: %v", calls)
		}
		if calls := d.telegram.Calls("sendDocument"); len(calls) != 1 {
			t.Errorf("documents: %v", calls)
		}
		quiet := d.silent("sendPhoto", "sendDocument", "sendMessage")
		if i := slices.Index(quiet, false); i != len(quiet)-1 {
			t.Errorf("silent: %v; the answer alone makes a sound", quiet)
		}
	})
}

func TestAFileOver50MBIsRefused(t *testing.T) {
	story(t, func(d *dialog) {
		d.write("big.bin", "")
		if err := os.Truncate(filepath.Join(d.workspace, "big.bin"), 50<<20+1); err != nil { // takes no space
			t.Fatal(err)
		}
		d.play(`user> send it
model> call send_attachment {"file_path":"big.bin"}
asked< compress it or send a part
model> say "It is too large."
bot< It is too large.`)
		if calls := d.telegram.Calls("sendDocument"); len(calls) != 0 {
			t.Errorf("it was sent: %v", calls)
		}
	})
}

func TestFILE2_TheButtonOfAFileLeadsNowhereElse(t *testing.T) {
	story(t, func(d *dialog) {
		d.write("a.md", "what it said")
		d.write("secrets/key", "top secret")
		d.play(`user> read it
model> call read_file {"path":"a.md"}
model> say Read.
bot< Read.`)
		for name, target := range map[string]string{"outside": "/etc/hostname", "a secret": "secrets/key", "nothing": "gone.md"} {
			path := filepath.Join(d.workspace, "a.md")
			if err := errors.Join(os.Remove(path), os.Symlink(target, path)); err != nil {
				t.Fatal(err)
			}
			if answer := d.press(d.ann, "📎 a.md"); !answer.Alert || answer.Text == "" {
				t.Errorf("a link to %s was answered with %+v", name, answer)
			}
		}
		d.settle()
		if calls := d.telegram.Calls("sendDocument"); len(calls) != 0 {
			t.Errorf("it was sent: %v", calls)
		}
	})
}
