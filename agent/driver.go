package agent

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"nod/agent/llm"
	"nod/agent/prompt"
	"nod/agent/roster"
	"nod/approvals"
	"nod/scheduler"
	"nod/store"
	"nod/tools"
	"nod/tools/chat"
	"nod/tools/gallery"
)

// Model streams one answer; implemented by llm.Client.
type Model interface {
	Stream(ctx context.Context, r llm.Request, sink func(llm.Delta)) (llm.Answer, error)
	// Describe says what is known of a configured model; "" is the first.
	Describe(name string) llm.Model
	// Ratio is how many tokens the model counted for each that was estimated, lately.
	Ratio(name string) float64
}

// Config wires a Driver. All of it is needed but Ports and what says so.
type Config struct {
	DB        *store.DB
	Model     Model
	Registry  *tools.Registry
	Executor  *tools.Executor
	Gate      *approvals.Gate
	Rules     *approvals.Rules
	Jobs      *scheduler.Jobs
	View      View
	Prompt    *prompt.Builder
	Roster    *roster.Roster
	Workspace *tools.Workspace
	// Ports are what the calls of a conversation reach above the tools; asked anew each round. Agents is the driver's own.
	Ports func(tools.Scope) tools.Ports
	// Discovery, where there is one, is shown every offer.
	Discovery *tools.Discovery
	// Home says where reports go and who decides there.
	Home func(tx *store.Tx) (Home, error)
	Log  *slog.Logger
	// Mask takes secrets out of what goes into transcripts and requests; nil leaves texts as they are.
	Mask func(string) string
	// Rounds is how many answers of the model a turn may take; 0 means 30.
	Rounds   int
	Spending Spending
	// Contexts are the run contexts of nod.yaml, checked.
	Contexts []RunContext
}

// Home is where what no message asked for is reported, and who decides there.
type Home struct {
	Address  store.Address
	Deciders []store.UserID
}

const (
	defaultRounds = 30
	// finishTime is how long turns may go on by themselves when the program ends.
	finishTime = 5 * time.Second
	// idleTime is how long a session without work keeps its transcript in memory.
	idleTime = 10 * time.Minute
	// retryTime is the pause before a turn is tried again that could not be recorded.
	retryTime = 10 * time.Second
	// gatherTime bounds the wait for messages that are on their way, such as large files.
	gatherTime = time.Minute
)

// errShutdown ends turns when the program ends: they go on at the next start.
var errShutdown = errors.New("the program is ending")

// Driver finds or starts the session that a message, a press or a due job belongs to.
type Driver struct {
	Config

	process  string // names this process: turns that another began were cut off by a restart, whatever the clock says
	mu       sync.Mutex
	live     map[store.SessionID]*session
	expected map[store.SessionID]chan struct{} // more messages for them are on their way: closed once they came
	places   map[store.TurnID]chan struct{}    // of its sub-agents that work at a time
	ends     chan struct{}                     // closed and replaced when a turn ends
	noted    chan struct{}                     // a notification may wait
	ctx      context.Context                   // of all turns, while Run runs
	group    sync.WaitGroup
	draining bool
}

// NewDriver wires a driver. Nothing happens before Run.
func NewDriver(c Config) *Driver {
	if c.Rounds == 0 {
		c.Rounds = defaultRounds
	}
	if c.Ports == nil {
		c.Ports = func(tools.Scope) tools.Ports { return tools.Ports{} }
	}
	if c.Mask == nil {
		c.Mask = func(text string) string { return text }
	}
	return &Driver{
		Config: c, process: rand.Text(), live: map[store.SessionID]*session{}, expected: map[store.SessionID]chan struct{}{},
		places: map[store.TurnID]chan struct{}{}, ends: make(chan struct{}), noted: make(chan struct{}, 1),
	}
}

// Run resumes the turns that an earlier process left and drives sessions until ctx ends. Turns then have five seconds
// to come to an end by themselves; those that wait for a person are left at once.
func (d *Driver) Run(ctx context.Context) error {
	turnCtx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(errShutdown)
	d.mu.Lock()
	d.ctx = turnCtx
	d.mu.Unlock()
	err := d.resume()
	if err == nil {
		d.tell(ctx)
	}
	d.drain()
	cancel(errShutdown)
	d.group.Wait()
	return err
}

