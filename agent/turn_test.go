package agent

import (
	"context"
	"encoding/base64"
	"errors"
	"image"
	"image/png"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"nod/agent/llm"
	"nod/agent/llm/scripted"
	"nod/approvals"
	"nod/store"
	"nod/tools"
)

func TestTurnGoesRoundByRound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.script.Push(
			scripted.Say("I look first.").Call("read_it", text("a")).Call("read_it", text("b")).Usage(scripted.Usage{In: 10, Out: 2}),
			scripted.Say("All ", "is well.").Usage(scripted.Usage{In: 30, Out: 3}),
		)
		if got := r.say("how is it?"); got != Started {
			t.Errorf("the message was %s", got)
		}
		answer := r.answered("All is well.")
		if answer.Turn.Round != 2 || answer.Turn.State != Answered || answer.Turn.Ended.IsZero() {
			t.Errorf("the turn ended as %+v", answer.Turn)
		}
		want := []string{"user: how is it?", "assistant: I look first. (read_it) (read_it)", "tool: did a", "tool: did b"}
		if diff := cmp.Diff(want, said(r.requests(2)[1])); diff != "" {
			t.Error(diff)
		}
		s := r.session(here)
		if u := s.Usage["first"]; u.In != 40 || u.Out != 5 || s.LastIn != 30 || s.LastOut != 3 || s.Turn != "" {
			t.Errorf("usage %+v, last %d/%d, turn %q", u, s.LastIn, s.LastOut, s.Turn)
		}
		if n := count(r.view, func(e Commented) bool { return e.Text == "I look first." }); n != 1 {
			t.Errorf("the comment was told %d times", n)
		}
		if n := count(r.view, func(e Streaming) bool { return e.Text == "All " }); n != 1 {
			t.Errorf("the beginning of the answer was shown %d times", n)
		}
	})
}

func TestSTOP3WaitingMessagesEnterTheTurnAtItsNextRound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		release := make(chan struct{})
		r.hands.work = func(context.Context, string) (tools.Output, error) {
			<-release
			return tools.Output{Text: "looked"}, nil
		}
		r.script.Push(scripted.Call("read_it", text("a")), scripted.Say("both done"))
		r.say("do a")
		r.until("the call", func() bool { return len(r.hands.runs()) == 1 })
		first, second := message(here, "and b"), message(here, "and c")
		if a, b := r.submit(first), r.submit(second); a != Queued || b != Queued {
			t.Errorf("the messages were %s and %s", a, b)
		}
		close(release)
		r.answered("both done")
		want := []string{"user: do a", "assistant:  (read_it)", "tool: looked", "user: and b\n\nand c"}
		if diff := cmp.Diff(want, said(r.requests(2)[1])); diff != "" {
			t.Error(diff)
		}
		steered := sees(r, anyOf[Steered])
		if diff := cmp.Diff([]store.MessageID{first.Message, second.Message}, steered.Messages); diff != "" {
			t.Error(diff)
		}
	})
}

func TestMailThatWaitsAtTheEndBeginsTheNextTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.script.Push(scripted.Say("one").Sleep(10*time.Second).Say("!"), scripted.Say("two"))
		r.say("first")
		r.requests(1)
		r.say("second")
		r.say("third")
		r.answered("one!")
		r.answered("two")
		want := []string{"user: first", "assistant: one!", "user: second\n\nthird"}
		if diff := cmp.Diff(want, said(r.requests(2)[1])); diff != "" {
			t.Error(diff)
		}
	})
}

func TestRECV10EditsSteerOnlyWhileTheTurnRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.script.Push(scripted.Call("read_it", text("a")), scripted.Say("blue it is"))
		release := make(chan struct{})
		r.hands.work = func(context.Context, string) (tools.Output, error) { <-release; return tools.Output{}, nil }
		r.say("make it red")
		r.until("the call", func() bool { return len(r.hands.runs()) == 1 })
		edit := message(here, "make it blue")
		edit.Edited = true
		if got := r.submit(edit); got != Queued {
			t.Errorf("the edit was %s", got)
		}
		close(release)
		r.answered("blue it is")
		if got := said(r.requests(2)[1])[3]; got != "user: [new wording of an earlier message]\nmake it blue" {
			t.Error(got)
		}
		if got := r.submit(edit); got != Ignored {
			t.Errorf("the late edit was %s", got)
		}
		if n := len(r.entries(r.session(here).ID)); n != 5 {
			t.Errorf("the transcript has %d entries", n)
		}
	})
}

