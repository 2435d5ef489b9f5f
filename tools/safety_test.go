package tools_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"nod/approvals"
	"nod/store"
	"nod/tools"
)

// mode is a way in which a call of a tool that writes can come to the executor.
type mode struct {
	name   string
	source approvals.Source
	depth  int
	found  tools.State // what an earlier process left of the call; "" for a new call
}

// standing is what the gate has to say.
type standing struct {
	name    string
	prepare func(*rig)
}

func rule(action approvals.Action) func(*rig) {
	return addRule(approvals.Rule{Priority: approvals.PriorityGuard, Tool: "write_note", Action: action})
}

// unattended allows the tool in every turn.
var unattended = addRule(approvals.Rule{
	Priority: approvals.PriorityGuard, Tool: "write_note", Action: approvals.ActionAllow, Unattended: true,
})

func addRule(rule approvals.Rule) func(*rig) {
	return func(r *rig) {
		r.update(func(tx *store.Tx) error {
			_, err := r.rules.Add(tx, rule)
			return err
		})
	}
}

// breakRules leaves a rule that can't be understood, as a newer version or a damaged file might.
func breakRules(r *rig) {
	table := store.NewTable[store.Text, approvals.Rule]("rules", store.ParseText[store.Text])
	r.update(func(tx *store.Tx) error {
		return table.Put(tx, "x", approvals.Rule{ID: "x", Group: approvals.DefaultGroup, Tool: "*", Action: "perhaps"})
	})
}

// What becomes of a call before anybody has pressed anything.
const (
	cardWaits = "a card waits"
	refused   = "refused"
	hasRun    = "it has run"
)

// TestSA11_NothingRunsUnruled: there is no way in which a call runs without a ruling of the gate. Only a rule that allows
// it runs it without a press; whatever fails, is missing or was there before asks or refuses.
func TestSA11_NothingRunsUnruled(t *testing.T) {
	modes := []mode{
		{"interactive", approvals.Telegram, 0, ""},
		{"interactive sub-agent", approvals.Telegram, 1, ""},
		{"cron", approvals.Cron, 0, ""},
		{"cron sub-agent of a sub-agent", approvals.Cron, 2, ""},
		{"resumed, awaiting", approvals.Telegram, 0, tools.AwaitingApproval},
		{"resumed, running", approvals.Telegram, 0, tools.Running},
		{"resumed cron, awaiting", approvals.Cron, 0, tools.AwaitingApproval},
		{"resumed cron sub-agent, running", approvals.Cron, 1, tools.Running},
	}
	standings := []standing{
		{"no rule but the last", func(*rig) {}},
		{"require", rule(approvals.ActionRequire)},
		{"deny", rule(approvals.ActionDeny)},
		{"broken rules", breakRules},
		{"nobody decides", func(r *rig) { r.scope.Deciders = nil }},
		{"allow", rule(approvals.ActionAllow)},
		{"allow, unattended", unattended},
	}
	want := map[tools.State]map[string]string{
		"": {
			"no rule but the last": cardWaits, "require": cardWaits, "deny": refused, "broken rules": cardWaits,
			"nobody decides": refused, "allow": hasRun, "allow, unattended": hasRun,
		},
		// The card that was there waits on, for whom it was put.
		tools.AwaitingApproval: {
			"no rule but the last": cardWaits, "require": cardWaits, "deny": cardWaits, "broken rules": cardWaits,
			"nobody decides": cardWaits, "allow": cardWaits, "allow, unattended": cardWaits,
		},
		// That a rule allows it is no reason to do it twice.
		tools.Running: {
			"no rule but the last": cardWaits, "require": cardWaits, "deny": cardWaits, "broken rules": cardWaits,
			"nobody decides": refused, "allow": cardWaits, "allow, unattended": cardWaits,
		},
	}
	for _, m := range modes {
		for _, s := range standings {
			t.Run(m.name+"/"+s.name, func(t *testing.T) {
				want := want[m.found][s.name]
				if want == hasRun && m.source == approvals.Cron && s.name == "allow" {
					want = cardWaits // no owner's own words asked for it
				}
				synctest.Test(t, func(t *testing.T) { checkUnruled(t, m, s, want) })
			})
		}
	}
}

