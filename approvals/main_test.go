package approvals

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"nod/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	owner    store.UserID = 11
	other    store.UserID = 22 // a second owner, who decides on his own cards
	stranger store.UserID = 99
)

// cards is a Viewer that remembers what it was told and can be made to fail.
type cards struct {
	mu            sync.Mutex
	shown, closed []Pending
	fail          error
}

func (c *cards) ShowPending(tx *store.Tx, p Pending) error  { return c.keep(tx, &c.shown, p) }
func (c *cards) ClosePending(tx *store.Tx, p Pending) error { return c.keep(tx, &c.closed, p) }

func (c *cards) keep(tx *store.Tx, where *[]Pending, p Pending) error {
	tx.OnCommit(func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		*where = append(*where, p)
	})
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.fail
}

func (c *cards) setFail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fail = err
}

func (c *cards) counts() (shown, closed int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.shown), len(c.closed)
}

var testSets = ToolSets{FSRead: {"read_file", "grep_files"}, FSWrite: {"write_file", "edit_file"}, Commands: {"execute_cmd"}}

// testSeeds are defaults like those that tools seeds.
func testSeeds() []Rule {
	return []Rule{
		{Priority: PriorityGuard, Tool: FSAny, Path: "/w/secrets", Action: ActionDeny, Note: "secrets stay unread"},
		{Tool: FSAny, Path: "/w/memory", Action: ActionAllow},
		{Tool: FSRead, Path: "/w", Action: ActionAllow},
		{Tool: "write_todos", Action: ActionAllow},
		{Tool: "execute_cmd", Action: ActionRequire},
		{Priority: PriorityCatchAll, Tool: "*", Action: ActionRequire},
	}
}

// rig is a gate on a real database.
type rig struct {
	*testing.T
	db    *store.DB
	rules *Rules
	gate  *Gate
	cards *cards
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := wire(t, store.OpenTest(t))
	r.update(r.rules.Seed)
	return r
}

// wire is what a start of the program does.
func wire(t *testing.T, db *store.DB) *rig {
	r := &rig{T: t, db: db, rules: NewRules(testSeeds(), testSets), cards: &cards{}}
	r.gate = NewGate(db, r.rules, r.cards, Options{BuiltInDeny: func(p Path) (string, bool) {
		return "that is nod's own home", p.Canonical == "/home/.nod/nod.db"
	}})
	return r
}

// reopen is a restart of the program on the same database.
func openAt(t *testing.T, path string) *store.DB {
	t.Helper()
	db, err := store.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return db
}

func tempDB(t *testing.T) string { return filepath.Join(t.TempDir(), "nod.db") }

func (r *rig) update(fn func(*store.Tx) error) {
	r.Helper()
	if err := r.db.Update(fn); err != nil {
		r.Fatal(err)
	}
}

func (r *rig) judge(req Request) Ruling {
	r.Helper()
	var ruling Ruling
	r.update(func(tx *store.Tx) (err error) {
		ruling, err = r.gate.Judge(tx, req)
		return err
	})
	return ruling
}

func (r *rig) ask(req Request) Pending {
	r.Helper()
	var p Pending
	r.update(func(tx *store.Tx) (err error) {
		p, err = r.gate.Ask(tx, Approval, req, nil, "")
		return err
	})
	return p
}

func (r *rig) decide(id store.ApprovalID, verb Verb) Pending {
	r.Helper()
	p, err := r.gate.Decide(id, owner, Decision{Verb: verb})
	if err != nil {
		r.Fatal(err)
	}
	return p
}

func (r *rig) get(id store.ApprovalID) (p Pending) {
	r.Helper()
	p, err := r.gate.look(id)
	if err != nil {
		r.Fatal(err)
	}
	return p
}

// redeem tries to spend a nod in a commit of its own.
func (r *rig) redeem(id store.ApprovalID, fresh Request) (a Approved, err error) {
	err = r.db.Update(func(tx *store.Tx) error {
		a, err = r.gate.Redeem(tx, id, fresh)
		return err
	})
	return a, err
}

func wantErr(t *testing.T, got, want error) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Fatalf("got error %v, want %v", got, want)
	}
}

// command is a call of execute_cmd in a person's turn.
func command(text string) Request {
	args, err := json.Marshal(map[string]string{"command": text})
	if err != nil {
		panic(err) // a string always marshals
	}
	return Request{
		Call: store.NewCallID(), Session: "s1", Turn: "t1", Agent: "main", Source: Telegram,
		Cards: store.Address{Chat: 11}, By: owner, Deciders: []store.UserID{owner},
		Tool: "execute_cmd", Category: "shell", Args: args,
		Subject:   Subject{Kind: Command, Text: text, Dir: "/w", Facts: []Fact{{Name: "dir", Value: "1:2"}}},
		UserWrite: true, Origin: Origin{Kind: FromPerson}, Program: &Program{Words: strings.Fields(text)},
	}
}

// file is a call of a file tool on one path.
func file(tool, name string, write bool) Request {
	r := command("")
	r.Tool, r.Category = tool, "filesystem"
	r.Args = json.RawMessage(`{"path":"x"}`)
	r.Subject = Subject{Kind: Arguments, Text: "x"}
	r.UserWrite, r.Program = write, nil
	r.Paths = []Path{{Canonical: name, Shown: filepath.Base(name), Write: write}}
	return r
}
