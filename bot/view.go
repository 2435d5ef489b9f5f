package bot

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-telegram/bot/models"

	"nod/agent"
	"nod/approvals"
	"nod/bot/keyboard"
	"nod/bot/outbox"
	"nod/bot/render"
	"nod/store"
	"nod/tools"
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

// progressLine is one line of a progress message: a call, or what the model said between calls. A call's line is empty,
// and not shown, until the call begins.
type progressLine struct {
	call  store.CallID
	html  string
	text  string
	waits bool         // for a person: a card tells of it
	run   store.CallID // of the record that runs; "" when none does
	far   string       // how far it is
	file  keyboard.File
	// Of a sub-agent's call: the one that began it, how deep it is, and whether it is shown no more.
	under  store.CallID
	depth  int
	folded bool
}

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

// delayed tells in the progress message why nothing happens.
func (v *View) delayed(e agent.Delayed) {
	v.mu.Lock()
	defer v.mu.Unlock()
	t := v.turnOf(e.Turn)
	t.notice = noticeOf(e.Notice)
	v.progress(t)
}

// maxFar bounds what is shown of a call's progress, in characters.
const maxFar = 80

// progressed shows how far a call is. While it waits for an answer nobody is typing but the person.
func (v *View) progressed(e agent.Progressed) {
	v.mu.Lock()
	defer v.mu.Unlock()
	t := v.turns[e.Turn.ID]
	switch {
	case t == nil: // it comes late
		return
	case e.Progress.Text == "" && e.Progress.Asking:
		t.quiet()
		return
	case e.Progress.Text == "":
		v.startTyping(t)
		return
	}
	for i := range t.lines {
		if t.lines[i].run == e.Progress.Call {
			shown, _ := render.Visible(e.Progress.Text)
			if r := []rune(shown); len(r) > maxFar {
				shown = string(r[:maxFar-1]) + "…"
			}
			t.lines[i].far = " · " + shown
			v.progress(t)
		}
	}
}

// commented moves what was said before calls into the progress message, and keeps a line for each of the calls, so that
// they stand in their order. A preview that showed the text as an answer is taken back.
func (v *View) commented(tx *store.Tx, e agent.Commented) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	t := v.turnOf(e.Turn)
	if t.shown {
		if err := v.out.Put(tx, outbox.Item{To: e.Turn.Address, Slot: answerSlot(e.Turn.ID), Kind: outbox.Delete}); err != nil {
			return err
		}
	}
	tx.OnCommit(func() {
		v.mu.Lock()
		defer v.mu.Unlock()
		t.preview, t.shown, t.notice.now = time.Time{}, false, ""
		if said := firstLine(render.Preview(e.Text).Plain); said != "" {
			t.lines = append(t.lines, progressLine{html: "<i>" + render.Escape(said) + "</i>", text: said})
		}
		for _, id := range e.Calls {
			t.lines = append(t.lines, progressLine{call: id})
		}
		v.progress(t)
	})
	return nil
}

// maxCommentary bounds what is shown of commentary, in characters.
const maxCommentary = 200

func firstLine(s string) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	if r := []rune(s); len(r) > maxCommentary {
		return string(r[:maxCommentary-1]) + "…"
	}
	return s
}

func (v *View) callChanged(e agent.CallChanged) {
	v.mu.Lock()
	defer v.mu.Unlock()
	t := v.turnOf(e.Turn)
	t.notice.now = ""
	t.note(e.Call, e.Turn)
	if e.Call.State == tools.AwaitingApproval {
		t.quiet()
	} else {
		v.startTyping(t)
	}
	v.progress(t)
}

// quietTools are the ones whose calls people see in another way, or need not see.
var quietTools = []string{tools.AskUserClarification}

// note adds a call's line, or changes the one it has.
func (t *turnView) note(call tools.Execution, turn agent.Turn) {
	if slices.Contains(quietTools, call.Tool) {
		return
	}
	id := call.Call
	if call.Repeats != "" {
		id = call.Repeats
	}
	label, _ := render.Visible(t.labelOf(call))
	if turn.Nested() {
		label = turn.Agent + ": " + label
	}
	line := progressLine{
		call:  id,
		html:  stateIcon(call.State) + " " + labelHTML(label),
		text:  stateIcon(call.State) + " " + label,
		waits: call.State == tools.AwaitingApproval,
		file:  fileOfCall(call),
	}
	if call.State == tools.Running {
		line.run = call.Call
	}
	if turn.Nested() {
		line.under, line.depth = turn.Call, turn.Depth
	}
	for i := range t.lines {
		if t.lines[i].call == id {
			t.lines[i] = line
			return
		}
	}
	t.insert(line)
}

// labelHTML shows what stands between backticks as code.
func labelHTML(label string) string {
	head, rest, ok := strings.Cut(label, "`")
	if !ok || !strings.HasSuffix(rest, "`") {
		return render.Escape(label)
	}
	return render.Escape(head) + render.Code(strings.TrimSuffix(rest, "`"))
}

