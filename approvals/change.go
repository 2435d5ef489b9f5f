package approvals

import (
	"fmt"
	"slices"

	"nod/store"
)

// Find reads one rule.
func (rs *Rules) Find(tx *store.Tx, id string) (Rule, error) {
	all, err := rs.All(tx)
	if err != nil {
		return Rule{}, err
	}
	i := slices.IndexFunc(all, func(r Rule) bool { return r.ID == id })
	if i < 0 {
		return Rule{}, ErrNoRule
	}
	return all[i], nil
}

// Change gives a rule another action, in its place. A default that was changed is the person's own rule from then on.
func (rs *Rules) Change(tx *store.Tx, id string, action Action, by store.UserID) (Rule, error) {
	r, err := rs.Find(tx, id)
	switch {
	case err != nil:
		return Rule{}, err
	case r.FromFile:
		return Rule{}, ErrFromFile
	case r.Action == action:
		return r, nil
	}
	r.Action, r.By, r.Seeded, r.Unattended, r.Note = action, by, false, false, ""
	r.Priority = r.rank()
	if err := r.Check(rs.sets); err != nil {
		return Rule{}, fmt.Errorf("changing a rule: %w", err)
	}
	if err := r.Useful(rs.sets); err != nil {
		return Rule{}, err
	}
	return r, put(tx, r)
}

// Remove deletes a rule for a person.
func (rs *Rules) Remove(tx *store.Tx, id string) (Rule, error) {
	r, err := rs.Find(tx, id)
	switch {
	case err != nil:
		return Rule{}, err
	case r.FromFile:
		return Rule{}, ErrFromFile
	}
	return r, rs.Delete(tx, id)
}

// rank is the priority of a rule that a person gave.
func (r Rule) rank() int {
	switch {
	case r.Priority >= PriorityGuard:
		return r.Priority
	case r.Everything():
		return PriorityCatchAll
	case r.Action == ActionDeny:
		return PriorityNever
	case r.Args != nil || r.Command != nil:
		return PriorityPerson
	}
	return PriorityTool
}

// Decide makes a person's rule for a tool as a whole, in a group. Where the group has one already, that is changed in its
// place.
func (rs *Rules) Decide(tx *store.Tx, group, tool string, action Action, by store.UserID) (Rule, error) {
	all, err := rs.All(tx)
	if err != nil {
		return Rule{}, err
	}
	for _, r := range all {
		if r.Group == group && r.Tool == tool && r.whole() {
			return rs.Change(tx, r.ID, action, by)
		}
	}
	r := Rule{Group: group, Tool: tool, Action: action, By: by}
	r.Priority = r.rank()
	return rs.Add(tx, r)
}

// whole says whether the rule speaks of every call of its tools.
func (r Rule) whole() bool { return r.Agent == "" && r.Source == "" && !r.conditional() }

// Everything says whether the rule is the catch-all of its group: one for every tool, whatever the call.
func (r Rule) Everything() bool {
	return r.Tool == "*" && r.whole()
}
