package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"nod/agent/llm/scripted"
	"nod/store"
)

// TestSA10_ARestoredBackupRunsNothingTwice takes a backup, lets what is under way in it happen, and puts the backup back:
// what it was about to do was done since, for all that it can know.
func TestSA10_ARestoredBackupRunsNothingTwice(t *testing.T) {
	write := scripted.Call("write_file", `{"path":"a.txt","content":"x"}`)
	tests := []struct {
		name           string
		before         func(d *dialog) // up to the backup
		lost, restored func(d *dialog) // what happens after it, and after its return
	}{
		{
			"a card that waited",
			func(d *dialog) {
				d.play("user> write it")
				d.model.push(write)
				d.play("bot< a.txt")
			},
			func(d *dialog) { d.play("press> ✅ Approve\nmodel> say \"Written.\"\nbot< Written.") },
			func(d *dialog) {
				d.play("bot< Stopped\nstale> ✅ Approve\nuser> hello\nmodel> say Hello.\nbot< Hello.")
			},
		},
		{
			"a bypass",
			func(d *dialog) {
				d.play("user> write it")
				d.model.push(scripted.Call("write_file", `{"path":"b.txt","content":"x"}`))
				d.play("press> 🔄 Session\nmodel> say \"Written.\"\nbot< Written.")
			},
			func(d *dialog) {
				d.play("user> another one")
				d.model.push(write)
				d.play("model> say \"Another one.\"\nbot< Another one.")
			},
			func(d *dialog) {
				d.play("user> another one")
				d.model.push(write)
				d.play("press> ❌ Reject\nmodel> say \"As you like.\"\nbot< As you like.")
			},
		},
		{
			"a job that was due",
			func(d *dialog) {
				d.play("user> every day at one")
				d.model.push(scripted.Call("execute_task", `{"mode":"cron","agent_id":"main","title":"Hourly","prompt":"write it","cron":"0 1 * * *"}`))
				d.play("press> ✅ Approve\nmodel> say \"It is set up.\"\nbot< It is set up.")
			},
			func(d *dialog) {
				d.play("wait 65m")
				d.model.push(write)
				d.play("press> ✅ Approve\nmodel> say \"The report.\"\nbot< The report.")
			},
			func(d *dialog) { d.play("bot< It may have run then\nwait 10m") },
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				d := newDialog(t, w)
				w.start()
				tt.before(d)
				d.settle()
				w.end()
				backup := w.backup()
				w.start()
				if tt.lost(d); w.read("a.txt") != "x" {
					t.Fatal("nothing happened after the backup")
				}
				d.settle()
				w.end()
				w.restore(backup)
				if err := os.Remove(filepath.Join(w.workspace, "a.txt")); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Minute)
				w.start()
				d.play("bot< A backup was restored")
				tt.restored(d)
				d.settle()
				if w.read("a.txt") == "x" {
					t.Errorf("it was done a second time:\n%s", w.ann.Transcript())
				}
				if n := w.model.left(); n != 0 {
					t.Errorf("%d answers of the model were not asked for", n)
				}
				d.play("restart")
				d.settle()
				if n := strings.Count(w.ann.Transcript(), "A backup was restored"); n != 1 {
					t.Errorf("the restore is told %d times", n)
				}
			})
		})
	}
}

// backup copies the database of a nod that is at rest.
func (w *world) backup() (path string) {
	w.t.Helper()
	db, err := store.Open(filepath.Join(w.home, databaseName))
	if err != nil {
		w.t.Fatal(err)
	}
	defer db.Close()
	path = filepath.Join(w.t.TempDir(), "backup.db")
	if err := db.Backup(path); err != nil {
		w.t.Fatal(err)
	}
	return path
}

func (w *world) restore(backup string) {
	w.t.Helper()
	if _, err := store.Restore(filepath.Join(w.home, databaseName), backup); err != nil {
		w.t.Fatal(err)
	}
}
