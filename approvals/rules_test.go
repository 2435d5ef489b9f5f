package approvals

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"nod/store"
)

func (r *rig) add(rule Rule) (added Rule) {
	r.Helper()
	r.update(func(tx *store.Tx) (err error) {
		added, err = r.rules.Add(tx, rule)
		return err
	})
	return added
}

func (r *rig) words() (words []string) {
	r.Helper()
	r.update(func(tx *store.Tx) error {
		all, err := r.rules.All(tx)
		for _, rule := range all {
			words = append(words, rule.Words())
		}
		return err
	})
	return words
}

func TestRulesOrder(t *testing.T) {
	r := newRig(t)
	r.add(Rule{Priority: PriorityPerson, Tool: "older", Action: ActionAllow})
	r.add(Rule{Priority: PriorityPerson, Tool: "newer", Action: ActionAllow})
	r.add(Rule{Priority: PriorityGuard + 1, Tool: "highest", Action: ActionDeny})
	want := []string{
		"never allow highest",
		"never allow reading or writing files in /w/secrets",
		"allow older without asking",
		"allow newer without asking",
		"allow reading or writing files in /w/memory without asking, in every turn",
		"allow reading files in /w without asking, in every turn",
		"allow write_todos without asking, in every turn",
		"ask before execute_cmd",
		"ask before any tool",
	}
	if diff := cmp.Diff(want, r.words()); diff != "" {
		t.Error(diff)
	}
}

func TestSeedKeepsWhatAPersonDid(t *testing.T) {
	r := newRig(t)
	before := r.words()
	r.update(r.rules.Seed)
	if diff := cmp.Diff(before, r.words()); diff != "" {
		t.Errorf("seeding twice changes something: %s", diff)
	}

	var todos string
	r.update(func(tx *store.Tx) error {
		all, err := r.rules.All(tx)
		for _, rule := range all {
			if rule.Tool == "write_todos" {
				todos = rule.ID
			}
		}
		return err
	})
	r.update(func(tx *store.Tx) error { return r.rules.Delete(tx, todos) })
	r.update(r.rules.Seed)
	if strings.Contains(strings.Join(r.words(), "\n"), "write_todos") {
		t.Error("a default that a person deleted came back")
	}
}

func TestSeedFollowsTheProgram(t *testing.T) {
	r := newRig(t)
	r.add(Rule{Priority: PriorityPerson, Tool: "mine", Action: ActionAllow})
	moved := NewRules([]Rule{
		{Priority: PriorityGuard, Tool: FSAny, Path: "/elsewhere/secrets", Action: ActionDeny},
		{Priority: PriorityCatchAll, Tool: "*", Action: ActionRequire},
	}, testSets)
	r.update(moved.Seed)
	want := []string{
		"never allow reading or writing files in /elsewhere/secrets",
		"allow mine without asking",
		"ask before any tool",
	}
	if diff := cmp.Diff(want, r.words()); diff != "" {
		t.Error(diff)
	}
}

func TestSeedRefusesNonsense(t *testing.T) {
	r := newRig(t)
	bad := NewRules([]Rule{{Tool: FSAny, Path: "secrets", Action: ActionDeny}}, testSets)
	if err := r.db.Update(bad.Seed); err == nil {
		t.Error("a default that denies nothing was taken")
	}
}

func TestAddTwice(t *testing.T) {
	r := newRig(t)
	first := r.add(Rule{Priority: PriorityPerson, Tool: "a", Action: ActionAllow, Note: "one", By: owner})
	second := r.add(Rule{Priority: PriorityPerson, Tool: "a", Action: ActionAllow, Note: "two", By: other})
	if diff := cmp.Diff(first, second); diff != "" {
		t.Error(diff)
	}
	if third := r.add(Rule{Priority: PriorityPerson, Tool: "a", Action: ActionDeny}); third.ID == first.ID {
		t.Error("another action is another rule")
	}
	err := r.db.Update(func(tx *store.Tx) error {
		_, err := r.rules.Add(tx, Rule{Tool: "a*b", Action: ActionAllow})
		return err
	})
	if err == nil {
		t.Error("a rule that can't be understood was added")
	}
}

func TestDenied(t *testing.T) {
	tests := []struct {
		name  string
		rules []Rule
		group string
		want  bool
	}{
		{"no rule", nil, "", false},
		{"denied", []Rule{{Tool: "t", Action: ActionDeny}}, "", true},
		{"denied by the catch-all", []Rule{{Tool: "*", Action: ActionDeny}}, "", true},
		{"another tool", []Rule{{Tool: "u", Action: ActionDeny}}, "", false},
		{"denied in one folder only", []Rule{{Tool: "t", Path: "/w", Action: ActionDeny}}, "", false},
		{"denied in one folder, then everywhere", []Rule{{Priority: 1, Tool: "t", Path: "/w", Action: ActionDeny}, {Tool: "t", Action: ActionDeny}}, "", true},
		{"allowed in one folder, else denied", []Rule{{Priority: 1, Tool: "t", Path: "/w", Action: ActionAllow}, {Tool: "t", Action: ActionDeny}}, "", false},
		{"asked about first", []Rule{{Priority: 1, Tool: "t", Action: ActionRequire}, {Tool: "*", Action: ActionDeny}}, "", false},
		{"denied to others", []Rule{{Tool: "t", Agent: "researcher", Action: ActionDeny}}, "", false},
		{"denied to jobs", []Rule{{Tool: "t", Source: Cron, Action: ActionDeny}}, "", false},
		{"denied by its own group", []Rule{{Group: "tight", Tool: "t", Action: ActionDeny}, {Tool: "t", Action: ActionAllow}}, "tight", true},
		{"denied by another group", []Rule{{Group: "tight", Tool: "t", Action: ActionDeny}}, "loose", false},
		{"its own group comes first", []Rule{{Priority: 9, Tool: "t", Action: ActionDeny}, {Group: "loose", Tool: "t", Action: ActionAllow}}, "loose", false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			db := store.OpenTest(t)
			rules := NewRules(nil, testSets)
			err := db.Update(func(tx *store.Tx) error {
				for _, rule := range test.rules {
					if _, err := rules.Add(tx, rule); err != nil {
						return err
					}
				}
				denied, err := rules.Denied(tx, test.group, "main", Telegram)
				if err != nil {
					return err
				}
				if got := denied("t"); got != test.want {
					t.Errorf("got %v, want %v", got, test.want)
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		})
	}
}
