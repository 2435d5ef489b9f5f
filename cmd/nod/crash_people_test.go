package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"nod/bot/emulator"
)

// crashPerson is an owner who writes, presses and waits, whatever becomes of nod meanwhile.
type crashPerson struct {
	*emulator.Person
	w       *crashWorld
	user    emulator.User
	name    string
	sent    []string        // errands
	pressed map[string]bool // by callback data: a button is pressed once, however often its card is shown

	approved map[string]bool // errands whose command was let through
	stopped  map[string]bool // errands that were stopped
	repeats  map[string]int  // errands by how often "Run again" was pressed
	skips    int             // interrupted calls that were skipped, or repeated
	patient  bool            // leaves interrupted calls alone
	answers  int             // questions that were answered
	commands int             // to the bot: /stop and /compact
	cards    []int           // messages on which buttons were pressed
	lost     []string        // errands, commands and presses that nothing came of

	eager bool  // taps twice, and comes back to buttons that were pressed
	taps  []tap // what was pressed, in order
	stale int   // how many of them were pressed once more since
}

// tap is a button that was pressed, with all presses of it.
type tap struct {
	message int
	data    string
	presses []*emulator.Press
}

// tap presses a button, whatever has become of its card.
func (p *crashPerson) tap(at *tap) {
	at.presses = append(at.presses, p.PressData(at.message, at.data))
}

// honoured counts the presses of it to which nod answered that something comes of them; to those that come late it says
// what was decided, and when.
func (t tap) honoured() (n int) {
	now, cancel := context.WithCancel(context.Background())
	cancel()
	for _, press := range t.presses {
		a, err := press.Answer(now)
		if err == nil && slices.Contains([]string{"Approved", "Running it again", "Skipped", ""}, a.Text) { // "" is an answer to a question
			n++
		}
	}
	return n
}

func newCrashPerson(w *crashWorld, name string, user emulator.User) *crashPerson {
	return &crashPerson{
		Person: w.telegram.Private(user), w: w, user: user, name: name,
		pressed: map[string]bool{}, approved: map[string]bool{}, stopped: map[string]bool{}, repeats: map[string]int{},
	}
}

// say sends a new errand of a kind, and gives it back.
func (p *crashPerson) say(kind string) string {
	errand := fmt.Sprintf("%s-%s-%dx", kind, p.name, len(p.sent)+1)
	p.sent = append(p.sent, errand)
	p.SendText(errand)
	return errand
}

// until reacts to cards until ok says true; it says false when ctx ends before.
func (p *crashPerson) until(ctx context.Context, ok func() bool) bool {
	return p.w.telegram.Wait(ctx, func() bool {
		p.react()
		return ok()
	}) == nil
}

// perform has an errand done.
func (p *crashPerson) perform(ctx context.Context, kind string) {
	if kind == errandPack {
		p.compact(ctx)
		return
	}
	errand := p.say(kind)
	if kind == errandStop {
		p.stop(ctx, errand)
		return
	}
	p.awaitDone(ctx, errand)
	if kind == errandTask && !p.until(ctx, func() bool { return p.told(errand) > 0 }) {
		p.lost = append(p.lost, "the result of "+errand)
	}
}

// told counts the answers that tell of a task's result, or of a notification. One that came once more after a kill is the
// same answer.
func (p *crashPerson) told(errand string) int {
	answers := map[string]bool{}
	for _, m := range p.Messages() {
		if _, told, is := strings.Cut(m.Shown(), "told: "); is && m.From.IsBot && slices.Contains(errandForm.FindAllString(told, -1), errand) {
			answers[m.Shown()] = true
		}
	}
	return len(answers)
}

// awaitDone waits for the answer that names the errand.
func (p *crashPerson) awaitDone(ctx context.Context, errand string) {
	if !p.until(ctx, func() bool { return p.answersTo(errand) > 0 }) {
		p.lost = append(p.lost, errand)
	}
}

// stop waits until an errand's command was let through, and says /stop.
func (p *crashPerson) stop(ctx context.Context, errand string) {
	p.patient, p.stopped[errand] = true, true
	defer func() { p.patient = false }()
	if !p.until(ctx, func() bool { return p.approved[errand] }) {
		p.lost = append(p.lost, errand)
		return
	}
	p.commands++
	asked := p.SendText("/stop")
	stopped := func(m emulator.Message) bool { return m.ID > asked.ID && strings.Contains(m.Shown(), "Stopped") }
	if !p.until(ctx, func() bool { return slices.ContainsFunc(p.Messages(), stopped) }) {
		p.lost = append(p.lost, "/stop of "+errand)
	}
}

// compact says /compact and waits to be told how it went.
func (p *crashPerson) compact(ctx context.Context) {
	p.commands++
	asked := p.SendText("/compact")
	told := func(m emulator.Message) bool {
		text := m.Shown()
		return m.ID > asked.ID && (strings.Contains(text, "replaced by a summary") || strings.Contains(text, "Not compacted"))
	}
	if !p.until(ctx, func() bool { return slices.ContainsFunc(p.Messages(), told) }) {
		p.lost = append(p.lost, fmt.Sprint("/compact of ", p.name))
	}
}

