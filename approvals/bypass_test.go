package approvals

import (
	"encoding/json"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"nod/store"
)

func (r *rig) grants() (grants []Grant) {
	r.Helper()
	r.update(func(tx *store.Tx) (err error) {
		grants, err = r.gate.Grants(tx)
		return err
	})
	return grants
}

func TestSA12_BypassCovers(t *testing.T) {
	tests := []struct {
		name   string
		change func(*Request)
		want   Verdict
	}{
		{"the same category", func(q *Request) { q.Tool = "another_shell_tool" }, Allow},
		{"another category", func(q *Request) { q.Category = "config" }, Ask},
		{"no category", func(q *Request) { q.Category = "" }, Ask},
		{"another session", func(q *Request) { q.Session = "s2" }, Ask},
		{"a session of a like name", func(q *Request) { q.Session = "s" }, Ask},
		{"another person's turn", func(q *Request) { q.By = other; q.Deciders = []store.UserID{owner, other} }, Ask},
		{"a job", func(q *Request) { q.Source, q.By = Cron, 0 }, Ask},
		{"the giver decides no more", func(q *Request) { q.Deciders = []store.UserID{other} }, Ask},
		{"a call that no bypass covers", func(q *Request) { q.NoBypass = true }, Ask},
		{"a denied call", func(q *Request) { q.Paths = []Path{{Canonical: "/w/secrets/a"}}; q.Tool = "read_file" }, Deny},
	}
	r := newRig(t)
	r.decide(r.ask(command("first")).ID, VerbGrantSession)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			req := command("ls")
			test.change(&req)
			if ruling := r.judge(req); ruling.Verdict != test.want {
				t.Errorf("got %s (%s), want %s", ruling.Verdict, ruling.Reason, test.want)
			}
		})
	}
}

// A job's turns have a bypass for what only reads.
func TestBypassOfAJob(t *testing.T) {
	r := newRig(t)
	job := file("read_file", "/etc/hosts", false)
	job.Source, job.By, job.Session, job.Origin = Cron, 0, "job-session", Origin{Kind: FromJob, Name: "News"}
	job.Deciders = []store.UserID{owner, other}
	r.decide(r.ask(job).ID, VerbGrantSession)
	job.Call = store.NewCallID()
	if got := r.judge(job).Verdict; got != Allow {
		t.Errorf("got %s", got)
	}
	if got := r.judge(file("read_file", "/etc/hosts", false)).Verdict; got != Ask {
		t.Errorf("the owner's own session: got %s", got)
	}
}

func TestSA12_BypassListsItsUses(t *testing.T) {
	r := newRig(t)
	r.decide(r.ask(command("first")).ID, VerbGrant15)
	for i := range maxUses + 5 {
		r.judge(command(fmt.Sprint("ls ", i)))
	}
	todos := command("not a use")
	todos.Tool, todos.Subject.Kind = "write_todos", Arguments
	r.judge(todos)
	grants := r.grants()
	if len(grants) != 1 || grants[0].Count != maxUses+5 || len(grants[0].Uses) != maxUses {
		t.Fatalf("got %+v", grants)
	}
	want := Use{Tool: "execute_cmd", Text: fmt.Sprint("ls ", maxUses+4)}
	if diff := cmp.Diff(want, grants[0].Uses[maxUses-1], cmpopts.IgnoreFields(Use{}, "Call", "At")); diff != "" {
		t.Error(diff)
	}
	ruling := r.judge(command("ls"))
	approved, _ := ruling.Approved()
	if want := "bypass " + grants[0].ID + " for shell by user 11"; approved.How() != want {
		t.Errorf("got %q, want %q", approved.How(), want)
	}
}

func TestBypassEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		p := r.decide(r.ask(command("first")).ID, VerbGrant15)
		if grants := r.grants(); len(grants) != 1 || grants[0].ID != p.Gave {
			t.Fatalf("%v, and the decision gave %q", grants, p.Gave)
		}
		time.Sleep(15*time.Minute - time.Nanosecond)
		if got := r.judge(command("ls")).Verdict; got != Allow {
			t.Errorf("just before its end: %s", got)
		}
		time.Sleep(time.Nanosecond)
		if got := r.judge(command("ls")).Verdict; got != Ask {
			t.Errorf("at its end: %s", got)
		}
		if grants := r.grants(); len(grants) != 0 {
			t.Errorf("an ended bypass is listed: %v", grants)
		}

		r.decide(r.ask(command("second")).ID, VerbGrantSession)
		time.Sleep(1000 * time.Hour)
		if got := r.judge(command("ls")).Verdict; got != Allow {
			t.Errorf("for the session: %s", got)
		}
		r.update(func(tx *store.Tx) error { return r.gate.Revoke(tx, r.onlyGrant(tx)) })
		if got := r.judge(command("ls")).Verdict; got != Ask {
			t.Errorf("after its revocation: %s", got)
		}

		r.decide(r.ask(command("third")).ID, VerbGrantSession)
		r.update(func(tx *store.Tx) error { return r.gate.EndSession(tx, "s") })
		if got := r.judge(command("ls")).Verdict; got != Allow {
			t.Errorf("after the end of another session: %s", got)
		}
		r.update(func(tx *store.Tx) error { return r.gate.EndSession(tx, "s1") })
		if got := r.judge(command("ls")).Verdict; got != Ask {
			t.Errorf("after the end of its session: %s", got)
		}
	})
}

