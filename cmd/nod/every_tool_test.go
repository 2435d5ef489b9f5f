package main

import (
	"flag"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"nod/approvals"
	"nod/bot/emulator"
	"nod/store"
	"nod/tools"
	"nod/tools/plugins"
)

// TestEveryToolIsProven: a tool that is added to the catalogue needs its line in the table of proofs.
func TestEveryToolIsProven(t *testing.T) {
	keys := map[string]bool{}
	for _, p := range proofs {
		if keys[p.key()] {
			t.Errorf("two proofs are called %s", p.key())
		}
		keys[p.key()] = true
		if _, ok := tools.EntryOf(p.tool); !ok {
			t.Errorf("there is no tool %s", p.tool)
		}
	}
	for _, e := range tools.Catalogue {
		if !slices.ContainsFunc(proofs, func(p proof) bool { return p.tool == e.Tool }) {
			t.Errorf("%s has no proof of its success, its refusal, a stop and a kill", e.Tool)
		}
	}
}

// TestEveryTool holds, for each proof, the conversations of a refusal, of /stop while a person is asked, before the call
// begins and after it ended unrecorded, and of a success. Between them nod is down, and what the tool has brought about is
// counted.
func TestEveryTool(t *testing.T) {
	registry := catalogueOf(t, tools.HybridProfile)
	for _, p := range heldProofs(t) {
		t.Run(p.key(), func(t *testing.T) {
			tool, _ := registry.Find(p.tool)
			synctest.Test(t, func(t *testing.T) { proveHere(t, p, tool) })
		})
	}
}

var proofsThird = flag.Int("tools.third", time.Now().YearDay()%3, "which third of the proofs is held with -short: 0, 1 or 2; another one each day")

// heldProofs are all proofs, or with -short a third of them, another one each day.
func heldProofs(t *testing.T) (held []proof) {
	if !testing.Short() {
		return proofs
	}
	t.Logf("a third of the proofs is held: -tools.third %d", *proofsThird)
	for i, p := range proofs {
		if i%3 == *proofsThird {
			held = append(held, p)
		}
	}
	return held
}

func (p proof) key() string { return p.tool + p.way }

// repeated says whether a call that was cut off is made again without asking.
func (p proof) repeated() bool {
	e, _ := tools.EntryOf(p.tool)
	return e.Effect == tools.Read || p.way == "_sync" || p.way == "_async"
}

// proveHere holds the conversations of a proof with a nod in this process.
func proveHere(t *testing.T, p proof, tool tools.Tool) {
	h := newHere(t, p)
	base := 0
	if h.config || h.before != nil || h.group != nil {
		base = h.life(h.prepare)
	}
	same := func(after string, n int) {
		t.Helper()
		if n != base {
			t.Errorf("after %s: %d effects, want %d", after, n, base)
		}
	}
	want := []tools.State{tools.Rejected}
	stopped := func() { want = append(want, h.stopsBefore()...) }
	if p.asks {
		same("a refusal and a stop before it ran", h.life(func() { h.refusal(); stopped() }))
	} else {
		h.rules = []approvals.Rule{{Tool: p.tool, Args: h.canonical(tool), Action: approvals.ActionDeny, Note: "not in this test"}}
		same("a refusal", h.life(h.refusal))
		h.rules = nil
		same("a stop before it ran", h.life(stopped))
	}
	if p.question == "" {
		n := h.life(func() { h.stopHeld("tools.ran") })
		state := tools.Cancelled
		if p.soon {
			n--
		}
		if p.soon && !p.repeated() {
			state = tools.Completed
		}
		same("a stop after it ran", n)
		want = append(want, state)
	}
	h.tidy()
	peek(t, h.world.home, func(tx *store.Tx) { base = h.count(tx) })
	if n := h.life(h.success); p.effect != nil && n != base+1 {
		t.Errorf("after a success: %d effects, want %d", n, base+1)
	}
	peek(t, h.world.home, func(tx *store.Tx) { h.ended(tx, append(want, tools.Completed)) })
}

