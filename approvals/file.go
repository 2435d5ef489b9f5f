package approvals

import (
	"fmt"
	"slices"

	"nod/store"
)

// PriorityFile is that of the rules in nod.yaml, in their order there: before what was given by button, after the guards.
const PriorityFile = 150

// Apply makes the rules of nod.yaml those that are marked as such: what is there no longer goes. One for every tool stands in
// the place of its group's own for as long as it is there.
func (rs *Rules) Apply(tx *store.Tx, rules []Rule) error {
	kept, err := rulesTable.All(tx, nil)
	if err != nil {
		return fmt.Errorf("applying the rules of nod.yaml: %w", err)
	}
	for _, r := range kept {
		if r.FromFile {
			if err := rs.Delete(tx, r.ID); err != nil {
				return err
			}
		}
	}
	now := wallNow()
	for i, r := range rules {
		if err := r.Check(rs.sets); err != nil {
			return fmt.Errorf("applying the rules of nod.yaml: %w", err)
		}
		if r.Group == "" {
			r.Group = DefaultGroup
		}
		r.ID, r.Created, r.FromFile, r.Seeded = fmt.Sprintf("file-%04d", i+1), now, true, false // of one age, in the order of ids
		if r.Priority = PriorityFile; r.Everything() {
			r.Priority = PriorityCatchAll
		}
		if err := put(tx, r); err != nil {
			return err
		}
	}
	return nil
}

// unshadowed leaves out the rules for every tool in whose place one of nod.yaml stands.
func unshadowed(all []Rule) []Rule {
	filed := map[string]bool{}
	for _, r := range all {
		if r.FromFile && r.Everything() {
			filed[r.Group] = true
		}
	}
	return slices.DeleteFunc(all, func(r Rule) bool { return !r.FromFile && r.Everything() && filed[r.Group] })
}