func checkUnruled(t *testing.T, m mode, s standing, want string) {
	p := &pen{}
	r := newRig(t, kit(p)...)
	r.scope.Source, r.scope.Depth = m.source, m.depth
	if m.source == approvals.Cron {
		r.scope.By, r.scope.Job, r.scope.Origin = 0, "a report", approvals.Origin{Kind: approvals.FromJob, Name: "a report"}
	}
	req := r.call("write_note", `{"text":"a"}`)
	switch m.found {
	case tools.AwaitingApproval:
		r, _ = leaveWaiting(r, req, approvals.Decision{})
	case tools.Running:
		unattended(r)
		r = leaveRunning(r, p, req)
		r.update(func(tx *store.Tx) error {
			all, err := r.rules.All(tx)
			if err != nil {
				return err
			}
			return r.rules.Delete(tx, all[0].ID)
		})
	}
	before := len(p.runs())
	s.prepare(r)
	req.Scope = r.scope
	f := r.resume(t.Context(), req)
	synctest.Wait()

	select {
	case <-f.done:
		if ran := len(p.runs()) > before; ran != (want == hasRun) || want == cardWaits {
			t.Errorf("ran %v: %+v, %v; want %s", ran, f.outcome, f.err, want)
		}
		if want == hasRun && !strings.Contains(r.record(req.ID).How, "rule ") {
			t.Errorf("what let it run is told as %q", r.record(req.ID).How)
		}
	default:
		if len(p.runs()) != before || r.waiting() != 1 || want != cardWaits {
			t.Errorf("%d runs, %d cards wait; want %s", len(p.runs())-before, r.waiting(), want)
		}
		refuse(r, m)
		if out := r.lands(f); out.State == tools.Completed || len(p.runs()) != before {
			t.Errorf("after the refusal: %+v, %d runs", out, len(p.runs())-before)
		}
	}
}

// refuse presses what means no on the one card that waits.
func refuse(r *rig, m mode) {
	r.Helper()
	var all []approvals.Pending
	r.update(func(tx *store.Tx) (err error) {
		all, err = r.gate.Waiting(tx)
		return err
	})
	verb := approvals.VerbReject
	if m.found == tools.Running {
		verb = approvals.VerbSkip
	}
	for _, p := range all {
		r.verb(p, verb)
	}
}

// Many calls at once: each is run once, and by its own nod.
func TestManyCallsAtOnce(t *testing.T) {
	const each = 15
	p := &pen{}
	r := newRig(t, kit(p)...)
	want := map[string]tools.Outcome{}
	flights := map[string]*flight{}
	for i := range each {
		for tool, outcome := range map[string]tools.Outcome{
			"read_note":   {State: tools.Completed, Text: "wrote %s"},
			"free_note":   {State: tools.Completed, Text: "wrote %s"},
			"write_note":  {State: tools.Completed, Text: "wrote %s"},
			"write_note ": {State: tools.Rejected, Text: "User rejected this tool call. Reason: %s"},
		} {
			text := fmt.Sprint(tool, i)
			outcome.Text = fmt.Sprintf(outcome.Text, text)
			want[text] = outcome
			flights[text] = r.start(t.Context(), r.call(strings.TrimSpace(tool), fmt.Sprintf(`{"text":%q}`, text)))
		}
	}
	var presses sync.WaitGroup
	for range 2 * each {
		card := r.card()
		presses.Go(func() {
			d := approvals.Decision{Verb: approvals.VerbApprove}
			if _, text, ok := strings.Cut(card.Request.Subject.Text, `"write_note `); ok {
				d = approvals.Decision{Verb: approvals.VerbReject, Reason: "write_note " + strings.Trim(text, "\"\n}")}
			}
			if _, err := r.gate.Decide(card.ID, owner, d); err != nil {
				t.Error(err)
			}
		})
	}
	presses.Wait()
	got := map[string]tools.Outcome{}
	for text, f := range flights {
		got[text] = r.lands(f)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	var ran []string
	for text, outcome := range want {
		if outcome.State == tools.Completed {
			ran = append(ran, text)
		}
	}
	slices.Sort(ran)
	if diff := cmp.Diff(ran, slices.Sorted(slices.Values(p.runs()))); diff != "" {
		t.Errorf("runs (-want +got)\n%s", diff)
	}
	if n := len(slices.Collect(maps.Keys(flights))); n != 4*each || r.waiting() != 0 {
		t.Errorf("%d calls, %d cards wait", n, r.waiting())
	}
}
