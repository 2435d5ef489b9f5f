package agent

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"nod/agent/llm/scripted"
	"nod/approvals"
	"nod/scheduler"
	"nod/store"
	"nod/tools"
)

func (r *rig) save(c RunContext) (RunContext, error) {
	r.Helper()
	var saved RunContext
	err := r.db.Update(func(tx *store.Tx) (err error) {
		saved, err = r.driver.SaveContext(tx, c)
		return err
	})
	return saved, err
}

func TestRunContextsAreCheckedWhenTheyAreSaved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := newCast(t)
		r.file("house/in", "x")
		work := r.workspace.Dir()
		if err := errors.Join(os.Symlink("/etc", filepath.Join(work, "out")), os.Symlink("house", filepath.Join(work, "home"))); err != nil {
			t.Fatal(err)
		}
		r.driver.Contexts = []RunContext{{Name: "fixed"}}
		got, err := r.save(RunContext{Name: "a", Group: "default", Dir: "home", Reads: []string{"/usr/../etc", "home"}, Gone: true})
		want := RunContext{Name: "a", Dir: "house", Reads: []string{"/etc", filepath.Join(work, "house")}}
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Error(err, diff)
		}
		for name, tt := range map[string]struct {
			c    RunContext
			want string
		}{
			"no name":          {RunContext{}, "no name"},
			"none":             {RunContext{Name: "none"}, "no name"},
			"of nod.yaml":      {RunContext{Name: "fixed"}, "defined in nod.yaml"},
			"unknown group":    {RunContext{Name: "b", Group: "work"}, `no group "work"`},
			"dir outside":      {RunContext{Name: "b", Dir: "/etc"}, "must lie in the workspace"},
			"dir over a link":  {RunContext{Name: "b", Dir: "out"}, "must lie in the workspace"},
			"dir above":        {RunContext{Name: "b", Dir: "house/../.."}, "must lie in the workspace"},
			"dir in secrets":   {RunContext{Name: "b", Dir: "secrets/x"}, "must lie in the workspace"},
			"reads of secrets": {RunContext{Name: "b", Reads: []string{"secrets"}}, "closed to all tools"},
			"long words":       {RunContext{Name: "b", Prompt: []string{strings.Repeat("x", maxFragment+1)}}, "at most"},
			"many folders":     {RunContext{Name: "b", Reads: make([]string, maxFolders+1)}, "at most"},
			"a hidden path":    {RunContext{Name: "b", Dir: "a\x00b"}, "control characters"},
		} {
			if _, err := r.save(tt.c); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

// TestATurnWorksInItsRunContext: its folder, its words and what is open; sub-agents inherit it, and a turn keeps what it
// began with.
func TestATurnWorksInItsRunContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, c := newCast(t)
		if _, err := r.save(RunContext{Name: "house", Dir: "house", Prompt: []string{"Mind the cat."}, Writes: []string{"house"}}); err != nil {
			t.Fatal(err)
		}
		r.update(func(tx *store.Tx) error { return r.driver.UseContext(tx, here, "house") })
		c.on("go", scripted.Call(tools.ExecuteTask, task("sync", "look")), scripted.Say("done"))
		c.on("look", scripted.Call("do_it", text("a")), scripted.Say("looked"))
		r.say("go")
		card := r.card(0)
		if got := card.Request.Context; !cmp.Equal(got, approvals.Context{Writes: []string{filepath.Join(r.workspace.Dir(), "house")}}) {
			t.Errorf("the gate is told %+v", got)
		}
		r.update(func(tx *store.Tx) error { return r.driver.UseContext(tx, here, NoContext) })
		r.decide(card, approvals.VerbReject)
		turn := r.answered("done").Turn
		if turn.Context.Name != "house" {
			t.Errorf("the turn changed to %q", turn.Context.Name)
		}
		for i, req := range r.model.Requests() {
			if !strings.Contains(req.System, "Mind the cat.") || !strings.Contains(req.System, "its folder house") {
				t.Errorf("request %d is not told of the run context", i)
			}
		}
		c.on("go", scripted.Say("again"))
		r.say("once more")
		if got := r.answered("again").Turn.Context; got.Name != "" {
			t.Errorf("the next turn is in %q", got.Name)
		}
	})
}

// TestNothingRunsInARunContextThatIsGone: it may have forbidden much.
func TestNothingRunsInARunContextThatIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := newCast(t)
		r.driver.Contexts = []RunContext{{Name: "fixed"}}
		r.update(func(tx *store.Tx) error { return r.driver.UseContext(tx, here, "fixed") })
		r.driver.Contexts = nil // as after a start with another nod.yaml
		r.say("go")
		if e := sees(r, anyOf[TurnFailed]); !errors.Is(e.Err, ErrNoContext) {
			t.Error(e.Err)
		}
		if n := len(r.model.Requests()); n != 0 {
			t.Errorf("the model was asked %d times", n)
		}
		r.update(func(tx *store.Tx) error {
			job, err := r.jobs.Add(tx, scheduler.Draft{Task: scheduler.Task{Title: "x", Prompt: "p", Agent: MainAgent, Context: "fixed"}, Schedule: everyDay(r)})
			if err != nil {
				return err
			}
			return r.driver.Launch(tx, scheduler.Run{ID: store.NewRunID(), Job: job, Due: time.Now()})
		})
		if e := sees(r, func(e TurnFailed) bool { return e.Turn.Job != "" }); !errors.Is(e.Err, ErrNoContext) {
			t.Error(e.Err)
		}
	})
}

func TestAGroupOfRulesTakesItsRunContextsAlong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := newCast(t)
		rules := r.driver.Rules
		rules.OnGroup(r.driver.FollowGroup)
		r.update(func(tx *store.Tx) error { return rules.AddGroup(tx, "work", owner) })
		if _, err := r.save(RunContext{Name: "a", Group: "work"}); err != nil {
			t.Fatal(err)
		}
		r.update(func(tx *store.Tx) error { return rules.RenameGroup(tx, "work", "play") })
		r.look(func(tx *store.Tx) error {
			if c, err := r.driver.contextNamed(tx, "a"); err != nil || c.Group != "play" {
				t.Errorf("%+v %v", c, err)
			}
			return nil
		})
		err := r.db.Update(func(tx *store.Tx) error { return rules.DeleteGroup(tx, "play") })
		if err == nil || !strings.Contains(err.Error(), "the run context a has this group") {
			t.Error(err)
		}
	})
}

func TestRECV11RunContextsMoveWithTheirGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := newCast(t)
		r.driver.Contexts = []RunContext{{Name: "fixed"}}
		from, to := store.Address{Chat: -5, Topic: 3}, store.Address{Chat: -1005, Topic: 3}
		r.update(func(tx *store.Tx) error {
			return errors.Join(r.driver.UseContext(tx, from, "fixed"), Migrate(tx, from.Chat, to.Chat))
		})
		r.look(func(tx *store.Tx) error {
			before, err := Profile(tx, from)
			after, afterErr := Profile(tx, to)
			if before != "" || after != "fixed" {
				t.Errorf("%q moved to %q", before, after)
			}
			return errors.Join(err, afterErr)
		})
	})
}