// drain lets turns finish, for as long as one of them is doing something.
func (d *Driver) drain() {
	d.mu.Lock()
	d.draining = true
	d.mu.Unlock()
	limit := time.NewTimer(finishTime)
	defer limit.Stop()
	for {
		changed := d.listen()
		s := d.working()
		if s == nil {
			return
		}
		select {
		case <-s.settled():
		case <-changed:
		case <-limit.C:
			return
		}
	}
}

// working is a session that does something, if there is one.
func (d *Driver) working() *session {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, s := range d.live {
		if d.works(s) {
			return s
		}
	}
	return nil
}

// works says whether a session does something else than wait for a person, itself or by sub-agents of which each is still
// at work.
func (d *Driver) works(s *session) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.quiet {
		return false
	}
	for id := range s.helpers {
		if child := d.live[id]; child == nil || !child.waits() {
			return true
		}
	}
	return s.calls == 0 || s.calls != s.asking+len(s.helpers)
}

// resume starts the sessions that have a turn under way or a compaction to come, and closes runs of jobs that have none.
func (d *Driver) resume() error {
	var waiting []store.SessionID
	err := d.DB.Update(func(tx *store.Tx) error {
		carried := map[store.RunID]bool{}
		err := sessions.Scan(tx, nil, func(id store.SessionID, s Session) (bool, error) {
			if s.Turn == "" {
				if s.Compact {
					waiting = append(waiting, id)
				}
				return true, nil
			}
			turn, _, err := turns.Get(tx, s.Turn)
			carried[turn.Run] = true
			if !s.Nested() || turn.State == Stopping { // a sub-agent goes on when its caller does
				waiting = append(waiting, id)
			}
			return true, err
		})
		if err != nil {
			return err
		}
		return d.interruptRuns(tx, carried)
	})
	if err != nil {
		return fmt.Errorf("reading what to resume: %w", err)
	}
	for _, id := range waiting {
		d.wake(id)
	}
	return nil
}

// wake makes sure that a session's goroutine runs and looks at what is new.
func (d *Driver) wake(id store.SessionID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ctx == nil || d.draining {
		return // what was committed is found by the next Run
	}
	s := d.live[id]
	if s == nil {
		s = newSession(d, id)
		d.live[id] = s
		d.group.Go(func() { s.run(d.ctx) })
	}
	s.poke()
}

// ending says whether the program is about to end, so that nothing new should begin.
func (d *Driver) ending() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.draining
}

// retire forgets a session that has been idle, unless it was woken meanwhile.
func (d *Driver) retire(s *session) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(s.wakeup) > 0 {
		return false
	}
	delete(d.live, s.id)
	return true
}

// Receipt says what became of a submitted message.
type Receipt string

const (
	Started Receipt = "started" // it began a turn
	Queued  Receipt = "queued"  // it enters the turn under way at its next round, or the turn after it
	Kept    Receipt = "kept"    // it waits for the next message, since it is from before a stop
	Ignored Receipt = "ignored" // an edit of a message whose turn is over, or is being stopped
)

// Submit files a person's message within the caller's commit: it begins a turn, joins the one under way, or is kept.
func (d *Driver) Submit(tx *store.Tx, in Input) (Receipt, error) {
	s, err := d.sessionAt(tx, in.Address)
	if err != nil {
		return "", err
	}
	d.expect(s.ID, in.More)
	if in.Held && !in.Edited {
		if _, err := store.Append(tx, mailboxes, s.ID, mail{Input: in, Held: true}); err != nil {
			return "", fmt.Errorf("keeping a message from before a stop: %w", err)
		}
		return Kept, nil
	}
	return d.enter(tx, s, in)
}

