package main

import (
	"os"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"nod/agent/llm/scripted"
	"nod/tools/shell"
)

// TestTheSandboxIsMeasuredOnceAfterTheFirstPoll: measuring starts processes, and people's messages come before that. Later
// what was found is used: neither /status nor a card measures again.
func TestTheSandboxIsMeasuredOnceAfterTheFirstPoll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.config = func(c *Config) { c.Sandbox = shell.Auto }
		none := childWork(t)
		w.start()
		synctest.Wait() // the bot waits for updates
		if polls := len(w.telegram.Calls("getUpdates")); polls == 0 {
			t.Error("nod does not poll yet")
		}
		if got := childWork(t); got != none || strings.Contains(w.logs.String(), "sandbox") {
			t.Errorf("before the first poll children have done %d of something, log:\n%s", got-none, w.logs)
		}
		time.Sleep(startQuiet + time.Second)
		synctest.Wait()
		measured := childWork(t)
		if measured == none || strings.Count(w.logs.String(), "sandbox=") != 1 {
			t.Errorf("afterwards children have done %d of something, log:\n%s", measured-none, w.logs)
		}

		w.ann.SendText("/status")
		w.sees(w.ann, "Sandbox for commands: ")
		w.model.push(scripted.Call("execute_cmd", map[string]string{"command": "ls"}))
		w.ann.SendText("go")
		w.sees(w.ann, "🛡 sandbox: ")
		w.model.push(scripted.Say("Well."))
		w.press(w.ann, "❌ Reject")
		w.sees(w.ann, "Well.")
		if got := childWork(t); got != measured {
			t.Errorf("it is measured again: children have done %d more", got-measured)
		}
	})
}

// childWork grows with every child of this process that has ended, by the pages that it touched. None may be alive.
func childWork(t *testing.T) int64 {
	t.Helper()
	var usage unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_CHILDREN, &usage); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		stat, err := os.ReadFile("/proc/" + e.Name() + "/stat")
		if err != nil {
			continue // no process, or it has ended
		}
		f := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
		if len(f) > 1 && f[1] == strconv.Itoa(os.Getpid()) {
			t.Errorf("a child is alive: %s", stat)
		}
	}
	return usage.Minflt
}
