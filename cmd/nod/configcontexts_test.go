package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"nod/agent"
)

func TestRunContextsOfTheFileAreRead(t *testing.T) {
	s := newSetting(t, strings.Join([]string{
		"contexts:",
		"  - name: house",
		"    group: work",
		"    prompt: [\"Be brief.\", \"Mind the cat.\"]",
		"    dir: house/../house/",
		"    reads: [/srv/plans, notes]",
		"    writes: [house/out]",
		"  - {name: bare, group: default, dir: .}",
	}, "\n"), nil)
	cfg, err := s.load()
	if err != nil {
		t.Fatal(err)
	}
	in := func(name string) string { return filepath.Join(canonical(cfg.Workspace), name) }
	want := []agent.RunContext{
		{Name: "house", Group: "work", Prompt: []string{"Be brief.", "Mind the cat."}, Dir: "house", Reads: []string{"/srv/plans", in("notes")}, Writes: []string{in("house/out")}},
		{Name: "bare"},
	}
	if diff := cmp.Diff(want, cfg.Contexts); diff != "" {
		t.Error(diff)
	}
}

func TestBadRunContextsNameTheirLines(t *testing.T) {
	for _, tt := range []struct{ context, want string }{
		{"{group: x}", `"" is no name`},
		{"{name: none}", `"none" is no name`},
		{"{name: A b}", `"A b" is no name`},
		{"{name: a, dir: /etc}", "the folder /etc must lie in the workspace"},
		{"{name: a, dir: ..}", "must lie in the workspace"},
		{"{name: a, dir: secrets/x}", "and not in secrets"},
		{"{name: a, reads: [secrets]}", "the folder secrets is closed to all tools"},
		{"{name: a, writes: [~/x]}", "begins with ~"},
		{"{name: a, pronpt: [x]}", "there is no setting contexts[0].pronpt"},
		{"{name: a, prompt: x}", "a list of texts"},
	} {
		s := newSetting(t, "log: info\ncontexts:\n  - "+tt.context, nil)
		_, err := s.load()
		if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), "line 3") {
			t.Errorf("%s: %v, want %q", tt.context, err, tt.want)
		}
	}
	_, err := newSetting(t, "contexts:\n  - {name: a}\n  - {name: a}\n", nil).load()
	if err == nil || !strings.Contains(err.Error(), "line 3: there are two run contexts named a") {
		t.Error(err)
	}
}
