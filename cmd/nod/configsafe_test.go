package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPassphraseComesFromElsewhere(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, passphraseCredential)
	if err := os.WriteFile(file, []byte("correct horse\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, s := range map[string]*setting{
		"a variable":    newSetting(t, "", map[string]string{"NOD_PASSPHRASE_FILE": file}),
		"the file":      newSetting(t, "passphrase: file:"+file, nil),
		"a reference":   newSetting(t, "passphrase: ${PASS}", map[string]string{"PASS": "correct horse"}),
		"systemd":       newSetting(t, "", map[string]string{"CREDENTIALS_DIRECTORY": dir}),
		"variable wins": newSetting(t, "passphrase: ${PASS}", map[string]string{"PASS": "another horse", "NOD_PASSPHRASE_FILE": file}),
	} {
		c, err := s.load()
		if err != nil || c.Passphrase != "correct horse" {
			t.Errorf("%s: %q, %v", name, string(c.Passphrase), err)
		}
		if strings.Contains(fmt.Sprintf("%v %+v", c, c), "horse") || !slices.Contains(c.secrets(), "correct horse") {
			t.Errorf("%s: the passphrase is printed, or not redacted", name)
		}
	}
	if c, err := newSetting(t, "", map[string]string{"CREDENTIALS_DIRECTORY": t.TempDir()}).load(); err != nil || c.Passphrase != "" {
		t.Errorf("systemd passes on none: %v", err)
	}
	for given, want := range map[string]string{
		"correct horse": "must be given as file:", "${secret:pass}": "must be given as file:", "${SHORT}": "shorter than 8", "file:/nowhere": "reading the file",
	} {
		problems := newSetting(t, "passphrase: "+given, map[string]string{"SHORT": "short"}).problems()
		if len(problems) != 1 || !strings.HasPrefix(problems[0], "passphrase: ") || !strings.Contains(problems[0], want) {
			t.Errorf("%s: %q", given, problems)
		}
	}
}

func TestVariablesOfCommands(t *testing.T) {
	s := newSetting(t, `
command_env:
  GH_TOKEN: ${secret:github}
  NPM_TOKEN: ${NPM}
  GH_HOST: github.example
keep_days: 0
`, map[string]string{"NPM": "npm-canary"})
	c, err := s.load()
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]commandVariable{
		"GH_TOKEN": {Value: "${secret:github}"}, "NPM_TOKEN": {Value: "npm-canary"}, "GH_HOST": {Value: "github.example", Plain: true},
	}
	if diff := cmp.Diff(want, c.CommandEnv); diff != "" || c.KeepDays != 0 {
		t.Error(c.KeepDays, diff)
	}
	if all := c.secrets(); !slices.Contains(all, "npm-canary") || slices.Contains(all, "github.example") {
		t.Error("the wrong values are redacted")
	}
	problems := newSetting(t, `
command_env:
  PATH: /tmp
  a-b: x
  EMPTY: ${NONE}
keep_days: -1
`, nil).problems()
	slices.Sort(problems)
	for i, key := range []string{"command_env.EMPTY: it refers to ${NONE}", "command_env.PATH: ", "command_env.a-b: ", "keep_days: "} {
		if i >= len(problems) || !strings.HasPrefix(problems[i], key) {
			t.Fatalf("problems: %q", problems)
		}
	}
}