// answersTo counts the final answers that name an errand.
func (p *crashPerson) answersTo(errand string) (n int) {
	for _, m := range p.Messages() {
		if text := m.Shown(); m.From.IsBot && strings.HasPrefix(text, "done: ") && slices.Contains(errandForm.FindAllString(text, -1), errand) {
			n++
		}
	}
	return n
}

// duplicates counts the final answers that came once more. Each names its errands, so no two are the same by chance.
func (p *crashPerson) duplicates() (n int) {
	seen := map[string]bool{}
	for _, m := range p.Messages() {
		if text := m.Shown(); m.From.IsBot && strings.HasPrefix(text, "done: ") {
			if seen[text] {
				n++
			}
			seen[text] = true
		}
	}
	return n
}

// toldInterrupted says whether a card told that the errand's call was interrupted.
func (p *crashPerson) toldInterrupted(errand string) bool {
	return slices.ContainsFunc(p.Messages(), func(m emulator.Message) bool {
		text := m.Shown()
		return strings.Contains(text, "Interrupted") && slices.Contains(errandForm.FindAllString(text, -1), errand)
	})
}

// Buttons.
const (
	approveButton = "✅ Approve"
	skipButton    = "⏭ Skip"
	againButton   = "🔁 Run again"
	yesButton     = "yes"
)

// everySixth of the interrupted calls is run again; the others are skipped, so that a second run is always a fault.
const everySixth = 6

// react presses what the cards in the chat ask for.
func (p *crashPerson) react() {
	for _, m := range p.Messages() {
		if m.Keyboard == nil {
			continue
		}
		errand := errandForm.FindString(m.Shown())
		for _, row := range m.Keyboard.Rows {
			for _, b := range row {
				p.consider(m, b, errand)
			}
		}
	}
}

func (p *crashPerson) consider(m emulator.Message, b emulator.Button, errand string) {
	switch b.Text {
	case approveButton:
		if p.press(m, b) {
			p.approved[errand] = true
		}
	case againButton:
		if !p.patient && !p.pressed[b.Data] && p.skips%everySixth == everySixth-1 && p.press(m, b) {
			p.skips++
			p.repeats[errand]++
		}
	case skipButton:
		// Its neighbour comes first: where that was pressed, this is too late and changes nothing.
		if !p.patient && !p.pressed[twin(m, againButton)] && p.press(m, b) {
			p.skips++
		}
	case yesButton:
		p.answer(m, b)
	}
}

// twin is the data of another button of the message.
func twin(m emulator.Message, label string) string {
	for _, row := range m.Keyboard.Rows {
		for _, b := range row {
			if b.Text == label {
				return b.Data
			}
		}
	}
	return ""
}

// press presses a button that was not pressed before.
func (p *crashPerson) press(m emulator.Message, b emulator.Button) bool {
	if p.pressed[b.Data] {
		return false
	}
	press, err := p.PressOn(m.ID, b.Data)
	if err != nil {
		return false // the card was closed at this very moment
	}
	p.pressed[b.Data] = true
	p.cards = append(p.cards, m.ID)
	made := tap{m.ID, b.Data, []*emulator.Press{press}}
	if p.eager {
		p.tap(&made)
	}
	p.taps = append(p.taps, made)
	return true
}

// pressAgain presses the oldest button that was not pressed again yet, if there is one.
func (p *crashPerson) pressAgain() bool {
	if !p.eager || p.stale == len(p.taps) {
		return false
	}
	p.tap(&p.taps[p.stale])
	p.stale++
	return true
}

// openCards lists the cards that still show buttons after they were decided.
func (p *crashPerson) openCards() (open []string) {
	for _, m := range p.Messages() {
		if m.Keyboard != nil && len(m.Keyboard.Rows) > 0 && slices.Contains(p.cards, m.ID) {
			open = append(open, m.Shown())
		}
	}
	return open
}

// answer answers a question: with its button, in writing, or as a reply, by turns.
func (p *crashPerson) answer(m emulator.Message, b emulator.Button) {
	if p.pressed[b.Data] {
		return
	}
	text := fmt.Sprint(answerMark, " ", p.answers)
	switch p.answers % 3 {
	case 0:
		if !p.press(m, b) {
			return
		}
	case 1:
		p.SendText(text)
	case 2:
		p.SendText(text, emulator.ReplyTo(m.ID))
	}
	p.pressed[b.Data] = true
	p.answers++
}

// live has a person do one errand after the other until busy ends; the last is seen through, which may take as long as
// limit allows.
func (p *crashPerson) live(ctx, busy context.Context, kinds []string, limit time.Duration) {
	for i := 0; busy.Err() == nil; i++ {
		patience, cancel := context.WithCancel(ctx)
		stop := context.AfterFunc(busy, func() { time.AfterFunc(limit, cancel) })
		if i%2 == 1 {
			p.pressAgain() // nod has mostly been killed since
		}
		kind := kinds[i%len(kinds)]
		if i%3 == 2 && kind != errandStop && kind != errandPack { // a second message while the first is being seen to
			first := p.say(kind)
			p.perform(patience, errandSay)
			p.awaitDone(patience, first)
		} else {
			p.perform(patience, kind)
		}
		stop()
		cancel()
	}
}
