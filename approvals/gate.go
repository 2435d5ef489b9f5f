package approvals

import (
	"cmp"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"nod/store"
)

// Viewer makes requests visible, in the transaction that makes them true.
type Viewer interface {
	// ShowPending puts up the card of a new request.
	ShowPending(tx *store.Tx, p Pending) error
	// ClosePending takes the buttons off the card and says what became of the request. It may come a second time, when a
	// nod was withdrawn or expired before its call could run.
	ClosePending(tx *store.Tx, p Pending) error
}

// Options are what a gate can be told. The zero value of each field is its default.
type Options struct {
	TTL time.Duration // how long a request waits for a person; 24 h by default
	// BuiltInDeny names the paths that no rule, bypass or person opens, with the reason that the model is told.
	BuiltInDeny func(Path) (reason string, denied bool)
	Log         *slog.Logger // nothing is logged by default
}

const defaultTTL = 24 * time.Hour

// Gate decides what may run. Its methods may be called from any goroutine; those that take a transaction see and change
// the state of that transaction only.
type Gate struct {
	db      *store.DB
	rules   *Rules
	view    Viewer
	options Options
	changes bell
	hidden  hidden
}

// NewGate makes the gate of a database. There must be only one, since it wakes those who wait in the same process.
func NewGate(db *store.DB, rules *Rules, view Viewer, o Options) *Gate {
	o.TTL = cmp.Or(o.TTL, defaultTTL)
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	if o.BuiltInDeny == nil {
		o.BuiltInDeny = func(Path) (string, bool) { return "", false }
	}
	return &Gate{db: db, rules: rules, view: view, options: o}
}

// Verdict is what the gate says of a call.
type Verdict string

const (
	Allow Verdict = "allow"
	Ask   Verdict = "ask"
	Deny  Verdict = "deny"
)

// Ruling is a verdict with its reason. The zero value allows nothing.
type Ruling struct {
	Verdict  Verdict
	Reason   string // for the audit, and for the model when it is a denial
	byRule   bool   // a rule let it through
	network  bool   // of that rule
	approved Approved
}

// Approved is what the executor needs to run the call; ok only when the verdict is Allow.
func (r Ruling) Approved() (a Approved, ok bool) { return r.approved, r.Verdict == Allow }

// Judge says whether a call may run: built-in denies, then the first matching rule (a deny ends it), then, unless the call
// must be asked, what the run context opens, then that rule's allow, then bypasses. Everything else is asked, also when no
// rule matches or the rules can't be loaded, and every write of a turn that is not Attended, but for nod's own defaults,
// rules marked as Unattended and the run context of a job; what nobody may decide is denied. tx must be writable: a bypass
// records what it lets through.
func (g *Gate) Judge(tx *store.Tx, r Request) (Ruling, error) {
	digest, err := r.Digest()
	if err != nil {
		return Ruling{}, err
	}
	if r.Call == "" || r.Session == "" || r.Tool == "" {
		return Ruling{}, errors.New("judging a call: it has no id, no session or no tool")
	}
	ruling, err := g.judge(tx, r)
	switch {
	case err != nil:
		return Ruling{}, err
	case ruling.Verdict == Ask && !hasDecider(r):
		return Ruling{Verdict: Deny, Reason: "it needs approval, and there is nobody to ask (" + ruling.Reason + ")"}, nil
	case ruling.Verdict == Allow:
		ruling.approved = Approved{digest: digest, request: r, how: ruling.Reason, byRule: ruling.byRule, network: ruling.network}
	}
	return ruling, nil
}

func (g *Gate) judge(tx *store.Tx, r Request) (Ruling, error) {
	if reason, denied := g.builtIn(r); denied {
		return Ruling{Verdict: Deny, Reason: reason}, nil
	}
	rule, found, err := g.rules.first(tx, r)
	if err != nil {
		g.options.Log.Error("the rules can't be loaded, so everything asks", "err", err, "call", r.Call, "tool", r.Tool)
		return Ruling{Verdict: Ask, Reason: "the rules can't be loaded"}, nil
	}
	reason := rule.reason()
	switch {
	case !found:
		reason = "no rule speaks of it"
	case rule.Action == ActionDeny:
		return Ruling{Verdict: Deny, Reason: reason}, nil
	}
	if r.MustAsk {
		return Ruling{Verdict: Ask, Reason: "it is asked every time"}, nil
	}
	if g.opens(r) {
		return Ruling{Verdict: Allow, Reason: "the run context opens " + r.Paths[0].Shown}, nil
	}
	// The rule's allow is looked at before the bypasses, so that a bypass lists only what would have asked without it.
	if found && rule.Action == ActionAllow {
		why, ok := rule.lets(r)
		if ok {
			return Ruling{Verdict: Allow, Reason: reason, byRule: true, network: rule.Network}, nil
		}
		reason = why
	}
	grant, covered, err := g.bypass(tx, r)
	switch {
	case err != nil:
		return Ruling{}, err
	case covered:
		return Ruling{Verdict: Allow, Reason: grant.how()}, nil
	}
	return Ruling{Verdict: Ask, Reason: reason}, nil
}

func (g *Gate) builtIn(r Request) (string, bool) {
	for _, p := range r.Paths {
		if reason, denied := g.options.BuiltInDeny(p); denied {
			return reason, true
		}
	}
	return "", false
}

// opens says whether the run context lets a file tool touch all of its paths freely. Only file tools: what else a
// command does is not told by its paths. A job's context was given to that job, and so goes for its turns.
func (g *Gate) opens(r Request) bool {
	if len(r.Paths) == 0 || !g.rules.sets.has(FSAny, r.Tool) || !r.Attended() && r.Origin.Kind != FromJob {
		return false
	}
	return !slices.ContainsFunc(r.Paths, func(p Path) bool {
		open := func(folder string) bool { return matchPath(folder, p.Canonical, false) }
		return !slices.ContainsFunc(r.Context.Writes, open) && (p.Write || !slices.ContainsFunc(r.Context.Reads, open))
	})
}

func hasDecider(r Request) bool {
	return slices.ContainsFunc(r.Deciders, func(id store.UserID) bool { return id != 0 })
}

// bell wakes everybody who listens. The zero value is ready.
type bell struct {
	mu sync.Mutex
	ch chan struct{}
}

// listen must be called before looking at what ring announces.
func (b *bell) listen() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ch == nil {
		b.ch = make(chan struct{})
	}
	return b.ch
}

func (b *bell) ring() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ch != nil {
		close(b.ch)
		b.ch = nil
	}
}