func TestTurnsHaveLimits(t *testing.T) {
	cut := scripted.Call("read_it", `{"text":"a`)
	for name, tt := range map[string]struct {
		replies []scripted.Reply
		rounds  int
		want    error
		partial string
	}{
		"rounds":                      {[]scripted.Reply{scripted.Call("read_it", text("a")), scripted.Call("read_it", text("b"))}, 2, ErrRounds, ""},
		"MODEL-2 unreadable calls":    {[]scripted.Reply{cut, cut, cut}, 0, ErrFaults, ""},
		"MODEL-6 empty twice":         {[]scripted.Reply{scripted.Say(), scripted.Say()}, 0, ErrEmpty, ""},
		"MODEL-4 a broken answer":     {[]scripted.Reply{scripted.Say("It is ").Cut()}, 0, nil, "It is "},
		"a refusal":                   {[]scripted.Reply{scripted.Fail(401, "invalid_api_key", "no such key")}, 0, nil, ""},
		"MODEL-5 an error in between": {[]scripted.Reply{scripted.Say("Half").Raw("data: {\"error\":{\"message\":\"overloaded\"}}\n\n")}, 0, nil, "Half"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, func(r *rig) { r.rounds = tt.rounds })
				r.script.Push(tt.replies...)
				if strings.HasPrefix(name, "a refusal") {
					r.script.Push(tt.replies...) // the fallback model has no key either
				}
				r.say("go")
				failed := sees(r, anyOf[TurnFailed])
				var refused *llm.Error
				if tt.want != nil && !errors.Is(failed.Err, tt.want) || tt.want == nil && !errors.As(failed.Err, &refused) {
					t.Errorf("it failed with %v", failed.Err)
				}
				if failed.Partial != tt.partial || failed.Turn.State != Failed {
					t.Errorf("it failed as %s with %q", failed.Turn.State, failed.Partial)
				}
				if tt.partial != "" {
					lines := r.transcript(failed.Turn.Session)
					if last := lines[len(lines)-1]; last != "assistant: "+tt.partial+"\n[the answer broke off here]" {
						t.Errorf("the transcript ends with %q", last)
					}
				}
				// The session goes on.
				r.script.Push(scripted.Say("here again"))
				r.say("still there?")
				r.answered("here again")
			})
		})
	}
}

func TestMODEL2FaultsAreForgivenAfterAGoodCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		bad, good := scripted.Call("read_it", `{"text":`), scripted.Call("read_it", text("a"))
		r.script.Push(bad, bad, good, bad, bad, scripted.Say("made it"))
		r.say("go")
		r.answered("made it")
		if diff := cmp.Diff([]string{"a"}, r.hands.runs()); diff != "" {
			t.Error(diff)
		}
	})
}

func TestMODEL6AnEmptyAnswerIsAskedForAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.script.Push(scripted.Say(), scripted.Say("now"))
		r.say("go")
		r.answered("now")
	})
}

func TestMODEL7OverflowShortensAndAsksOnceMore(t *testing.T) {
	long := strings.Repeat("word ", 10_000)
	for name, tt := range map[string]struct {
		again scripted.Reply
		ok    bool
	}{
		"then it fits":  {scripted.Say("short"), true},
		"then it fails": {scripted.Fail(400, "context_length_exceeded", "This model's maximum context length is 16000 tokens."), false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				r.script.Push(scripted.Say("noted "+long), scripted.Fail(400, "context_length_exceeded", "This model's maximum context length is 16000 tokens."), tt.again)
				r.say("remember " + long)
				sees(r, anyOf[TurnAnswered])
				r.say("and now?")
				r.requests(3)
				if !tt.ok {
					var refused *llm.Error
					if e := sees(r, anyOf[TurnFailed]); !errors.As(e.Err, &refused) || refused.Kind != llm.KindOverflow {
						t.Errorf("it failed with %v", e.Err)
					}
					return
				}
				r.answered("short")
				if got := said(r.requests(3)[2]); len(got) != 1 || got[0] != "user: and now?" {
					t.Errorf("asked again with %d messages, the first %.40q", len(got), got[0])
				}
				if w := r.client.Describe("").ContextWindow; w != 16_000 {
					t.Errorf("the window is taken for %d", w)
				}
			})
		})
	}
}

