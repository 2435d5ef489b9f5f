package main

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing/synctest"
	"time"

	"nod/agent/llm/scripted"
	"nod/bot/emulator"
)

var stepForm = regexp.MustCompile(`(?s)^([a-z]+)([><!]?) ?(.*)$`)

func (d *dialog) step(step string) {
	d.t.Helper()
	m := stepForm.FindStringSubmatch(step)
	if m == nil {
		d.t.Fatalf("no step: %q", step)
	}
	verb, text := m[1]+m[2], d.expand(m[3])
	if d.happens(verb, text) || d.shows(verb, text) || d.acts(verb, text) {
		return
	}
	switch verb {
	case "model>":
		reply, err := scripted.ParseReply(text)
		if err != nil {
			d.t.Fatal(err)
		}
		d.model.push(reply)
	case "for>":
		only, steps, _ := strings.Cut(text, "\n")
		reply, err := scripted.ParseReply(steps)
		if err != nil {
			d.t.Fatal(err)
		}
		d.model.answerOnly(only, func(scripted.Request) scripted.Reply { return reply })
	case "press>":
		d.notice = d.press(d.actor(), text).Text
	case "reply>":
		d.own = d.actor().SendText(text, emulator.ReplyTo(d.newest())).ID
	case "edit>":
		if err := d.actor().Edit(d.own, text); err != nil {
			d.t.Fatal(err)
		}
	case "forward>":
		d.actor().SendText(text, emulator.ForwardedFrom(emulator.User{ID: 999, FirstName: "Mallory"}, time.Now()))
	default:
		if m[2] != ">" {
			d.t.Fatalf("no step: %q", step)
		}
		sent := d.at(m[1]).SendText(text)
		if m[1] == d.who {
			d.own = sent.ID
		}
	}
}

// happens takes the steps that change the circumstances.
func (d *dialog) happens(verb, text string) bool {
	d.t.Helper()
	switch verb {
	case "as":
		d.known(text)
		d.who = text
	case "in":
		d.move(text)
	case "hears", "speaks", "draws", "slow", "mute":
		d.media(verb, text)
	case "restrict":
		d.groups[d.where].Restrict(ann, false)
	case "unrestrict":
		d.groups[d.where].Return(ann)
	case "files":
		d.groups[d.where].Permit(text == "on")
	case "supergroup":
		d.groups[d.where] = d.groups[d.where].Migrate()
	case "wait":
		d.wait(text)
	case "stop":
		d.end()
	case "start":
		d.start()
	case "restart", "restarts":
		if verb == "restarts" {
			d.until("nod to restart itself", func() bool { return d.alive.Err() != nil })
		}
		d.end()
		d.start()
	case "down", "up":
		d.model.refuse(d.refusal(verb, text))
	case "fault":
		d.fault(strings.Fields(text))
	default:
		return false
	}
	return true
}

// shows takes the steps that look at what others have done.
func (d *dialog) shows(verb, text string) bool {
	d.t.Helper()
	switch verb {
	case "bot<":
		d.sees(d.actor(), text)
	case "bot!":
		d.settle()
		if shown := d.actor().Transcript(); strings.Contains(shown, text) {
			d.t.Errorf("the bot shows %q:\n%s", text, shown)
		}
	case "notice<":
		if !strings.Contains(d.notice, text) {
			d.t.Errorf("the press was answered with %q, want %q", d.notice, text)
		}
	case "terminal<":
		d.until(fmt.Sprintf("the terminal to show %q", text), func() bool { return strings.Contains(d.terminal.String(), text) })
	case "asked<":
		d.asked(text)
	case "asked!":
		d.settle()
		if d.hasAsked(text) {
			d.t.Errorf("a request to the model contains %q", text)
		}
	default:
		return false
	}
	return true
}

// newest is the bot's newest message with buttons, or else its newest.
func (d *dialog) newest() (id int) {
	d.t.Helper()
	buttons := false
	for _, m := range d.actor().Messages() {
		if m.From == nil || !m.From.IsBot {
			continue
		}
		has := m.Keyboard != nil && len(m.Keyboard.Labels()) > 0
		if has || !buttons {
			id, buttons = m.ID, buttons || has
		}
	}
	return id
}

// asked waits until a request to the model contains a text.
func (d *dialog) asked(text string) {
	d.t.Helper()
	d.until(fmt.Sprintf("a request to the model that contains %q", text), func() bool { return d.hasAsked(text) })
}

func (d *dialog) hasAsked(text string) bool {
	for _, r := range d.service.Requests() {
		if strings.Contains(string(r.Body), text) {
			return true
		}
	}
	return false
}

// until waits for something that shows elsewhere than in a chat.
func (d *dialog) until(what string, ok func() bool) {
	d.t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !ok(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			d.t.Fatalf("waiting for %s", what)
		}
	}
}

func (d *dialog) wait(text string) {
	d.t.Helper()
	span, err := time.ParseDuration(text)
	if err != nil {
		d.t.Fatal(err)
	}
	time.Sleep(span)
}

// refusal is what a service says that is down; nil when it is up.
func (d *dialog) refusal(verb, text string) *scripted.Reply {
	d.t.Helper()
	if verb == "up" {
		return nil
	}
	reply, err := scripted.ParseReply("fail " + text)
	if err != nil {
		d.t.Fatal(err)
	}
	return &reply
}

func (d *dialog) fault(words []string) {
	d.t.Helper()
	if len(words) < 3 {
		d.t.Fatalf("fault takes a method, a number and what happens: %q", words)
	}
	n, err := strconv.Atoi(words[1])
	if err != nil {
		d.t.Fatal(err)
	}
	kind, arg, _ := strings.Cut(strings.Join(words[2:], " "), ":")
	var f emulator.Fault
	switch kind {
	case "drop-before":
		f = emulator.DropBefore()
	case "drop-after":
		f = emulator.DropAfter()
	case "502":
		f = emulator.BadGateway()
	case "hang":
		f = emulator.Hang()
	case "429":
		seconds, err := strconv.Atoi(arg)
		if err != nil {
			d.t.Fatal(err)
		}
		f = emulator.RetryAfter(seconds)
	default:
		code, err := strconv.Atoi(kind)
		if err != nil {
			d.t.Fatalf("no fault: %q", kind)
		}
		f = emulator.Fail(code, arg)
	}
	d.telegram.Inject(words[0], n, f)
}

// settle lets what is under way come to rest: in a bubble until everything waits, else until the emulator is quiet.
func (d *dialog) settle() {
	if inBubble(d.t) {
		time.Sleep(3 * time.Second)
		synctest.Wait()
		return
	}
	for {
		changed := d.telegram.Changed()
		select {
		case <-changed:
		case <-time.After(300 * time.Millisecond):
			return
		}
	}
}
