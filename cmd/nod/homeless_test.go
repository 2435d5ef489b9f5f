package main

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"nod/agent/llm/scripted"
	"nod/bot"
	"nod/store"
)

// TestAJobReportsToAnOwnerWhosePrivateChatIsNotKnown: it has the owner's own number. Without a chat the run could never end.
func TestAJobReportsToAnOwnerWhosePrivateChatIsNotKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.write("plan.md", "the plan\n")
		w.start()
		d := newDialog(t, w)
		d.play(`user> send me the plan every morning
model> call execute_task {"mode":"cron","title":"Plan","prompt":"Send the plan.","agent_id":"main","cron":"0 9 * * *"}
press> ✅ Approve
model> say I will.
bot< I will.
stop`)
		d.forgetChat(store.UserID(ann.ID))
		d.start()
		d.model.push(scripted.Call("send_attachment", map[string]any{"file_path": "plan.md"}), scripted.Say("There it is."))
		d.play("wait 9h\nbot< There it is.")
		if shown := d.ann.Transcript(); !strings.Contains(shown, "<document plan.md, 9 bytes>") {
			t.Errorf("the file is not there:\n%s", shown)
		}
		if names := d.lastOffer(); !slices.Contains(names, "send_attachment") {
			t.Errorf("it is offered %q", names)
		}
		d.end()
	})
}

// forgetChat takes a person's private chat out of the record. nod must not run.
func (d *dialog) forgetChat(id store.UserID) {
	d.t.Helper()
	db, err := store.Open(filepath.Join(d.home, "nod.db"))
	if err != nil {
		d.t.Fatal(err)
	}
	if err := db.Update(func(tx *store.Tx) error {
		p, err := bot.Access{}.Person(tx, id)
		if err != nil {
			return err
		}
		p.Private = 0
		return bot.Access{}.Put(tx, p)
	}); err != nil {
		d.t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		d.t.Fatal(err)
	}
}