func TestAPanicFailsTheTurnAlone(t *testing.T) {
	for name, trap := range map[string]func(Event) bool{
		"at the answer":  func(e Event) bool { _, is := e.(TurnAnswered); return is },
		"at a call":      func(e Event) bool { _, is := e.(CallChanged); return is },
		"while it shows": func(e Event) bool { _, is := e.(Streaming); return is },
		"at a comment":   func(e Event) bool { _, is := e.(Commented); return is },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				r.view.setTrap(func(e Event) {
					if trap(e) {
						panic("the view broke")
					}
				})
				r.script.Push(scripted.Say("I do it.").Call("free_it", text("a")), scripted.Say("done"))
				r.say("go")
				if e := sees(r, anyOf[TurnFailed]); !errors.Is(e.Err, errPanicked) {
					t.Errorf("it failed with %v", e.Err)
				}
				if !strings.Contains(r.logs.String(), "the view broke") {
					t.Error("the log does not say why")
				}
				r.view.setTrap(nil)
				ran := len(r.hands.runs())
				for r.script.Len() > 0 {
					r.script.Next(scripted.Request{})
				}
				r.script.Push(scripted.Say("here again"))
				r.say("still there?")
				r.answered("here again")
				if now := len(r.hands.runs()); now != ran {
					t.Error("a call of the broken turn ran in the next one")
				}
			})
		})
	}
}

func TestCallsOfOneAnswer(t *testing.T) {
	type step struct{ began, goOn chan struct{} }
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		steps := map[string]step{}
		for _, name := range []string{"r1", "r2", "w", "r3"} {
			steps[name] = step{make(chan struct{}), make(chan struct{})}
		}
		r.hands.work = func(_ context.Context, text string) (tools.Output, error) {
			close(steps[text].began)
			<-steps[text].goOn
			return tools.Output{Text: "did " + text}, nil
		}
		r.script.Push(
			scripted.Call("read_it", text("r1")).Call("read_it", text("r2")).Call("free_it", text("w")).Call("read_it", text("r3")),
			scripted.Say("done"),
		)
		r.say("go")
		<-steps["r1"].began
		<-steps["r2"].began // while the first still runs
		synctest.Wait()
		if diff := cmp.Diff(2, len(r.hands.runs())); diff != "" {
			t.Error("what changes something did not wait for what reads: " + diff)
		}
		close(steps["r2"].goOn)
		close(steps["r1"].goOn)
		<-steps["w"].began
		synctest.Wait()
		if diff := cmp.Diff(3, len(r.hands.runs())); diff != "" {
			t.Error("what reads did not wait for what changes something: " + diff)
		}
		close(steps["w"].goOn)
		<-steps["r3"].began
		close(steps["r3"].goOn)
		r.answered("done")
		want := []string{"tool: did r1", "tool: did r2", "tool: did w", "tool: did r3"}
		if diff := cmp.Diff(want, said(r.requests(2)[1])[2:]); diff != "" {
			t.Error(diff)
		}
	})
}

func TestNOD9TwoCallsWaitSideBySide(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.script.Push(scripted.Call("do_it", text("a")).Call("do_it", text("b")).Call("read_it", text("c")), scripted.Say("done"))
		r.say("go")
		a, b := r.card(0), r.card(1)
		r.until("the call that only reads", func() bool { return len(r.hands.runs()) == 1 })
		r.decide(b, approvals.VerbReject)
		r.decide(a, approvals.VerbApprove)
		r.answered("done")
		want := []string{"tool: did a", "tool: User rejected this tool call.", "tool: did c"}
		if diff := cmp.Diff(want, said(r.requests(2)[1])[2:]); diff != "" {
			t.Error(diff)
		}
	})
}

