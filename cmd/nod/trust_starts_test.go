package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// trustStarts times what a person waits for after something went wrong: a start after kill -9, a backup put back.
func trustStarts(t *testing.T, table *trustTable) {
	w := newCrashWorld(t, 1, nil)
	p := w.people[0]
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	nod := w.launch("")
	p.perform(ctx, errandCmd)
	var starts samples
	for range trustSize(1, 2, 50) {
		nod.kill()
		began := time.Now()
		nod = w.launch("")
		if !p.hears(ctx, "/id", "Your id") {
			t.Fatal("after a kill nod does not answer")
		}
		starts = append(starts, time.Since(began))
		time.Sleep(time.Second) // the pace that one chat allows would be measured else
	}
	file := filepath.Join(t.TempDir(), "nod.backup")
	began := time.Now()
	w.command("backup", file)
	backup := time.Since(began)
	nod.terminate()
	began = time.Now()
	w.command("restore", file)
	nod = w.launch("")
	if !p.hears(ctx, "/id", "Your id") || !strings.Contains(p.Transcript(), "A backup was restored") {
		t.Errorf("after a restore:\n%s", p.Transcript())
	}
	restore := time.Since(began)
	nod.terminate()
	table.lines = append(table.lines,
		fmt.Sprintf("From the start after kill -9 to the first reply: %s (median of %d).", starts.median().Round(time.Millisecond), len(starts)),
		fmt.Sprintf("`nod backup` of a running nod: %s; `nod restore`, start and first reply: %s.", backup.Round(time.Millisecond), restore.Round(time.Millisecond)))
}

// command runs the program with arguments, beside the one that may be running.
func (w *crashWorld) command(args ...string) {
	w.t.Helper()
	self, err := os.Executable()
	if err != nil {
		w.t.Fatal(err)
	}
	cmd := exec.Command(self)
	stdin, err := cmd.StdinPipe() // which a victim reads until we are gone
	if err != nil {
		w.t.Fatal(err)
	}
	defer stdin.Close()
	cmd.Args, cmd.Env = append([]string{"nod"}, args...), w.env
	if out, err := cmd.CombinedOutput(); err != nil {
		w.t.Errorf("nod %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}
