package approvals

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"nod/store"
)

func TestAskTwice(t *testing.T) {
	r := newRig(t)
	req := command("ls")
	first, second := r.ask(req), r.ask(req)
	if diff := cmp.Diff(first.ID, second.ID); diff != "" {
		t.Errorf("the same question was put twice: %s", diff)
	}
	if shown, _ := r.cards.counts(); shown != 1 {
		t.Errorf("%d cards", shown)
	}
	// A crash between the nod and the run: asking again finds the nod.
	r.decide(first.ID, VerbApprove)
	if p := r.ask(req); p.ID != first.ID || !p.Approved() {
		t.Errorf("the nod was forgotten: %s %s", p.ID, p.State)
	}
}

func TestNOD7_AskAnewEndsTheEarlierRequest(t *testing.T) {
	for _, nodded := range []bool{false, true} {
		r := newRig(t)
		req := command("sh build.sh")
		req.Subject.Facts = []Fact{{Name: "build.sh", Value: "old"}}
		first := r.ask(req)
		if nodded {
			r.decide(first.ID, VerbApprove)
		}
		changed := req
		changed.Subject.Facts = []Fact{{Name: "build.sh", Value: "new"}}
		if nodded {
			_, err := r.redeem(first.ID, changed)
			wantErr(t, err, ErrChanged)
		}
		second := r.ask(changed)
		if got := r.get(first.ID); got.State != Withdrawn || got.Reason != "asked anew" {
			t.Errorf("the earlier request is %s: %s", got.State, got.Reason)
		}
		_, err := r.redeem(first.ID, req) // the file was changed back
		wantErr(t, err, ErrNotApproved)
		r.decide(second.ID, VerbApprove)
		if _, err := r.redeem(second.ID, changed); err != nil {
			t.Error(err)
		}
	}
}

func TestSA1_NodIsBoundToWhatWasShown(t *testing.T) {
	mutations := map[string]func(*Request){
		"call":          func(q *Request) { q.Call = store.NewCallID() },
		"session":       func(q *Request) { q.Session = "s2" },
		"tool":          func(q *Request) { q.Tool = "write_file" },
		"arguments":     func(q *Request) { q.Args = json.RawMessage(`{"command":"ls "}`) },
		"JSON":          func(q *Request) { q.Args = json.RawMessage(`{"command":"ls"`) },
		"S-A8 twice":    func(q *Request) { q.Args = json.RawMessage(`{"command":"ls","command":"ls"}`) },
		"S-A8 case":     func(q *Request) { q.Args = json.RawMessage(`{"command":"ls","COMMAND":"rm -rf ~"}`) },
		"path":          func(q *Request) { q.Paths = []Path{{Canonical: "/w/b", Shown: "a"}} },
		"shown path":    func(q *Request) { q.Paths = []Path{{Canonical: "/w/a", Shown: "b"}} },
		"write":         func(q *Request) { q.Paths = []Path{{Canonical: "/w/a", Shown: "a", Write: true}} },
		"more paths":    func(q *Request) { q.Paths = append(q.Paths[:1:1], Path{}) },
		"fewer paths":   func(q *Request) { q.Paths = nil },
		"bytes of path": func(q *Request) { q.Paths = []Path{{Canonical: "/w/a\xff", Shown: "a"}} },
		"kind":          func(q *Request) { q.Subject.Kind = Words },
		"text":          func(q *Request) { q.Subject.Text = "ls\u200b" },
		"folder":        func(q *Request) { q.Subject.Dir = "/w/sub" },
		"warning":       func(q *Request) { q.Subject.Warning = "careful" },
		"notes":         func(q *Request) { q.Subject.Notes = []string{"x"} },
		"fact":          func(q *Request) { q.Subject.Facts = []Fact{{Name: "dir", Value: "1:3"}} },
		"fact's name":   func(q *Request) { q.Subject.Facts = []Fact{{Name: "dur", Value: "1:2"}} },
		"no facts":      func(q *Request) { q.Subject.Facts = nil },
		"shifted parts": func(q *Request) { q.Subject.Text, q.Subject.Dir = "ls/", "w" },
	}
	r := newRig(t)
	req := command("ls")
	req.Paths = []Path{{Canonical: "/w/a", Shown: "a"}}
	p := r.ask(req)
	r.decide(p.ID, VerbApprove)
	for name, mutate := range mutations {
		t.Run(name, func(t *testing.T) {
			changed := req
			mutate(&changed)
			approved, err := r.redeem(p.ID, changed)
			if name != "JSON" {
				wantErr(t, err, ErrChanged)
			}
			if digest, _ := changed.Digest(); err == nil || approved.Covers(changed.Call, digest) == nil {
				t.Error("a changed call was let through")
			}
		})
	}
	approved, err := r.redeem(p.ID, req)
	if err != nil {
		t.Fatal(err)
	}
	digest, err := req.Digest()
	if err != nil {
		t.Fatal(err)
	}
	if err := approved.Covers(req.Call, digest); err != nil {
		t.Error(err)
	}
	wantErr(t, approved.Covers(store.NewCallID(), digest), ErrChanged)
	wantErr(t, approved.Covers(req.Call, string(p.ID)), ErrChanged)
}

