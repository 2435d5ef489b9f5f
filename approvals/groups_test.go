package approvals

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"nod/store"
)

// change does something to the rules in a commit of its own.
func (r *rig) change(fn func(tx *store.Tx) error) error {
	r.Helper()
	return r.db.Update(fn)
}

func (r *rig) groupNames() (names []string) {
	r.Helper()
	r.update(func(tx *store.Tx) error {
		all, err := r.rules.Groups(tx)
		for _, g := range all {
			names = append(names, g.Name)
		}
		return err
	})
	return names
}

func (r *rig) all() (all []Rule) {
	r.Helper()
	r.update(func(tx *store.Tx) (err error) {
		all, err = r.rules.All(tx)
		return err
	})
	return all
}

func TestGroups(t *testing.T) {
	r := newRig(t)
	renamed := map[string]string{}
	r.rules.OnGroup(func(_ *store.Tx, from, to string) error {
		if from == "kept" {
			return errors.New("nod.yaml refers to it")
		}
		renamed[from] = to
		return nil
	})
	steps := []struct {
		name string
		do   func(tx *store.Tx) error
		err  error // nil: whatever Is says
		want []string
	}{
		{"add", func(tx *store.Tx) error { return r.rules.AddGroup(tx, "work", owner) }, nil, []string{"default", "work"}},
		{"add twice", func(tx *store.Tx) error { return r.rules.AddGroup(tx, "work", owner) }, ErrGroupTaken, []string{"default", "work"}},
		{"add the default", func(tx *store.Tx) error { return r.rules.AddGroup(tx, "default", owner) }, ErrGroupTaken, []string{"default", "work"}},
		{"a bad name", func(tx *store.Tx) error { return r.rules.AddGroup(tx, "Two words", owner) }, ErrGroupName, []string{"default", "work"}},
		{"duplicate", func(tx *store.Tx) error { return r.rules.DuplicateGroup(tx, "default", "alike", owner) }, nil, []string{"default", "alike", "work"}},
		{"duplicate nothing", func(tx *store.Tx) error { return r.rules.DuplicateGroup(tx, "none", "x", owner) }, ErrNoGroup, []string{"default", "alike", "work"}},
		{"rename", func(tx *store.Tx) error { return r.rules.RenameGroup(tx, "alike", "loose") }, nil, []string{"default", "loose", "work"}},
		{"rename the default", func(tx *store.Tx) error { return r.rules.RenameGroup(tx, "default", "x") }, ErrDefault, []string{"default", "loose", "work"}},
		{"rename to one that is", func(tx *store.Tx) error { return r.rules.RenameGroup(tx, "loose", "work") }, ErrGroupTaken, []string{"default", "loose", "work"}},
		{"delete", func(tx *store.Tx) error { return r.rules.DeleteGroup(tx, "work") }, nil, []string{"default", "loose"}},
		{"delete the default", func(tx *store.Tx) error { return r.rules.DeleteGroup(tx, "default") }, ErrDefault, []string{"default", "loose"}},
		{"delete again", func(tx *store.Tx) error { return r.rules.DeleteGroup(tx, "work") }, ErrNoGroup, []string{"default", "loose"}},
	}
	for _, step := range steps {
		if err := r.change(step.do); !errors.Is(err, step.err) || (err == nil) != (step.err == nil) {
			t.Errorf("%s: %v, want %v", step.name, err, step.err)
		}
		if diff := cmp.Diff(step.want, r.groupNames()); diff != "" {
			t.Errorf("%s: %s", step.name, diff)
		}
	}
	if diff := cmp.Diff(map[string]string{"alike": "loose", "work": ""}, renamed); diff != "" {
		t.Error(diff)
	}
	copies := 0
	for _, rule := range r.all() {
		if rule.Group == "loose" {
			copies++
			if rule.Seeded || rule.By != owner || rule.Unattended != (rule.Action == ActionAllow) {
				t.Errorf("a copy: %+v", rule)
			}
		}
	}
	if copies != len(testSeeds()) {
		t.Errorf("%d copies of %d rules", copies, len(testSeeds()))
	}

	if err := r.change(func(tx *store.Tx) error { return r.rules.AddGroup(tx, "kept", owner) }); err != nil {
		t.Fatal(err)
	}
	for _, do := range []func(*store.Tx) error{
		func(tx *store.Tx) error { return r.rules.DeleteGroup(tx, "kept") },
		func(tx *store.Tx) error { return r.rules.RenameGroup(tx, "kept", "other") },
	} {
		if err := r.change(do); err == nil {
			t.Error("what refers to the group did not keep it")
		}
	}
	if diff := cmp.Diff([]string{"default", "kept", "loose"}, r.groupNames()); diff != "" {
		t.Error(diff)
	}
}

