package approvals

import (
	"encoding/json"
	"errors"
	"testing"

	"nod/store"
)

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