// File names need not be UTF-8, and two that JSON can't tell apart are still two.
func TestDigestTellsBytesApart(t *testing.T) {
	digest := func(name string) string {
		q := file("read_file", name, false)
		q.Call = "c"
		d, err := q.Digest()
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	if digest("/w/\xff") == digest("/w/\xfe") {
		t.Error("two files have one digest")
	}
}

func TestSA10_NodIsSpentOnce(t *testing.T) {
	path := tempDB(t)
	r := wire(t, openAt(t, path))
	r.update(r.rules.Seed)
	req := command("ls")
	p := r.ask(req)
	_, err := r.redeem(p.ID, req)
	wantErr(t, err, ErrNotApproved) // nobody pressed yet

	if err := r.db.Close(); err != nil {
		t.Fatal(err)
	}
	r = wire(t, openAt(t, path)) // NOD-1: a press after a restart decides
	r.decide(p.ID, VerbApprove)
	if err := r.db.Close(); err != nil {
		t.Fatal(err)
	}
	r = wire(t, openAt(t, path))
	t.Cleanup(func() { r.db.Close() })
	approved, err := r.redeem(p.ID, req)
	if err != nil {
		t.Fatal(err)
	}
	if want := "approval " + string(p.ID) + ": approve by user 11"; approved.How() != want {
		t.Errorf("got %q, want %q", approved.How(), want)
	}
	_, err = r.redeem(p.ID, req)
	wantErr(t, err, ErrNotApproved)

	_, err = r.gate.Decide(p.ID, owner, Decision{Verb: VerbApprove})
	late, ok := errors.AsType[*DecidedError](err)
	if !ok || late.Pending.State != Used || late.Pending.By != owner {
		t.Errorf("a press on a used card: %v", err)
	}
	_, err = r.gate.Decide(store.NewApprovalID(), owner, Decision{Verb: VerbApprove})
	wantErr(t, err, ErrUnknown)
	_, err = r.redeem(store.NewApprovalID(), req)
	wantErr(t, err, ErrUnknown)
}

// A redemption in a commit that fails has not happened.
func TestRedeemRolledBack(t *testing.T) {
	r := newRig(t)
	req := command("ls")
	p := r.ask(req)
	r.decide(p.ID, VerbApprove)
	full := errors.New("disk full")
	err := r.db.Update(func(tx *store.Tx) error {
		if _, err := r.gate.Redeem(tx, p.ID, req); err != nil {
			return err
		}
		return full
	})
	wantErr(t, err, full)
	if got := r.get(p.ID); !got.Approved() {
		t.Errorf("it is %s", got.State)
	}
}

func TestNOD2_ADeadCardRunsNothing(t *testing.T) {
	t.Run("after /stop", func(t *testing.T) {
		r := newRig(t)
		req := command("ls")
		p := r.ask(req)
		other := command("other turn")
		other.Turn = "t2"
		r.ask(other)
		var closed []Pending
		r.update(func(tx *store.Tx) (err error) {
			closed, err = r.gate.Withdraw(tx, "t1", "stopped")
			return err
		})
		if len(closed) != 1 || closed[0].ID != p.ID || closed[0].State != Withdrawn {
			t.Errorf("closed %v", closed)
		}
		_, err := r.gate.Decide(p.ID, owner, Decision{Verb: VerbApprove})
		if late, ok := errors.AsType[*DecidedError](err); !ok || late.Pending.State != Withdrawn || late.Pending.Reason != "stopped" {
			t.Errorf("got %v", err)
		}
		_, err = r.redeem(p.ID, req)
		wantErr(t, err, ErrNotApproved)
		r.update(func(tx *store.Tx) error {
			waiting, err := r.gate.Waiting(tx)
			if len(waiting) != 1 || waiting[0].Request.Turn != "t2" {
				t.Errorf("still waiting: %v", waiting)
			}
			return err
		})
	})
	t.Run("pressed, then /stop before it ran", func(t *testing.T) {
		r := newRig(t)
		req := command("ls")
		p := r.ask(req)
		r.decide(p.ID, VerbApprove)
		r.update(func(tx *store.Tx) error {
			_, err := r.gate.Withdraw(tx, "t1", "stopped")
			return err
		})
		_, err := r.redeem(p.ID, req)
		wantErr(t, err, ErrNotApproved)
		if _, closed := r.cards.counts(); closed != 2 {
			t.Errorf("the card must tell the true state again: closed %d times", closed)
		}
	})
	t.Run("rejected", func(t *testing.T) {
		r := newRig(t)
		req := command("ls")
		p := r.ask(req)
		got, err := r.gate.Decide(p.ID, owner, Decision{Verb: VerbReject, Reason: "not now"})
		if err != nil || got.State != Rejected || got.Reason != "not now" || got.By != owner || got.Decided.IsZero() {
			t.Errorf("got %+v, %v", got, err)
		}
		_, err = r.redeem(p.ID, req)
		wantErr(t, err, ErrNotApproved)
	})
}

func TestNOD4_SA9_OnlyDecidersDecide(t *testing.T) {
	r := newRig(t)
	p := r.ask(command("ls"))
	for _, user := range []store.UserID{stranger, other, 0, -int64Max} {
		for _, verb := range []Verb{VerbApprove, VerbReject, VerbAlways, "nonsense"} {
			_, err := r.gate.Decide(p.ID, user, Decision{Verb: verb})
			wantErr(t, err, ErrNotYours)
		}
	}
	if got := r.get(p.ID); !got.Open() || got.By != 0 {
		t.Errorf("it is %s by %d", got.State, got.By)
	}
	r.decide(p.ID, VerbApprove)
	_, err := r.gate.Decide(p.ID, stranger, Decision{Verb: VerbReject})
	wantErr(t, err, ErrNotYours) // also of a decided card a stranger learns nothing
}

const int64Max = 1<<63 - 1

// A decider of 0, which a bug could write, is nobody.
func TestSA9_NobodyIsNoDecider(t *testing.T) {
	r := newRig(t)
	req := command("ls")
	req.Deciders = []store.UserID{0, owner}
	p := r.ask(req)
	_, err := r.gate.Decide(p.ID, 0, Decision{Verb: VerbApprove})
	wantErr(t, err, ErrNotYours)
}

func TestNOD9_TwoCardsDecideTheirOwn(t *testing.T) {
	r := newRig(t)
	one, two := command("one"), command("two")
	first, second := r.ask(one), r.ask(two)
	r.update(func(tx *store.Tx) error {
		waiting, err := r.gate.Waiting(tx)
		if len(waiting) != 2 {
			t.Errorf("%d wait", len(waiting))
		}
		return err
	})
	r.decide(second.ID, VerbApprove)
	if got := r.get(first.ID); !got.Open() {
		t.Errorf("the first is %s", got.State)
	}
	_, err := r.redeem(first.ID, one)
	wantErr(t, err, ErrNotApproved)
	_, err = r.redeem(second.ID, one)
	wantErr(t, err, ErrChanged)
	if _, err := r.redeem(second.ID, two); err != nil {
		t.Error(err)
	}
}

func TestDecideFitsTheKind(t *testing.T) {
	all := []Verb{VerbApprove, VerbReject, VerbGrant15, VerbGrantSession, VerbAlways, VerbAnswer, VerbAgain, VerbSkip, ""}
	for kind, verbs := range outcomes {
		for _, verb := range all {
			t.Run(string(kind)+" "+string(verb), func(t *testing.T) {
				r := newRig(t)
				var q *Question
				if kind == Asked {
					q = &Question{Title: "Which?", Text: "one or two"}
				}
				var p Pending
				r.update(func(tx *store.Tx) (err error) {
					p, err = r.gate.Ask(tx, kind, command("ls"), q, "")
					return err
				})
				got, err := r.gate.Decide(p.ID, owner, Decision{Verb: verb, Answer: "two"})
				want, fits := verbs[verb]
				if !fits {
					wantErr(t, err, ErrUnfit)
					if p := r.get(p.ID); !p.Open() {
						t.Errorf("it is %s", p.State)
					}
					return
				}
				if err != nil || got.State != want || got.Verb != verb {
					t.Errorf("got %s, %v, want %s", got.State, err, want)
				}
				if diff := cmp.Diff(got, r.get(p.ID)); diff != "" {
					t.Errorf("what was told is not what is on record: %s", diff)
				}
			})
		}
	}
}

func TestRECV1_ADecisionAndTheEndOfItsUpdateAreOneCommit(t *testing.T) {
	r := newRig(t)
	p := r.ask(command("ls"))
	broken := errors.New("the update's row can't be deleted")
	_, err := r.gate.Decide(p.ID, owner, Decision{Verb: VerbReject}, func(*store.Tx) error { return broken })
	wantErr(t, err, broken)
	if p := r.get(p.ID); !p.Open() {
		t.Errorf("it is %s, though its update was not ended", p.State)
	}
	ended := 0
	end := func(*store.Tx) error { ended++; return nil }
	for range 2 {
		if _, err = r.gate.Decide(p.ID, owner, Decision{Verb: VerbReject}, end); ended != 1 {
			t.Errorf("ended %d times", ended)
		}
	}
	if _, late := errors.AsType[*DecidedError](err); !late {
		t.Errorf("the second decision: %v", err)
	}
}

func TestEmptyAnswerIsNone(t *testing.T) {
	r := newRig(t)
	var p Pending
	r.update(func(tx *store.Tx) (err error) {
		p, err = r.gate.Ask(tx, Asked, command("ls"), &Question{Text: "?"}, "")
		return err
	})
	_, err := r.gate.Decide(p.ID, owner, Decision{Verb: VerbAnswer})
	wantErr(t, err, ErrUnfit)
}

func TestAskNeedsTheRightQuestion(t *testing.T) {
	r := newRig(t)
	for _, kind := range []Kind{Approval, Asked, Interrupted, "other"} {
		var q *Question
		if kind != Asked {
			q = &Question{}
		}
		err := r.db.Update(func(tx *store.Tx) error {
			_, err := r.gate.Ask(tx, kind, command("ls"), q, "")
			return err
		})
		if err == nil {
			t.Errorf("%s: taken", kind)
		}
	}
}

// 🔁 is a nod for a new call that is the same as the interrupted one, and for nothing else.
func TestRunAgain(t *testing.T) {
	r := newRig(t)
	req := command("make deploy")
	p := r.ask(req)
	r.decide(p.ID, VerbApprove)
	if _, err := r.redeem(p.ID, req); err != nil {
		t.Fatal(err)
	}
	var again Pending
	r.update(func(tx *store.Tx) (err error) {
		again, err = r.gate.Ask(tx, Interrupted, req, nil, "it had begun")
		return err
	})
	if again.ID == p.ID || !again.Expires.IsZero() {
		t.Errorf("request %s expires at %s", again.ID, again.Expires)
	}
	r.decide(again.ID, VerbAgain)
	anew := req
	anew.Call = store.NewCallID()
	drifted := anew
	drifted.Subject.Text = "make undeploy"
	_, err := r.redeem(again.ID, drifted)
	wantErr(t, err, ErrChanged)
	approved, err := r.redeem(again.ID, anew)
	if err != nil {
		t.Fatal(err)
	}
	digest, err := anew.Digest()
	if err != nil {
		t.Fatal(err)
	}
	if err := approved.Covers(anew.Call, digest); err != nil {
		t.Error(err)
	}
	_, err = r.redeem(again.ID, anew)
	wantErr(t, err, ErrNotApproved)
}

func TestWait(t *testing.T) {
	r := newRig(t)
	p := r.ask(command("ls"))
	type result struct {
		p   Pending
		err error
	}
	results := make(chan result)
	for range 3 {
		go func() {
			p, err := r.gate.Wait(t.Context(), p.ID)
			results <- result{p, err}
		}()
	}
	r.ask(command("unrelated"))
	r.decide(p.ID, VerbReject)
	for range 3 {
		if got := <-results; got.err != nil || got.p.State != Rejected {
			t.Errorf("got %s, %v", got.p.State, got.err)
		}
	}
	if got, err := r.gate.Wait(t.Context(), p.ID); err != nil || got.State != Rejected {
		t.Errorf("waiting for what is over: %s, %v", got.State, err)
	}
	_, err := r.gate.Wait(t.Context(), store.NewApprovalID())
	wantErr(t, err, ErrUnknown)

	stopped := errors.New("stopped")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(stopped)
	_, err = r.gate.Wait(ctx, r.ask(command("more")).ID)
	wantErr(t, err, stopped)
}

func TestFind(t *testing.T) {
	r := newRig(t)
	req := command("ls")
	p := r.ask(req)
	r.update(func(tx *store.Tx) error {
		got, found, err := r.gate.Find(tx, req.Call)
		if !found || got.ID != p.ID {
			t.Errorf("found %v: %s", found, got.ID)
		}
		if err != nil {
			return err
		}
		_, found, err = r.gate.Find(tx, store.NewCallID())
		if found {
			t.Error("found a request of a call that has none")
		}
		return err
	})
}

// Drop closes what can come to nothing any more, once, and leaves what has been decided as it is.
func TestNOD2_Drop(t *testing.T) {
	tests := []struct {
		name   string
		verb   Verb
		want   State
		closed int
	}{
		{"waiting", "", Withdrawn, 1},
		{"approved, not redeemed", VerbApprove, Withdrawn, 2},
		{"rejected", VerbReject, Rejected, 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := newRig(t)
			p := r.ask(command("ls"))
			if test.verb != "" {
				r.decide(p.ID, test.verb)
			}
			for range 2 {
				r.update(func(tx *store.Tx) error { return r.gate.Drop(tx, p.Request.Call, "the call is over") })
			}
			if got := r.get(p.ID); got.State != test.want || (got.State == Withdrawn) != (got.Reason == "the call is over") {
				t.Errorf("it is %s: %q", got.State, got.Reason)
			}
			if _, closed := r.cards.counts(); closed != test.closed {
				t.Errorf("its card was closed %d times, want %d", closed, test.closed)
			}
			r.update(func(tx *store.Tx) error { return r.gate.Drop(tx, "no such call", "") })
		})
	}
}
