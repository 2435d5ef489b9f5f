package main

import (
	"fmt"
	"strings"
	"testing"
)

// TestSTOP1_TheAnswerToAStopIsOneMessage, however much waits: while a turn runs, and after a time without a connection. What it
// does not name is kept all the same.
func TestSTOP1_TheAnswerToAStopIsOneMessage(t *testing.T) {
	const many = 60
	chatter := ""
	for i := range many {
		chatter += fmt.Sprintf("user> wish %d: %s\n", i, strings.Repeat("ünd weiter ", 20))
	}
	for name, steps := range map[string]string{
		"a turn runs":     "user> hello\nmodel> sleep 5m\n  say never\ntyping<\n" + chatter + "wait 10s\nuser> /stop\nsoon< ⏹ Stopped.",
		"a backlog":       "stop\n" + chatter + "user> /stop\nwait 1m\nstart\nbot< ⏹ Stopped.",
		"a backlog, all":  "stop\n" + chatter + "user> /stop all\nwait 1m\nstart\nbot< ⏹ Stopped.",
		"many calls made": "user> hello\nmodel> " + strings.Repeat("call list_files {\"path\":\"a/folder/whose/name/is/too/long/to/be/shown/as/a/whole\"}\n  ", 90) + "\nmodel> sleep 5m\nasked< tool\nwait 10s\n" + chatter + "wait 10s\nuser> /stop\nsoon< ⏹ Stopped.",
	} {
		t.Run(name, func(t *testing.T) {
			story(t, func(d *dialog) {
				d.play(steps + "\nbot< … and\nwait 1m\nuser> go on\nmodel> say Fine.\nbot< Fine.\n" + fmt.Sprintf("asked< wish %d:", many-1))
				if shown := d.ann.Transcript(); strings.Contains(shown, "message.txt") {
					t.Errorf("the answer is a file:\n%s", shown)
				}
			})
		})
	}
}