// filled are the lines that have something to show.
func (t *turnView) filled() []progressLine {
	lines := make([]progressLine, 0, len(t.lines))
	for _, l := range t.lines {
		if l.text != "" && !l.folded {
			lines = append(lines, l)
		}
	}
	return newest(lines)
}

// maxLines is how many lines a progress message has: what is older is counted.
const maxLines = 12

// content is the progress message as it should look now.
func (t *turnView) content() outbox.Content {
	if t.untold() {
		return outbox.Content{}
	}
	lines := t.filled()
	var html, plain []string
	if more := len(lines) - maxLines; more > 0 {
		earlier := fmt.Sprintf("… %d earlier", more)
		html, plain = append(html, earlier), append(plain, earlier)
		lines = lines[more:]
	}
	if t.turn.JobTitle != "" {
		head := jobHead(t.turn.JobTitle)
		html, plain = append(html, render.Escape(head)), append(plain, head)
	}
	for _, l := range lines {
		html, plain = append(html, l.html+render.Escape(l.far)), append(plain, l.text+l.far)
	}
	if notice := cmp.Or(t.notice.now, t.notice.later); notice != "" {
		html, plain = append(html, render.Escape(notice)), append(plain, notice)
	}
	return outbox.Content{HTML: strings.Join(html, "\n"), Plain: strings.Join(plain, "\n"), Silent: true}
}

// progress shows the progress message, at the pace that the outbox allows. Jobs show none until they ask for something,
// and what only waits for a person has its card.
func (v *View) progress(t *turnView) {
	if c := t.content(); !t.turn.Unseen() && t.moves() {
		t.wanted = true
		v.out.Preview(progressSlot(t.turn.ID), t.turn.Address, c)
	}
}

// moves says whether there is more to show than calls that wait for a person.
func (t *turnView) moves() bool {
	if t.untold() {
		return false
	}
	return t.notice.now != "" || slices.ContainsFunc(t.lines, func(l progressLine) bool { return l.text != "" && !l.waits })
}

// beforeCard has the progress message shown above the first card of its turn rather than below.
func (v *View) beforeCard(tx *store.Tx, p approvals.Pending) error {
	v.mu.Lock()
	var c outbox.Content
	slot := progressSlot(p.Request.Turn)
	if t := v.turns[p.Request.Turn]; t != nil && t.turn.Address == p.Request.Cards && !t.turn.Unseen() && t.moves() {
		c, slot = t.content(), progressSlot(t.turn.ID)
	}
	v.mu.Unlock()
	if _, shown, err := v.out.Slot(tx, slot); err != nil || shown || c.Plain == "" {
		return err
	}
	return v.out.Put(tx, outbox.Item{To: p.Request.Cards, Slot: slot, HTML: c.HTML, Plain: c.Plain, Silent: true})
}

// replyTo is the message that answers reply to: in groups the one that asked, in private chats none.
func replyTo(turn agent.Turn) store.MessageID {
	if turn.Address.Chat > 0 {
		return 0
	}
	return turn.ReplyTo
}

// answered puts the answer and the last state of the progress message in the outbox.
func (v *View) answered(tx *store.Tx, e agent.TurnAnswered) error {
	if e.Text == "" {
		tx.OnCommit(func() { v.forget(e.Turn) })
		return nil
	}
	return v.close(tx, e.Turn, v.answerItems(e.Turn, e.Text)...)
}

// answerItems renders an answer: in the message that previewed it, in more where it is long, as a file where it is very long.
func (v *View) answerItems(turn agent.Turn, text string) []outbox.Item {
	if turn.JobTitle != "" {
		text = jobReport(turn) + text
	}
	parts, asFile := render.Answer(text)
	handle := ""
	if asFile {
		var err error
		// Where no file can be sent, the messages are many, but nothing of the answer is lost.
		if handle, err = v.keepAnswer(turn.Address.Chat, text); err != nil {
			v.log.Warn("a long answer goes as messages", "turn", turn.ID, "err", err)
			parts, asFile = render.Parts(text), false
		}
	}
	if len(parts) == 0 {
		parts = []render.Part{{HTML: render.Escape(emptyAnswer), Plain: emptyAnswer}}
	}
	var items []outbox.Item
	for i, p := range parts {
		it := outbox.Item{To: turn.Address, HTML: p.HTML, Plain: p.Plain, Silent: i > 0}
		if i == 0 {
			it.Slot, it.ReplyTo = answerSlot(turn.ID), replyTo(turn)
		}
		items = append(items, it)
	}
	if len(items) == 1 && !asFile && v.look().Rich && showsRich(text) {
		items[0].Rich = text
	}
	if !asFile {
		return items
	}
	items[0].HTML += "\n\n<i>" + render.Escape(wholeInFile) + "</i>"
	items[0].Plain += "\n\n" + wholeInFile
	return append(items, outbox.Item{To: turn.Address, Kind: outbox.Upload, Silent: true, File: &outbox.File{Handle: handle, Name: "answer.md"}})
}

