package bot

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"nod/agent"
	"nod/approvals"
	"nod/bot/keyboard"
	"nod/bot/outbox"
	"nod/bot/render"
	"nod/store"
	"nod/tools"
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
			t.lines[i].far = " · " + clipRunes(shown, maxFar)
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
	return clipRunes(s, maxCommentary)
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
