package outbox

import (
	"context"
	"fmt"
	"hash/crc32"
	"time"

	tg "github.com/go-telegram/bot"

	"nod/store"
)

// preview is the state of a slot whose message changes while an answer grows. Outbox.mu guards it.
type preview struct {
	to      store.Address
	want    *Content  // the newest that is not shown yet
	first   time.Time // when it was first wanted
	last    time.Time // when it was last sent or edited
	plain   bool      // its formatting was refused
	noDraft bool      // drafts were refused
	useless bool      // not shown any more: its message is gone or not known
}

// Preview shows c in the slot's message, or sends that message, as soon as the pace allows. Only the newest content of a
// slot counts, and it is forgotten when an item for the slot is committed, or when Run ends; before Run it waits for it.
func (o *Outbox) Preview(s Slot, to store.Address, c Content) {
	o.mu.Lock()
	defer o.mu.Unlock()
	l := o.lane(to.Chat)
	if l == nil || s == "" {
		return
	}
	p := l.previews[s]
	if p == nil {
		p = &preview{to: to, first: time.Now()}
		l.previews[s] = p
	}
	if !p.useless {
		p.want = &c
		signal(l.woken)
	}
}

// duePreview returns the preview that is due first and when.
func (l *lane) duePreview() (s Slot, due time.Time, ok bool) {
	l.o.mu.Lock()
	defer l.o.mu.Unlock()
	for slot, p := range l.previews {
		if p.want == nil {
			continue
		}
		at := p.first
		if !p.last.IsZero() {
			at = p.last.Add(previewEvery(l.chat < 0, p.last.Sub(p.first)))
		}
		if !ok || at.Before(due) {
			s, due, ok = slot, at, true
		}
	}
	return s, due, ok
}

// takePreview takes a preview's content to show it; false when an item overtook it.
func (l *lane) takePreview(s Slot, now time.Time) (p *preview, c Content, ok bool) {
	l.o.mu.Lock()
	defer l.o.mu.Unlock()
	p = l.previews[s]
	if p == nil || p.want == nil {
		return nil, c, false
	}
	c, p.want, p.last = *p.want, nil, now
	return p, c, true
}

func (l *lane) stepPreview(ctx context.Context, now time.Time) (wait time.Duration, work bool) {
	s, due, ok := l.duePreview()
	if !ok {
		return 0, false
	}
	if wait := max(due.Sub(now), l.wait(now, true)); wait > 0 {
		return wait, true
	}
	message, _, err := l.slot(s)
	if err != nil {
		l.o.log.Error("reading a slot", "chat", l.chat, "err", err)
		l.backOff(0)
		return 0, true
	}
	p, c, ok := l.takePreview(s, now)
	if !ok {
		return 0, true
	}
	it := Item{To: p.to, Slot: s, HTML: c.HTML, Plain: c.Plain, Keyboard: c.Keyboard, ReplyTo: c.ReplyTo, Silent: c.Silent}
	if message != 0 && l.showsAlready(&it) {
		return 0, true
	}
	l.attempt = attempt{}
	if c.Draft && !p.noDraft && message == 0 && l.chat > 0 {
		_, v := l.guard(func() (store.MessageID, verdict) { return 0, l.draft(ctx, &it, fix{plain: p.plain}) })
		l.judgePreview(p, c, true, v)
		return 0, true
	}
	sent, v := l.guard(func() (store.MessageID, verdict) { return l.call(ctx, &it, message, fix{plain: p.plain}) })
	l.remember(&it, v)
	if sent != 0 {
		store.Failpoint("outbox.previewed")
		l.save(settlement{row: row{item: it}, message: sent})
	}
	l.judgePreview(p, c, message != 0, v)
	return 0, true
}

// judgePreview draws the consequences for later previews of the slot. A message of unknown fate is not sent again: the
// item that follows will be.
func (l *lane) judgePreview(p *preview, c Content, exists bool, v verdict) {
	l.o.mu.Lock()
	defer l.o.mu.Unlock()
	switch {
	case v.class == done:
		return
	case v.class == later || v.class == unknown && exists:
		l.backOff(1)
		if v.wait > 0 {
			l.hold = time.Now().Add(v.wait)
		}
	case v.class == badMarkup && !p.plain:
		p.plain = true
	case c.Draft && !p.noDraft:
		p.noDraft = true
		l.o.log.Warn("drafts are refused; messages are edited instead", "chat", l.chat, "err", v.err)
	default:
		p.useless, p.want = true, nil
		l.o.log.Warn("preview given up", "chat", l.chat, "class", v.class.String(), "err", v.err)
		return
	}
	if p.want == nil {
		p.want = &c
	}
}

// draft shows an item as a draft, which lasts for 30 seconds or until a message is sent (core.telegram.org/bots/api#sendmessagedraft).
func (l *lane) draft(ctx context.Context, it *Item, f fix) verdict {
	l.pace.take(time.Now())
	ctx, cancel := bounded(ctx, callTime)
	defer cancel()
	text, mode := form(it, f)
	_, err := l.o.client.SendMessageDraft(ctx, &tg.SendMessageDraftParams{
		ChatID: int64(it.To.Chat), MessageThreadID: threadOf(it, f), DraftID: draftID(it.Slot), Text: text, ParseMode: mode,
	})
	return change(err)
}

// draftID tells the drafts of a chat apart; it is never 0, which Telegram refuses.
func draftID(s Slot) string { return fmt.Sprint(crc32.ChecksumIEEE([]byte(s)) | 1) }