// TestBypassWhenTheClockIsSet: a clock that is set back lengthens no bypass, and one that is set forward ends it.
func TestBypassWhenTheClockIsSet(t *testing.T) {
	given := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	timed, lasting := Grant{Created: given, Until: given.Add(15 * time.Minute)}, Grant{Created: given}
	for jump, want := range map[time.Duration]bool{
		-24 * time.Hour: false, -2 * time.Minute: false, -5 * time.Second: true, 0: true, time.Minute: true, 15 * time.Minute: false, 24 * time.Hour: false,
	} {
		if got := timed.holds(given.Add(jump)); got != want {
			t.Errorf("%s: it holds: %v", jump, got)
		}
		if !lasting.holds(given.Add(jump)) {
			t.Errorf("%s: one for the session has ended", jump)
		}
	}
}

func (r *rig) onlyGrant(tx *store.Tx) string {
	r.Helper()
	grants, err := r.gate.Grants(tx)
	if err != nil || len(grants) != 1 {
		r.Fatalf("%d grants, %v", len(grants), err)
	}
	return grants[0].ID
}

// A use in a commit that fails has not happened.
func TestBypassUseRolledBack(t *testing.T) {
	r := newRig(t)
	r.decide(r.ask(command("first")).ID, VerbGrantSession)
	err := r.db.Update(func(tx *store.Tx) error {
		if _, err := r.gate.Judge(tx, command("ls")); err != nil {
			return err
		}
		return ErrUnfit
	})
	wantErr(t, err, ErrUnfit)
	if grants := r.grants(); grants[0].Count != 0 {
		t.Errorf("%d uses", grants[0].Count)
	}
}

func TestSA12_NoBypassButtons(t *testing.T) {
	for _, verb := range []Verb{VerbGrant15, VerbGrantSession} {
		r := newRig(t)
		restart := command("")
		restart.Tool, restart.NoBypass = "restart", true
		p := r.ask(restart)
		_, err := r.gate.Decide(p.ID, owner, Decision{Verb: verb})
		wantErr(t, err, ErrUnfit)
		if got := r.get(p.ID); !got.Open() {
			t.Errorf("%s: it is %s", verb, got.State)
		}
		if len(r.grants()) != 0 {
			t.Errorf("%s: a bypass was given", verb)
		}
	}
}

func TestSA12_AlwaysIsExact(t *testing.T) {
	r := newRig(t)
	first := command("git status")
	p := r.ask(first)
	decided := r.decide(p.ID, VerbAlways)
	if _, err := r.redeem(p.ID, first); err != nil {
		t.Errorf("♾ approves the call itself: %v", err)
	}
	tests := []struct {
		name   string
		change func(*Request)
		want   Verdict
	}{
		{"the same", func(*Request) {}, Allow},
		{"the same in another session, by another", func(q *Request) { q.Session, q.By, q.Deciders = "s2", other, []store.UserID{other} }, Allow},
		{"more of a command", func(q *Request) { *q = command("git status; rm -rf ~") }, Ask},
		{"a blank", func(q *Request) { *q = command("git status ") }, Ask},
		{"another folder", func(q *Request) { q.Subject.Dir = "/w/sub" }, Ask},
		{"another tool", func(q *Request) { q.Tool = "execute_cmd2" }, Ask},
		{"S-A8 another key", func(q *Request) { q.Args = json.RawMessage(`{"command":"git status","COMMAND":"rm"}`) }, Ask},
		{"S-A8 a key twice", func(q *Request) { q.Args = json.RawMessage(`{"command":"git status","command":"git status"}`) }, Ask},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			req := command("git status")
			test.change(&req)
			if ruling := r.judge(req); ruling.Verdict != test.want {
				t.Errorf("got %s (%s), want %s", ruling.Verdict, ruling.Reason, test.want)
			}
		})
	}
	r.update(func(tx *store.Tx) error { return r.rules.Delete(tx, decided.Gave) })
	if got := r.judge(command("git status")).Verdict; got != Ask {
		t.Errorf("after its revocation: %s", got)
	}
}

// A call without arguments must not become a rule without a condition when it is read back.
func TestSA12_AlwaysOfACallWithoutArguments(t *testing.T) {
	for _, args := range []string{"", "null", "{}"} {
		r := newRig(t)
		bare := command("")
		bare.Args, bare.Tool = json.RawMessage(args), "mcp__lamp__toggle"
		if args == "" {
			bare.Args = nil
		}
		r.decide(r.ask(bare).ID, VerbAlways)
		if got := r.judge(bare).Verdict; got != Allow {
			t.Errorf("args %q: got %s", args, got)
		}
		bare.Args = json.RawMessage(`{"force":true}`)
		if got := r.judge(bare).Verdict; got != Ask {
			t.Errorf("args %q cover others: %s", args, got)
		}
	}
}
