package bot

import (
	"errors"
	"slices"
	"strings"

	"nod/agent"
	"nod/bot/keyboard"
	"nod/bot/outbox"
	"nod/bot/render"
	"nod/store"
)

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
