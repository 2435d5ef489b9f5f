package approvals

import (
	"testing"

	"nod/store"
)

// A call that must be asked is asked whatever would let another one through, and can only be approved or rejected.
func TestSA12_MustAsk(t *testing.T) {
	r := newRig(t)
	r.update(func(tx *store.Tx) error {
		_, err := r.rules.Add(tx, Rule{
			Tool: "execute_cmd", Command: &CommandRule{Program: "ls"}, Dir: "/w", Action: ActionAllow, Priority: PriorityPerson,
		})
		return err
	})
	if got := r.judge(command("ls")).Verdict; got != Allow {
		t.Fatalf("the rule does not hold: %s", got)
	}
	host := command("ls")
	host.MustAsk = true
	if ruling := r.judge(host); ruling.Verdict != Ask {
		t.Errorf("got %s (%s) though a rule only", ruling.Verdict, ruling.Reason)
	}
	p := r.ask(host)
	for _, verb := range []Verb{VerbGrant15, VerbGrantSession, VerbAlways} {
		_, err := r.gate.Decide(p.ID, owner, Decision{Verb: verb})
		wantErr(t, err, ErrUnfit)
	}
	r.decide(p.ID, VerbApprove)
	if _, err := r.redeem(p.ID, host); err != nil {
		t.Errorf("an approval does not let it through: %v", err)
	}

	bypassed := newRig(t)
	bypassed.decide(bypassed.ask(command("first")).ID, VerbGrantSession)
	if ruling := bypassed.judge(host); ruling.Verdict != Ask {
		t.Errorf("got %s (%s) by a bypass", ruling.Verdict, ruling.Reason)
	}
	host.Paths = []Path{{Canonical: "/w/secrets/a"}}
	host.Tool = "read_file"
	if ruling := bypassed.judge(host); ruling.Verdict != Deny {
		t.Errorf("got %s (%s) for a denied call", ruling.Verdict, ruling.Reason)
	}
}

func TestApprovedNetwork(t *testing.T) {
	r := newRig(t)
	for _, rule := range []Rule{
		{Tool: "plain", Command: &CommandRule{Program: "ls"}, Dir: "/w", Action: ActionAllow},
		{Tool: "online", Command: &CommandRule{Program: "ls"}, Dir: "/w", Action: ActionAllow, Network: true},
	} {
		r.update(func(tx *store.Tx) error {
			_, err := r.rules.Add(tx, rule)
			return err
		})
	}
	let := func(change func(*Request)) bool {
		t.Helper()
		req := command("ls")
		change(&req)
		approved, ok := r.judge(req).Approved()
		if !ok {
			t.Fatalf("%s was not let through", req.Tool)
		}
		return approved.Network()
	}
	if let(func(q *Request) { q.Tool = "plain" }) {
		t.Error("a rule gives the network without saying so")
	}
	if !let(func(q *Request) { q.Tool = "online" }) {
		t.Error("a rule that says network gives none")
	}
	pressed := command("first")
	p := r.ask(pressed)
	r.decide(p.ID, VerbGrantSession)
	approved, err := r.redeem(p.ID, pressed)
	if err != nil || !approved.Network() {
		t.Errorf("a press gives no network: %v", err)
	}
	if let(func(*Request) {}) {
		t.Error("a bypass gives the network")
	}
	if (Approved{}).Network() {
		t.Error("no approval gives the network")
	}
}
