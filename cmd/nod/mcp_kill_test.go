package main

import (
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"nod/agent/llm/scripted"
	"nod/bot/emulator"
)

// TestNOD_ServersDieWithAKilledNod kills nod while a call of an MCP server runs: the server is gone at once, and after the
// next start the call is not made again but asked about.
func TestNOD_ServersDieWithAKilledNod(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("NOT TESTED: it reads /proc")
	}
	s := newStage(t, 1)
	script := newModelScript()
	model := httptest.NewServer(scripted.New(script.next))
	t.Cleanup(func() {
		script.close()
		model.Close()
	})
	s.model = model.URL + "/v1"
	mark := fmt.Sprint("killed-", os.Getpid())
	yaml := fmt.Sprintf("mcp:\n  - name: helper\n    command: %q\n    env: {%s: %s}\n", testBinary(), serverVariable, mark)
	home := filepath.Join(s.dir, "home")
	if err := os.MkdirAll(home, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, "nod.yaml"), []byte(yaml), 0o600); err != nil {
		t.Fatal(err)
	}
	ann := s.people[0]
	nod := s.start(testBinary())
	script.push(scripted.Call("activate_tools", map[string]any{"groups": []string{"helper"}}), scripted.Call("mcp__helper__dig", map[string]any{}))
	ann.SendText("dig")
	pressButton(t, ann, "✅ Approve")
	s.shown(ann, "1/3 metres deep", 0)
	if n := len(withVariable(t, mark)); n == 0 {
		t.Error("no server runs")
	}
	if err := nod.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	nod.cmd.Wait()
	eventually(t, "the server is gone", func() bool { return len(withVariable(t, mark)) == 0 })
	s.start(testBinary())
	s.shown(ann, "Interrupted: mcp__helper__dig", 0)
	pressButton(t, ann, "⏭ Skip")
	script.push(scripted.Say("Then I leave it."))
	s.shown(ann, "Then I leave it.", 0)
}

// pressButton waits for a button and presses it.
func pressButton(t *testing.T, p *emulator.Person, label string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	m, err := p.WaitButton(ctx, label)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.PressOn(m.ID, label); err != nil {
		t.Fatal(err)
	}
}

// withVariable lists the processes whose environment holds a value.
func withVariable(t *testing.T, value string) (found []string) {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if env, _ := os.ReadFile(f); strings.Contains(string(env), "="+value+"\x00") { // empty for a process that has ended
			found = append(found, f)
		}
	}
	return found
}

func eventually(t *testing.T, what string, cond func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !cond(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain until %s", what)
		}
	}
}