func TestChooseModel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		choose := func(name string) {
			r.update(func(tx *store.Tx) error { return r.driver.ChooseModel(tx, here, name) })
		}
		choose("second")
		r.script.Push(scripted.Say("a"), scripted.Say("b"))
		r.say("who?")
		r.answered("a")
		choose("")
		r.say("who?")
		r.answered("b")
		got := r.requests(2)
		if got[0].Model != "second" || got[1].Model != "first" {
			t.Errorf("asked %s, then %s", got[0].Model, got[1].Model)
		}
		if e := r.entries(r.session(here).ID); e[1].Model != "second" || e[3].Model != "first" {
			t.Errorf("the answers are credited to %s and %s", e[1].Model, e[3].Model)
		}
	})
}

func TestMODEL7DelaysAreShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.script.Push(scripted.Fail(429, "", "slow down").Header("Retry-After", "7"), scripted.Say("here"))
		r.say("go")
		r.answered("here")
		if e := sees(r, anyOf[Delayed]); e.Notice.Wait < 7*time.Second {
			t.Errorf("the wait is %v", e.Notice.Wait)
		}
	})
}

// picture is a PNG of a size.
func picture(t *testing.T, width, height int) string {
	t.Helper()
	var b strings.Builder
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, width, height))); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestPicturesAreShownToTheModel, S-E1: but for those that are gone, secret, or would unpack to too much.
func TestPicturesAreShownToTheModel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		a, c := picture(t, 1, 1), picture(t, 2, 2)
		r.file("uploads/a.png", a)
		r.file("uploads/c.png", c)
		r.file("uploads/bomb.png", strings.Replace(a, "\x00\x00\x00\x01\x00\x00\x00\x01", "\x00\x00\xff\xff\x00\x00\xff\xff", 1))
		r.file("secrets/key.png", "KEY")
		in := message(here, "what is this?")
		for _, name := range []string{"uploads/a.png", "uploads/gone.png", "secrets/key.png", "uploads/bomb.png", "uploads/c.png"} {
			in.Files = append(in.Files, Attachment{Path: name, Kind: "photo", MIME: "image/png", Size: 1})
		}
		in.Files = append(in.Files, Attachment{Path: "uploads/a.txt", Kind: "document", MIME: "text/plain", Size: 1})
		r.script.Push(scripted.Say("two pictures"))
		r.submit(in)
		r.answered("two pictures")
		asked := r.requests(1)[0].Messages[0]
		want := []string{
			"data:image/png;base64," + base64.StdEncoding.EncodeToString([]byte(a)), "data:image/png;base64," + base64.StdEncoding.EncodeToString([]byte(c)),
		}
		if diff := cmp.Diff(want, asked.Images); diff != "" {
			t.Error(diff)
		}
		if n := strings.Count(asked.Text, "can't be shown to you"); n != 3 {
			t.Errorf("the model is told of %d pictures that it is not shown: %s", n, asked.Text)
		}
	})
}

func TestPicturesThatTheServiceRefusesAreLeftOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.file("uploads/a.png", picture(t, 1, 1))
		in := message(here, "what is this?")
		in.Files = []Attachment{{Path: "uploads/a.png", Kind: "photo", MIME: "image/png", Size: 1}}
		bad := scripted.Fail(400, "invalid_image", "Invalid image.")
		r.script.Push(bad, scripted.Say("I can't see it"), bad, scripted.Say("still here"))
		r.submit(in)
		r.answered("I can't see it")
		r.say("and now?")
		r.answered("still here")
		asked := r.requests(4)
		if got := asked[1].Messages[0]; len(got.Images) != 0 || !strings.Contains(got.Text, "would not take") {
			t.Errorf("asked again with %+v", got)
		}
	})
}

func TestATurnThatCannotBeRecordedGoesOnLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.script.Push(scripted.Say("kept"), scripted.Say("kept"), scripted.Say("kept"))
		r.view.setTrap(func(e Event) {
			if _, is := e.(Ending); is { // the disk is full by the time that the answer is there
				r.view.setTrap(nil)
				r.view.setFull(true)
			}
		})
		r.say("hello")
		synctest.Wait()
		if n := count(r.view, anyOf[TurnAnswered]); n != 0 {
			t.Fatal("it was recorded")
		}
		r.view.setFull(false)
		r.answered("kept")
	})
}
