package bot

import (
	"errors"
	"log/slog"
	"sync"
	"time"

	"nod/agent"
	"nod/bot/outbox"
	"nod/bot/render"
	"nod/store"
	"nod/tools/plugins"
	"nod/tools/secrets"
)

// View shows people what happens: at most one progress message and one answer a turn, and cards. It folds the events of
// package agent and the requests of package approvals into items of the outbox, within the commits that make them true.
// What passes (previews, typing, reactions) it keeps in memory only.
type View struct {
	db     *store.DB
	out    *outbox.Outbox
	access Access
	masked *secrets.Redactor
	zone   *time.Location // of the times of day that people are told
	log    *slog.Logger
	look   func() plugins.Telegram
	mounts *Mounts

	mu    sync.Mutex
	turns map[store.TurnID]*turnView
}

// turnView is what is shown of one turn under way.
type turnView struct {
	turn   agent.Turn
	look   func() plugins.Telegram
	lines  []progressLine
	notice delayNotice
	typing func() // ends "typing…"; nil while it is not shown
	// preview is when the growing answer may be shown next; zero before its first words. shown says that it was.
	preview time.Time
	shown   bool
	wanted  bool // the outbox was asked to show a progress message
}

const (
	// firstPreview keeps an answer that is there in a moment from being shown in two steps.
	firstPreview = 700 * time.Millisecond
	// laterPreview is the same after calls, when words are more often the next comment than the answer: a preview makes
	// the sound of an answer.
	laterPreview = 2 * time.Second
	// nextPreview bounds how often a growing answer is rendered; the outbox sends still less often.
	nextPreview = 400 * time.Millisecond
)

// NewView wires a view. The redactor takes secrets out of what is shown while it is being written; what is kept in a
// transcript had them taken out before. Cards show what would run as it is: the person who decides must see it.
func NewView(db *store.DB, out *outbox.Outbox, redactor *secrets.Redactor, zone *time.Location, log *slog.Logger) *View {
	return &View{db: db, out: out, masked: redactor, zone: zone, log: log, look: func() (look plugins.Telegram) { return look }, turns: map[store.TurnID]*turnView{}}
}

func answerSlot(id store.TurnID) outbox.Slot { return outbox.Slot("turn/" + string(id) + "/answer") }

func progressSlot(id store.TurnID) outbox.Slot {
	return outbox.Slot("turn/" + string(id) + "/progress")
}

// Emit shows what stays. It implements agent.View.
func (v *View) Emit(tx *store.Tx, e agent.Event) error {
	if v.helper(tx, e) {
		return nil
	}
	switch e := e.(type) {
	case agent.TurnBegan:
		tx.OnCommit(func() { v.began(e) })
	case agent.Steered:
	case agent.Commented:
		return errors.Join(v.commented(tx, e), v.answers(tx))
	case agent.CallChanged:
		tx.OnCommit(func() { v.callChanged(e) })
	case agent.TurnAnswered:
		return errors.Join(v.answered(tx, e), v.answers(tx))
	case agent.TurnFailed:
		return v.failed(tx, e)
	case agent.TurnStopped:
		return v.brokenOff(tx, e.Turn, e.Partial, stoppedText(e))
	case agent.Compacted:
		return v.compacted(tx, e)
	case agent.JobReported:
		return v.say(tx, e.Address, jobHead(e.Title)+"\n"+e.Text, false)
	}
	return nil
}

func compactSlot(at store.Address) string { return "compact/" + at.String() }

// compacting answers /compact until its end is known, which compacted then says in the same message.
func (v *View) compacting(tx *store.Tx, at store.Address) error {
	return v.panel(tx, at, compactSlot(at), "🗜 The earlier conversation is being summarised…", nil, true)
}

func (v *View) compacted(tx *store.Tx, e agent.Compacted) error {
	if e.ByHand {
		return v.panel(tx, e.Session.Address, compactSlot(e.Session.Address), escapeMarkdown(compactedText(e)), nil, false)
	}
	return v.say(tx, e.Session.Address, compactedText(e), true)
}

// say puts a plain sentence in the outbox.
func (v *View) say(tx *store.Tx, to store.Address, text string, silent bool) error {
	return v.out.Put(tx, outbox.Item{To: to, HTML: render.Escape(text), Plain: text, Silent: silent})
}

// Show shows what passes. It implements agent.View.
func (v *View) Show(e agent.Event) {
	switch e := e.(type) {
	case agent.Streaming:
		v.streaming(e)
	case agent.Delayed:
		v.delayed(e)
	case agent.Progressed:
		v.progressed(e)
	case agent.Ending:
		v.ending(e)
	}
}

// ending takes "typing…" away before the answer is committed, so that none follows it.
func (v *View) ending(e agent.Ending) {
	v.mu.Lock()
	t := v.turnOf(e.Turn)
	stop := t.typing
	t.typing = nil
	v.mu.Unlock()
	if stop != nil {
		stop()
	}
}

func (v *View) began(e agent.TurnBegan) {
	v.mu.Lock()
	defer v.mu.Unlock()
	t := v.turnOf(e.Turn)
	for _, call := range e.Calls {
		t.note(call, e.Turn)
	}
	v.startTyping(t)
	if len(e.Calls) > 0 {
		v.progress(t)
	}
}

// turnOf is the state of a turn, made when it is first heard of. A sub-agent's is that of the turn above all, while there is
// one: what comes later is not shown.
func (v *View) turnOf(turn agent.Turn) *turnView {
	t := v.turns[turn.ID]
	if t == nil && turn.Nested() {
		if t = v.turns[turn.Top]; t == nil {
			return &turnView{turn: turn, look: v.look}
		}
	}
	if t == nil {
		t = &turnView{turn: turn, look: v.look}
	}
	v.turns[turn.ID] = t
	return t
}

// startTyping shows "typing…" until quiet.
func (v *View) startTyping(t *turnView) {
	if t.typing == nil && !t.turn.Unseen() {
		t.typing = v.out.Typing(t.turn.Address)
	}
}

// quiet ends "typing…" without waiting for a call that may be on its way.
func (t *turnView) quiet() {
	if t.typing != nil {
		go t.typing()
		t.typing = nil
	}
}

// streaming shows an answer as it grows, in the message that will hold it.
func (v *View) streaming(e agent.Streaming) {
	streaming := v.look().Streaming
	if streaming == plugins.StreamingOff {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	t, now := v.turnOf(e.Turn), time.Now()
	if t.preview.IsZero() {
		delay := firstPreview
		if len(t.lines) > 0 {
			delay = laterPreview
		}
		t.preview = now.Add(delay)
	}
	if now.Before(t.preview) {
		return
	}
	part := render.Preview(v.masked.Growing(e.Text))
	if part.Plain == "" {
		return
	}
	t.preview, t.shown = now.Add(nextPreview), true
	v.out.Preview(answerSlot(e.Turn.ID), e.Turn.Address, outbox.Content{
		HTML: part.HTML, Plain: part.Plain, ReplyTo: replyTo(e.Turn), Draft: streaming == plugins.StreamingDraft,
	})
}

// clock is a time of day as cards show it.
func (v *View) clock(t time.Time) string { return t.In(v.zone).Format("15:04") }