// here is an act whose nod runs in this process.
type here struct {
	*act
	world *world
	rules []approvals.Rule // of the file
	lived int
}

func newHere(t *testing.T, p proof) *here {
	w := newWorld(t)
	m := newParrot()
	w.service = m.service
	w.service.SetMedia(someMedia)
	h := &here{world: w}
	h.act = &act{
		proof: p, t: t, telegram: w.telegram, model: m, me: w.ann, work: w.workspace, mcp: helperAddress, found: map[string]string{},
		lives: func() int { return h.lived },
	}
	h.stand(ann)
	w.config = func(c *Config) {
		c.Profile, c.Rules = tools.HybridProfile, h.rules
		c.Owners = append(c.Owners, zoeID)
		c.Plugins.Images, c.Plugins.Speech = plugins.Images{Model: "gpt-image-1"}, plugins.Speech{TTSModel: "tts"}
	}
	return h
}

// life starts nod, has something done, lets all that is still to come come, ends nod and counts what the tool has brought
// about until then.
func (h *here) life(what func()) (n int) {
	h.t.Helper()
	h.world.start()
	h.lived++
	if what(); h.t.Failed() {
		h.t.FailNow()
	}
	time.Sleep(5 * time.Second)
	synctest.Wait()
	h.world.end()
	peek(h.t, h.world.home, func(tx *store.Tx) { n = h.count(tx) })
	return n
}

func (h *here) refusal() {
	before := len(h.model.read(h.key()))
	h.asksFor()
	if h.asks {
		h.press("❌ Reject")
		h.reads(before, "User rejected this tool call.")
		return
	}
	h.reads(before, "not in this test")
}

// stopsBefore stops the call while a person is asked, and between the nod and the run. It says how the calls end.
func (h *here) stopsBefore() (states []tools.State) {
	if h.asks || h.question != "" {
		h.asksFor()
		h.until("a card", func(m emulator.Message) bool { return h.isCard(m) })
		h.stop()
		states = append(states, tools.Cancelled)
	}
	if h.question == "" {
		h.stopHeld("tools.intent")
		states = append(states, tools.Cancelled)
	}
	return states
}

// isCard says whether a message asks about the call.
func (h *here) isCard(m emulator.Message) bool {
	return strings.HasPrefix(m.Shown(), "❓ ") || m.Keyboard != nil && slices.Contains(labels(m), approveButton)
}

// stop says /stop and waits to be told.
func (h *here) stop() {
	time.Sleep(time.Second)
	h.say("/stop")
	h.sees("Stopped")
}

// stopHeld holds the call in a window while a person says /stop.
func (h *here) stopHeld(window string) {
	nth := int64(1)
	if h.inside {
		nth = 2 // the first is the call that begins the task
	}
	reached, release := make(chan struct{}), make(chan struct{})
	var passed atomic.Int64
	store.OnFailpoint(func(name string) {
		if name == window && passed.Add(1) == nth {
			close(reached)
			<-release
		}
	})
	defer store.OnFailpoint(func(string) {})
	h.asksFor()
	if h.asks {
		h.press(approveButton)
	}
	select {
	case <-reached:
	case <-time.After(stepPatience):
		h.t.Fatalf("%s: the window %s was not passed:\n%s", h.key(), window, h.me.Transcript())
	}
	h.say("/stop")
	time.Sleep(time.Second)
	close(release)
	h.sees("Stopped")
}

func (h *here) success() {
	before := len(h.model.read(h.key()))
	h.asksFor()
	switch {
	case h.asks:
		h.press(approveButton)
	case h.question != "":
		h.until("the question", func(m emulator.Message) bool { return h.isCard(m) })
		time.Sleep(time.Second)
		h.me.SendText(h.question)
	}
	if h.tool == tools.Restart {
		<-h.world.alive.Done()
		h.world.end()
		h.world.start()
	}
	h.reads(before, h.says)
	if h.inside || h.tool == tools.AskUserClarification {
		return // people see these in another way
	}
	h.sees("✓ " + h.tool)
}