// A group has one rule for every tool: it is changed in its place, and one that says otherwise is refused.
func TestCatchAllIsOne(t *testing.T) {
	r := newRig(t)
	second := Rule{Tool: "*", Priority: PriorityPerson, Action: ActionAllow}
	add := func(rule Rule) error {
		return r.change(func(tx *store.Tx) error { _, err := r.rules.Add(tx, rule); return err })
	}
	wantErr(t, add(second), ErrCatchAll)
	for _, other := range []Rule{
		{Tool: "*", Agent: "researcher", Action: ActionDeny},
		{Tool: "*", Path: "/w/x", Action: ActionDeny},
		{Tool: "*", Group: "work", Action: ActionDeny},
	} {
		if err := add(other); err != nil {
			t.Error(err)
		}
	}
	var last Rule
	for _, rule := range r.all() {
		if rule.Everything() && rule.Group == DefaultGroup {
			last = rule
		}
	}
	if err := r.change(func(tx *store.Tx) error { _, err := r.rules.Change(tx, last.ID, ActionDeny, owner); return err }); err != nil {
		t.Fatal(err)
	}
	if got := r.judge(file("brand_new", "/w/a", false)).Verdict; got != Deny {
		t.Errorf("after the change: %s", got)
	}
	r.update(r.rules.Seed)
	if got := r.judge(file("brand_new", "/w/a", false)).Verdict; got != Deny {
		t.Errorf("after the next start: %s", got)
	}
	reworded := NewRules(append(testSeeds()[:5], Rule{Priority: PriorityCatchAll, Tool: "*", Action: ActionRequire, Note: "in other words"}), testSets)
	r.update(reworded.Seed)
	if got := r.judge(file("brand_new", "/w/a", false)).Verdict; got != Deny {
		t.Errorf("after a version with another default: %s", got)
	}
}

func TestChangeAndRemove(t *testing.T) {
	r := newRig(t)
	var memory Rule
	for _, rule := range r.all() {
		if rule.Path == "/w/memory" {
			memory = rule
		}
	}
	set := func(id string, action Action) error {
		return r.change(func(tx *store.Tx) error { _, err := r.rules.Change(tx, id, action, owner); return err })
	}
	if err := errors.Join(set(memory.ID, ActionRequire), set(memory.ID, ActionAllow)); err != nil {
		t.Fatal(err)
	}
	forward := file("write_file", "/w/memory/a", true)
	forward.Origin = Origin{Kind: FromForward, Name: "Eve"}
	if got := r.judge(forward).Verdict; got != Ask {
		t.Errorf("what a person allows by button goes for forwards too: %s", got)
	}
	wantErr(t, set("none", ActionDeny), ErrNoRule)
	if err := set(memory.ID, "perhaps"); err == nil {
		t.Error("an action that is none was taken")
	}
	remove := func(id string) error {
		return r.change(func(tx *store.Tx) error { _, err := r.rules.Remove(tx, id); return err })
	}
	if err := remove(memory.ID); err != nil {
		t.Error(err)
	}
	wantErr(t, remove(memory.ID), ErrNoRule)
}