// enter files an input in a session.
func (d *Driver) enter(tx *store.Tx, s Session, in Input) (Receipt, error) {
	tx.OnCommit(func() {
		store.Failpoint("agent.submitted")
		d.wake(s.ID)
	})
	turn, busy, err := turns.Get(tx, s.Turn)
	if err != nil {
		return "", err
	}
	stopping := busy && turn.State == Stopping
	if in.Edited && (!busy || stopping || in.Held) {
		return reword(tx, s.ID, in)
	}
	if in.News == nil && !in.Edited {
		if err := gallery.Answered(tx, in.Address, in.From, in.said(!busy)); err != nil {
			return "", err
		}
	}
	if busy {
		if _, err := store.Append(tx, mailboxes, s.ID, mail{Input: in, Late: stopping && in.News == nil}); err != nil {
			return "", fmt.Errorf("queueing a message: %w", err)
		}
		return Queued, nil
	}
	kept, err := takeMail(tx, s.ID, in.News == nil)
	if err != nil {
		return "", err
	}
	return Started, d.begin(tx, &s, append(kept, in))
}

// begin opens a turn with these messages, in their order.
func (d *Driver) begin(tx *store.Tx, s *Session, inputs []Input) error {
	last := inputs[len(inputs)-1]
	where, err := d.contextAt(tx, s.Address)
	if err != nil {
		return err
	}
	turn := Turn{
		ID: store.NewTurnID(), Session: s.ID, Address: s.Address, Agent: s.Agent, Source: s.Source, State: Active,
		Process: d.process, Began: time.Now(), Origin: openedBy(inputs), By: last.From, ReplyTo: last.Message, Deciders: last.Deciders, Cards: last.Cards,
		Context: where,
	}
	for _, in := range inputs {
		if err := d.file(tx, s.ID, in, turn.ID); err != nil {
			return err
		}
	}
	return d.open(tx, s, turn)
}

// open files a new turn as its session's.
func (d *Driver) open(tx *store.Tx, s *Session, turn Turn) error {
	s.Turn = turn.ID
	if err := turns.Put(tx, turn.ID, turn); err != nil {
		return fmt.Errorf("beginning a turn: %w", err)
	}
	if err := sessions.Put(tx, s.ID, *s); err != nil {
		return fmt.Errorf("beginning a turn: %w", err)
	}
	return d.View.Emit(tx, TurnBegan{Turn: turn})
}

// sessionAt is the session of an address; the first message there makes it.
func (d *Driver) sessionAt(tx *store.Tx, at store.Address) (Session, error) {
	s, ok, err := SessionAt(tx, at)
	if err != nil || ok {
		return s, err
	}
	return newSessionAt(tx, at, "")
}

// SessionAt reads the session of an address, if there is one yet.
func SessionAt(tx *store.Tx, at store.Address) (Session, bool, error) {
	id, ok, err := addresses.Get(tx, at)
	if err != nil || !ok {
		return Session{}, false, err
	}
	return sessions.Get(tx, id)
}

func newSessionAt(tx *store.Tx, at store.Address, model string) (Session, error) {
	s := Session{ID: store.NewSessionID(), Address: at, Source: approvals.Telegram, Agent: MainAgent, Created: time.Now(), Model: model}
	if err := addresses.Put(tx, at, s.ID); err != nil {
		return s, fmt.Errorf("making a session: %w", err)
	}
	if err := sessions.Put(tx, s.ID, s); err != nil {
		return s, fmt.Errorf("making a session: %w", err)
	}
	return s, nil
}

// MainAgent is the id of the agent that people talk to.
const MainAgent = "main"

// Compact asks for a compaction of an address's session, once its turn is over; its end is told by a Compacted. It says
// false when there is no session yet.
func (d *Driver) Compact(tx *store.Tx, at store.Address) (bool, error) {
	s, ok, err := SessionAt(tx, at)
	if err != nil || !ok {
		return false, err
	}
	s.Compact = true
	if err := sessions.Put(tx, s.ID, s); err != nil {
		return false, fmt.Errorf("asking for a compaction: %w", err)
	}
	tx.OnCommit(func() { d.wake(s.ID) })
	return true, nil
}

// ResetTools puts away the lazy tools that an address's session has activated.
func (d *Driver) ResetTools(tx *store.Tx, at store.Address) error {
	s, ok, err := SessionAt(tx, at)
	if err != nil || !ok {
		return err
	}
	return chat.ResetGroups(tx, s.ID)
}

// ChooseModel makes a session use a configured model; "" goes back to the first.
func (d *Driver) ChooseModel(tx *store.Tx, at store.Address, name string) error {
	s, err := d.sessionAt(tx, at)
	if err != nil {
		return err
	}
	s.Model = name
	return sessions.Put(tx, s.ID, s)
}