// keepAnswer keeps a long answer for sending as a file.
func (v *View) keepAnswer(chat store.ChatID, text string) (handle string, err error) {
	if v.mounts != nil && !v.mounts.can(chat) {
		return "", errors.New("no files can be sent there")
	}
	return v.out.Keep("answer.md", strings.NewReader(text), int64(len(text)))
}

// brokenOff says why a turn has no answer, or below the beginning of one why it has no more.
func (v *View) brokenOff(tx *store.Tx, turn agent.Turn, partial, text string) error {
	if partial == "" {
		return v.ended(tx, turn, text)
	}
	items := v.answerItems(turn, strings.TrimRight(partial, " \n")+" …")
	return v.close(tx, turn, append(items, outbox.Item{To: turn.Address, HTML: render.Escape(text), Plain: text, Silent: true})...)
}

// ended closes a turn that has no answer.
func (v *View) ended(tx *store.Tx, turn agent.Turn, text string) error {
	switch {
	case turn.JobTitle != "":
		text = jobHead(turn.JobTitle) + "\n" + text
	case turn.Task != "":
		text = taskHead(turn.Task) + "\n" + text
	}
	return v.close(tx, turn, outbox.Item{
		To: turn.Address, Slot: answerSlot(turn.ID), HTML: render.Escape(text), Plain: text, ReplyTo: replyTo(turn),
	})
}

// close puts a turn's last messages in the outbox, and leaves the progress message in its last state, with buttons that
// fetch the files it names. One that was not shown yet comes before them; one that has nothing left to tell goes.
func (v *View) close(tx *store.Tx, turn agent.Turn, last ...outbox.Item) error {
	v.mu.Lock()
	var c outbox.Content
	wanted := false
	var files []keyboard.File
	if t := v.turns[turn.ID]; t != nil && !turn.Unseen() {
		t.notice.now = ""
		if turn.State == agent.Failed { // what went wrong is told by itself
			t.notice.later = ""
		}
		c, wanted, files = t.content(), t.wanted, t.touched()
	}
	v.mu.Unlock()
	tx.OnCommit(func() { v.forget(turn) })
	_, shown, err := v.out.Slot(tx, progressSlot(turn.ID))
	if err != nil {
		return err
	}
	progress := outbox.Item{To: turn.Address, Slot: progressSlot(turn.ID), HTML: c.HTML, Plain: c.Plain, Silent: true}
	if len(files) > 0 {
		progress.Keyboard = keyboard.Files(files)
	}
	switch {
	case c.Plain == "" || !shown && turn.State == agent.Stopped: // what tells of a stop names the calls itself
		if progress.Kind = outbox.Delete; wanted {
			last = append(last, progress)
		}
	case shown:
		progress.Kind = outbox.Edit
		last = append(last, progress)
	default:
		last = slices.Insert(last, 0, progress)
	}
	return v.out.Put(tx, last...)
}

func (v *View) forget(turn agent.Turn) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.drop(turn.ID)
}

// drop forgets a turn, and with the turn above all what is left of its sub-agents'.
func (v *View) drop(id store.TurnID) {
	t := v.turns[id]
	delete(v.turns, id)
	if t == nil || t.turn.ID != id {
		return
	}
	t.quiet()
	for other, view := range v.turns {
		if view == t {
			delete(v.turns, other)
		}
	}
}

// Greet tells the owner something at the start.
func (v *View) Greet(markdown string) error {
	return v.db.Update(func(tx *store.Tx) error {
		at, _, err := v.access.Home(tx)
		if err != nil {
			return err
		}
		return v.reply(tx, at, 0, markdown, nil)
	})
}

// Trouble tells the owner that Telegram has been out of reach, or is there again; it arrives when it can.
func (v *View) Trouble(text string, over bool) {
	sign := "⚠️ "
	if over {
		sign = "✓ "
	}
	err := v.db.Update(func(tx *store.Tx) error { return v.sayHome(tx, sign+text, over) })
	if err != nil {
		v.log.Error("telling the owner of trouble", "err", err)
	}
}

// Restored tells the owner what a restore means, in the commit that sees to it.
func (v *View) Restored(tx *store.Tx) error { return v.sayHome(tx, restoredText, false) }

// Gap tells the owner that what was sent between two times may be lost.
func (v *View) Gap(tx *store.Tx, from, to time.Time) error {
	return v.sayHome(tx, gapText(from.In(v.zone), to.In(v.zone)), false)
}

// UpdateLost tells a person whose message could not be handled, in the commit that gives it up.
func (v *View) UpdateLost(tx *store.Tx, group []models.Update) {
	m := group[0].Message
	if m == nil || m.From == nil {
		return
	}
	p, err := v.access.Person(tx, store.UserID(m.From.ID))
	if err == nil && (p.Role == Owner || p.Role == Guest) {
		err = v.say(tx, addressOf(m), lostText, false)
	}
	if err != nil {
		v.log.Error("telling of a message that could not be handled", "update", group[0].ID, "err", err)
	}
}

// clock is a time of day as cards show it.
func (v *View) clock(t time.Time) string { return t.In(v.zone).Format("15:04") }