// TestRulesOfTheFile: they are there as long as the file has them, in its order, and are changed nowhere else.
func TestRulesOfTheFile(t *testing.T) {
	r := newRig(t)
	r.decide(r.ask(command("git status")).ID, VerbAlways)
	apply := func(rules ...Rule) {
		t.Helper()
		r.update(func(tx *store.Tx) error { return r.rules.Apply(tx, rules) })
	}
	fresh := func() Verdict { return r.judge(file("brand_new", "/w/a", false)).Verdict }
	apply(
		Rule{Tool: "brand_new", Path: "/w/a", Action: ActionAllow}, Rule{Tool: "brand*", Action: ActionDeny},
		Rule{Tool: "execute_cmd", Action: ActionRequire}, Rule{Tool: "*", Action: ActionDeny}, Rule{Group: "work", Tool: "*", Action: ActionAllow},
	)
	if got := fresh(); got != Allow {
		t.Errorf("the first rule of the file: %s", got)
	}
	if got := r.judge(command("git status")).Verdict; got != Ask {
		t.Errorf("♾ stands before the file: %s", got)
	}
	if got := r.judge(file("other", "/w/a", false)).Verdict; got != Deny {
		t.Errorf("the file's rule for every tool does not stand in the place of the default: %s", got)
	}
	if got := r.judge(file("read_file", "/w/secrets/a", false)).Verdict; got != Deny {
		t.Errorf("the guards: %s", got)
	}
	for _, do := range []func(tx *store.Tx) error{
		func(tx *store.Tx) error { _, err := r.rules.Remove(tx, "file-0001"); return err },
		func(tx *store.Tx) error { _, err := r.rules.Change(tx, "file-0001", ActionDeny, owner); return err },
		func(tx *store.Tx) error { return r.rules.DeleteGroup(tx, "work") },
		func(tx *store.Tx) error { return r.rules.RenameGroup(tx, "work", "play") },
	} {
		wantErr(t, r.change(do), ErrFromFile)
	}
	apply(Rule{Tool: "brand_new", Action: ActionDeny})
	if got := fresh(); got != Deny {
		t.Errorf("another file: %s", got)
	}
	apply()
	if got := fresh(); got != Ask {
		t.Errorf("no rules in the file: %s", got)
	}
	if got := r.judge(command("git status")).Verdict; got != Allow {
		t.Errorf("♾ is gone with the file: %s", got)
	}
	if diff := cmp.Diff([]string{"default"}, r.groupNames()); diff != "" {
		t.Error(diff)
	}
}

// A person's word on a tool as a whole stands before the defaults and after ♾; a denial stands before both. It is one rule,
// however often it is decided.
func TestDecideOnATool(t *testing.T) {
	r := newRig(t)
	r.decide(r.ask(command("git status")).ID, VerbAlways)
	decide := func(tool string, action Action) error {
		return r.change(func(tx *store.Tx) error { _, err := r.rules.Decide(tx, DefaultGroup, tool, action, owner); return err })
	}
	before := len(r.all())
	for _, step := range []struct {
		action          Action
		always, another Verdict
	}{{ActionRequire, Allow, Ask}, {ActionDeny, Deny, Deny}, {ActionRequire, Allow, Ask}} {
		if err := decide("execute_cmd", step.action); err != nil {
			t.Fatal(err)
		}
		if got := r.judge(command("git status")).Verdict; got != step.always {
			t.Errorf("%s: what ♾ let through: %s", step.action, got)
		}
		if got := r.judge(command("ls")).Verdict; got != step.another {
			t.Errorf("%s: another command: %s", step.action, got)
		}
	}
	if after := len(r.all()); after != before {
		t.Errorf("%d rules became %d", before, after)
	}
	if err := decide("execute_cmd", ActionAllow); err == nil {
		t.Error("every command was allowed")
	}
	if err := decide("mcp__lamp__toggle", ActionAllow); err != nil || len(r.all()) != before+1 {
		t.Errorf("a tool that is not there yet: %v", err)
	}
	lamp := file("mcp__lamp__toggle", "", true)
	lamp.Paths = nil
	if got := r.judge(lamp).Verdict; got != Allow {
		t.Errorf("the lamp: %s", got)
	}
}
