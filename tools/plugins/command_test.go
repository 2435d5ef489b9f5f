package plugins_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"nod/tools"
	"nod/tools/plugins"
	"nod/tools/shell"
)

var commands = plugins.Commands{Runner: &shell.Runner{}}

func TestCommand_ItsWordsAreNeverSplitAgain(t *testing.T) {
	draw := plugins.Drawing{Commands: commands, Line: `sh -c 'printf "%s|" "$#" "$1" "$2" > "$3"' sh x={prompt} {prompt} {out}`}
	prompt := "a cat; $(rm -rf /) 'and' {out} \"it\"\n-x"
	got, err := draw.Generate(t.Context(), tools.ImageRequest{Prompt: prompt})
	if err != nil {
		t.Fatal(err)
	}
	if want := "3|x=" + prompt + "|" + prompt + "|"; string(got) != want {
		t.Errorf("the command was given %q, want %q", got, want)
	}
}

func TestCommand_APromptIsNoOption(t *testing.T) {
	draw := plugins.Drawing{Commands: commands, Line: `sh -c 'printf "%s" "$1" > "$2"' sh {prompt} {out}`}
	got, err := draw.Generate(t.Context(), tools.ImageRequest{Prompt: "--output=/etc/passwd"})
	if err != nil || strings.HasPrefix(string(got), "-") {
		t.Errorf("the command was given %q, %v", got, err)
	}
}

func TestCommand_HasACleanEnvironmentAndAFolderThatIsGoneAfterwards(t *testing.T) {
	t.Setenv("TELEGRAM_BOT_TOKEN", "1:secret")
	t.Setenv("TMPDIR", t.TempDir())
	hear := plugins.Hearing{Commands: commands, Line: `sh -c 'env; pwd; cat "$1"' sh {in}`}
	in := filepath.Join(t.TempDir(), "voice.ogg")
	if err := os.WriteFile(in, []byte("what was said"), 0o600); err != nil {
		t.Fatal(err)
	}
	words, err := hear.Transcribe(t.Context(), "voice.ogg", in, nil)
	if err != nil || !strings.Contains(words, "what was said") || strings.Contains(words, "secret") {
		t.Errorf("got %q, %v", words, err)
	}
	if left, err := os.ReadDir(os.Getenv("TMPDIR")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestCommand_WhatItWritesCounts(t *testing.T) {
	hear := plugins.Hearing{Commands: commands, Line: `sh -c 'echo noise; echo " the words " > "$2"' sh {in} {out}`}
	if words, err := hear.Transcribe(t.Context(), "v.ogg", "/dev/null", nil); err != nil || words != "the words" {
		t.Errorf("heard %q, %v", words, err)
	}
	speak := plugins.Speaking{Commands: commands, Line: `cp {in} {out}`}
	if sound, err := speak.Speak(t.Context(), "Good morning."); err != nil || string(sound) != "Good morning." {
		t.Errorf("spoke %q, %v", sound, err)
	}
}

func TestCommand_FailuresAreSaidInWords(t *testing.T) {
	for line, want := range map[string]string{
		`no-such-program-here {in} {out}`:                    "is not in PATH",
		`sh -c 'echo it broke; exit 3' sh {in} {out}`:        "exit status 3): it broke",
		`true {in} {out}`:                                    "wrote no sound",
		`ln -s /etc/passwd {out}`:                            "no regular file",
		`mkdir {out}`:                                        "no regular file",
		`sh -c 'head -c 30000000 /dev/zero > "$1"' sh {out}`: "more than 20 MB",
	} {
		got, err := plugins.Speaking{Commands: commands, Line: line}.Speak(t.Context(), "x")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s gave %d bytes and %v, want %q", line, len(got), err, want)
		}
	}
}

func TestCommand_AStopEndsItAndWhatItStarted(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(200*time.Millisecond, func() { cancel(tools.ErrStopped) })
	began := time.Now()
	_, err := plugins.Speaking{Commands: commands, Line: `sh -c 'sleep 60 & sleep 60' sh {in} {out}`}.Speak(ctx, "x")
	if took := time.Since(began); !errors.Is(err, tools.ErrStopped) || took > 10*time.Second {
		t.Errorf("after %s: %v", took, err)
	}
}
