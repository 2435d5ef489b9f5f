package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"nod/bot/emulator"
	"nod/tools/plugins"
	"nod/tools/shell"
)

// Commands for speech with programs of Debian. The recogniser understands English, and of flite's voices awb best.
const (
	recognise = `sh -c 'M=/usr/share/pocketsphinx/model/en-us; cd "$(dirname "$2")" && ffmpeg -v error -y -i "$1" -ar 16000 -ac 1 v.wav && ` +
		`pocketsphinx_continuous -infile v.wav -hmm $M/en-us -lm $M/en-us.lm.bin -dict $M/cmudict-en-us.dict -logfn /dev/null > "$2"' sh {in} {out}`
	pronounce = `sh -c 'flite -voice awb -f "$1" -o "$2.wav" && ffmpeg -v error -y -i "$2.wav" -c:a libopus -b:a 24k -ar 48000 -ac 1 "$2"' sh {in} {out}`
)

// needsSpeech skips a test where the programs for speech are missing. With NOD_VOICE it fails instead.
func needsSpeech(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("it takes seconds")
	}
	for _, program := range []string{"flite", "ffmpeg", "pocketsphinx_continuous"} {
		if _, err := exec.LookPath(program); err == nil {
			continue
		}
		const how = "apt-get install -y --no-install-recommends flite ffmpeg pocketsphinx pocketsphinx-en-us"
		if os.Getenv("NOD_VOICE") != "" {
			t.Fatalf("%s is missing: %s", program, how)
		}
		t.Skipf("NOT TESTED: %s is missing; %s", program, how)
	}
}

// TestVoice_AWholeConversationWithRealSpeech takes some seconds, since it speaks and listens for real.
func TestVoice_AWholeConversationWithRealSpeech(t *testing.T) {
	needsSpeech(t)
	const said = "remind me to buy milk tomorrow morning"
	voices := plugins.Commands{Runner: &shell.Runner{}}
	note, err := plugins.Speaking{Commands: voices, Line: pronounce}.Speak(t.Context(), said)
	if err != nil {
		t.Fatal(err)
	}
	d := newDialog(t, newWorld(t))
	d.config = func(cfg *Config) { cfg.Plugins.Speech = plugins.Speech{STTCommand: recognise, TTSCommand: pronounce} }
	d.start()
	d.ann.SendVoice(emulator.Upload{Name: "note.oga", Data: note})
	d.play("bot< 🎙 " + said + "\nasked< " + said + `
model> call send_voice_message {"text":"` + said + `"}
model> say Done.
bot< Done.`)
	var spoken *emulator.Attachment
	for _, m := range d.said() {
		if m.Voice != nil {
			spoken = m.Voice
		}
	}
	if spoken == nil {
		t.Fatalf("no voice message came:\n%s", d.ann.Transcript())
	}
	_, data, _ := d.telegram.File(spoken.FileID)
	path := filepath.Join(t.TempDir(), "answer.ogg")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	words, err := plugins.Hearing{Commands: voices, Line: recognise}.Transcribe(t.Context(), "answer.ogg", path, nil)
	if err != nil || !strings.Contains(words, said) {
		t.Errorf("the voice message says %q, %v", words, err)
	}
	d.end()
}
