package approvals

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"nod/store"
)

func TestJudgeOrder(t *testing.T) {
	free := func(r Request) Request {
		r.Context = Context{Reads: []string{"/docs"}, Writes: []string{"/scratch"}}
		return r
	}
	grouped := func(r Request, group string) Request { r.Context.Group = group; return r }
	tests := []struct {
		name  string
		rules []Rule // beside the defaults
		grant bool   // a 🔄 for the call's category
		req   Request
		want  Verdict
	}{
		{"command asks", nil, false, command("ls"), Ask},
		{"unknown tool asks", nil, false, file("brand_new", "/w/a", false), Ask},
		{"read in the workspace", nil, false, file("read_file", "/w/a", false), Allow},
		{"read outside asks", nil, false, file("read_file", "/etc/passwd", false), Ask},
		{"write asks", nil, false, file("write_file", "/w/a", true), Ask},
		{"write to memory", nil, false, file("write_file", "/w/memory/a", true), Allow},
		{"write beside memory asks", nil, false, file("write_file", "/w/memoryevil", true), Ask},
		{"secrets denied", nil, false, file("read_file", "/w/secrets/a", false), Deny},
		{"secrets denied by a twisted path", nil, false, file("read_file", "/w/docs/../secrets/a", false), Deny},
		{"secrets denied under a bypass", nil, true, file("read_file", "/w/secrets/a", false), Deny},
		{"built-in deny", []Rule{{Priority: 999, Tool: "*", Agent: "main", Action: ActionAllow}}, true, file("read_file", "/home/.nod/nod.db", false), Deny},
		{"context reads", nil, false, free(file("read_file", "/docs/a", false)), Allow},
		{"context reads are not for writing", nil, false, free(file("write_file", "/docs/a", true)), Ask},
		{"context writes", nil, false, free(file("write_file", "/scratch/a", true)), Allow},
		{"context writes are readable", nil, false, free(file("read_file", "/scratch/a", false)), Allow},
		{"beside a context folder", nil, false, free(file("write_file", "/scratchevil/a", true)), Ask},
		{"context beats a require", []Rule{{Priority: 999, Tool: "*", Action: ActionRequire}}, false, free(file("write_file", "/scratch/a", true)), Allow},
		{"context does not beat a deny", []Rule{{Tool: "*", Path: "/scratch/a", Priority: 1, Action: ActionDeny}}, false, free(file("write_file", "/scratch/a", true)), Deny},
		{"context is for file tools", nil, false, free(file("execute_cmd", "/scratch/a", true)), Ask},
		{"bypass", nil, true, command("ls"), Allow},
		{"bypass beats a require of a person", []Rule{{Priority: 999, Tool: "execute_cmd", Action: ActionRequire}}, true, command("ls"), Allow},
		{"first rule by priority", []Rule{{Priority: 2, Tool: "execute_cmd", Action: ActionDeny}, {Priority: 3, Tool: "execute_cmd", Command: &CommandRule{Program: "ls"}, Dir: "/w", Action: ActionAllow}}, false, command("ls"), Allow},
		{"then by age", []Rule{{Priority: 2, Tool: "exec*", Action: ActionDeny}, {Priority: 2, Tool: "execute_cmd", Command: &CommandRule{Program: "ls"}, Dir: "/w", Action: ActionAllow}}, false, command("ls"), Deny},
		{"own group first", []Rule{{Priority: 999, Tool: "*", Agent: "main", Action: ActionAllow}, {Group: "tight", Tool: "*", Action: ActionDeny}}, false, grouped(command("ls"), "tight"), Deny},
		{"own group is silent", []Rule{{Group: "tight", Tool: "other", Action: ActionDeny}}, false, grouped(file("write_file", "/w/memory/a", true), "tight"), Allow},
		{"another group", []Rule{{Group: "tight", Priority: 999, Tool: "*", Action: ActionDeny}}, false, grouped(command("ls"), "loose"), Ask},
		{"source", []Rule{{Priority: 1, Tool: "*", Source: Cron, Action: ActionAllow}}, false, command("ls"), Ask},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := newRig(t)
			for _, rule := range test.rules {
				r.add(rule)
			}
			if test.grant {
				first := command("first")
				first.Category, first.Session = test.req.Category, test.req.Session
				r.decide(r.ask(first).ID, VerbGrantSession)
			}
			ruling := r.judge(test.req)
			if ruling.Verdict != test.want {
				t.Errorf("got %s because of %s, want %s", ruling.Verdict, ruling.Reason, test.want)
			}
			if ruling.Reason == "" {
				t.Error("a ruling needs a reason")
			}
			approved, ok := ruling.Approved()
			digest, err := test.req.Digest()
			if err != nil {
				t.Fatal(err)
			}
			if covers := approved.Covers(test.req.Call, digest) == nil; ok != (test.want == Allow) || covers != ok {
				t.Errorf("approved %v and covers %v for the verdict %s", ok, covers, ruling.Verdict)
			}
		})
	}
}

func TestDenialTellsWhy(t *testing.T) {
	r := newRig(t)
	got := r.judge(file("read_file", "/w/secrets/a", false)).Reason
	for _, want := range []string{"never allow reading or writing files in /w/secrets", "secrets stay unread"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q does not say %q", got, want)
		}
	}
	if got := r.judge(file("read_file", "/home/.nod/nod.db", false)).Reason; got != "that is nod's own home" {
		t.Error(got)
	}
}

