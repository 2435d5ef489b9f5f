package main

import (
	"regexp"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
)

// TestWhatIsLongOverIsDeleted: a day after it, the records of what was done before /new are deleted, and the present
// conversation goes on.
func TestWhatIsLongOverIsDeleted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.config = func(c *Config) { c.KeepDays = 1 }
		d := newDialog(t, w)
		w.start()
		d.play(`user> write it down
model> call write_file {"path":"a.txt","content":"a"}
bot< a.txt
press> ✅ Approve
model> say Written.
bot< Written.
user> /new
bot< fresh
wait 23h
user> remember the milk
model> say I do.
bot< I do.
wait 2h
user> what was it?
model> say The milk.
bot< The milk.
asked< remember the milk`)
		d.end()
		deleted := regexp.MustCompile(`deleted old records" of=(\w+) records=(\d+)`).FindAllString(w.logs.String(), -1)
		want := []string{`deleted old records" of=approvals records=1`, `deleted old records" of=calls records=1`, `deleted old records" of=conversations records=6`}
		if diff := cmp.Diff(want, deleted); diff != "" {
			t.Error(diff)
		}
		if strings.Contains(w.logs.String(), "deleting old records") {
			t.Error("it could not delete something")
		}
	})
}