func TestSA11_FailsClosed(t *testing.T) {
	t.Run("no decider", func(t *testing.T) {
		r := newRig(t)
		for _, deciders := range [][]store.UserID{nil, {}, {0}} {
			req := command("ls")
			req.Deciders = deciders
			if got := r.judge(req).Verdict; got != Deny {
				t.Errorf("deciders %v: got %s, want deny", deciders, got)
			}
			err := r.db.Update(func(tx *store.Tx) error {
				_, err := r.gate.Ask(tx, Approval, req, nil, "")
				return err
			})
			wantErr(t, err, ErrNobody)
		}
	})
	t.Run("rules that can't be loaded", func(t *testing.T) {
		r := newRig(t)
		r.decide(r.ask(command("first")).ID, VerbGrantSession)
		r.update(func(tx *store.Tx) error {
			return rulesTable.Put(tx, "bad", Rule{ID: "bad", Group: DefaultGroup, Tool: "write_todos", Action: "perhaps"})
		})
		todos := command("x")
		todos.Tool = "write_todos"
		open := file("read_file", "/docs/a", false)
		open.Context.Reads = []string{"/docs"}
		for _, req := range []Request{todos, command("ls"), open, file("write_file", "/w/memory/a", true)} {
			if got := r.judge(req).Verdict; got != Ask {
				t.Errorf("%s: got %s, want ask", req.Tool, got)
			}
		}
		if got := r.judge(file("read_file", "/home/.nod/nod.db", false)).Verdict; got != Deny {
			t.Errorf("what is denied without rules: got %s", got)
		}
	})
	t.Run("bypasses that can't be loaded", func(t *testing.T) {
		r := newRig(t)
		bad := store.NewTable[store.Text, string]("bypasses", store.ParseText[store.Text])
		r.update(func(tx *store.Tx) error { return bad.Put(tx, store.Join("s1", "x"), "no grant") })
		var ruling Ruling
		err := r.db.Update(func(tx *store.Tx) (err error) {
			ruling, err = r.gate.Judge(tx, command("ls"))
			return err
		})
		if _, ok := ruling.Approved(); err == nil || ok {
			t.Errorf("got %v and no error", ruling)
		}
	})
	t.Run("calls that are not whole", func(t *testing.T) {
		r := newRig(t)
		spoil := map[string]func(*Request){
			"no id":         func(q *Request) { q.Call = "" },
			"no session":    func(q *Request) { q.Session = "" },
			"no tool":       func(q *Request) { q.Tool = "" },
			"no JSON":       func(q *Request) { q.Args = json.RawMessage(`{"a":`) },
			"two documents": func(q *Request) { q.Args = json.RawMessage(`{} {}`) },
		}
		for name, fn := range spoil {
			req := file("write_file", "/w/memory/a", true)
			fn(&req)
			err := r.db.Update(func(tx *store.Tx) error {
				ruling, err := r.gate.Judge(tx, req)
				if _, ok := ruling.Approved(); ok {
					t.Errorf("%s: it was let through", name)
				}
				return err
			})
			if err == nil {
				t.Errorf("%s: no error", name)
			}
		}
	})
	t.Run("zero values", func(t *testing.T) {
		var approved Approved
		if approved.Covers("", "") == nil || approved.Covers("call", "digest") == nil {
			t.Error("an approval that no gate made covers something")
		}
		if _, ok := (Ruling{}).Approved(); ok {
			t.Error("a ruling that no gate made approves")
		}
	})
	t.Run("a card that can't be shown", func(t *testing.T) {
		r := newRig(t)
		broken := errors.New("no chat")
		r.cards.setFail(broken)
		req := command("ls")
		err := r.db.Update(func(tx *store.Tx) error {
			_, err := r.gate.Ask(tx, Approval, req, nil, "")
			return err
		})
		wantErr(t, err, broken)
		r.update(func(tx *store.Tx) error {
			if _, found, err := r.gate.Find(tx, req.Call); found || err != nil {
				t.Errorf("a request that nobody was shown is on record: %v %v", found, err)
			}
			return nil
		})
	})
	t.Run("a card that can't be closed", func(t *testing.T) {
		r := newRig(t)
		p := r.ask(command("ls"))
		broken := errors.New("no chat")
		r.cards.setFail(broken)
		_, err := r.gate.Decide(p.ID, owner, Decision{Verb: VerbGrantSession})
		wantErr(t, err, broken)
		if got := r.get(p.ID); got.State != Waiting {
			t.Errorf("it is %s, though the decision failed", got.State)
		}
		if got := r.judge(command("ls")).Verdict; got != Ask {
			t.Errorf("the bypass of a decision that failed holds: %s", got)
		}
	})
}

// A nod is not enough where a deny was added while the request waited.
func TestDenyAfterTheNod(t *testing.T) {
	r := newRig(t)
	req := command("ls")
	p := r.ask(req)
	r.decide(p.ID, VerbApprove)
	rule := r.add(Rule{Priority: PriorityGuard, Tool: "execute_cmd", Action: ActionDeny})
	_, err := r.redeem(p.ID, req)
	wantErr(t, err, ErrDenied)
	r.update(func(tx *store.Tx) error { return r.rules.Delete(tx, rule.ID) })
	if _, err := r.redeem(p.ID, req); err != nil {
		t.Errorf("a refusal must not spend the nod: %v", err)
	}
}
