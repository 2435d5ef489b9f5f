package approvals

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"time"

	"nod/store"
)

// Group is a named set of rules. The rules of a run context's group are consulted before those of DefaultGroup, which is
// always there.
type Group struct {
	Name     string       `json:"name"`
	Created  time.Time    `json:"created,omitzero"`
	By       store.UserID `json:"by,omitempty"`
	Rules    int          `json:"-"`
	FromFile bool         `json:"-"` // nod.yaml has rules for it, so that it stays as long as they do
}

var groupsTable = store.NewTable[store.Text, Group]("rule_groups", store.ParseText[store.Text])

// Errors of changes to groups and rules, in words for people.
var (
	ErrGroupName  = errors.New("a group's name has 1 to 24 small letters, digits, - and _, and begins with a letter or digit")
	ErrNoGroup    = errors.New("there is no such group")
	ErrGroupTaken = errors.New("there is a group of that name already")
	ErrDefault    = errors.New("the group default stays: its rules go for everybody")
	ErrFromFile   = errors.New("this is from nod.yaml; change it there")
	ErrNoRule     = errors.New("there is no such rule")
	ErrCatchAll   = errors.New("the group has a rule for every tool with another action already; change that one")
)

// GroupName says whether a group can be called that.
func GroupName(name string) bool { return groupForm.MatchString(name) }

var groupForm = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,23}$`)

// Groups lists the default group and then the others by name, with how many rules each has.
func (rs *Rules) Groups(tx *store.Tx) ([]Group, error) {
	kept, err := groupsTable.All(tx, nil)
	if err != nil {
		return nil, fmt.Errorf("loading the groups of rules: %w", err)
	}
	all, err := rs.All(tx)
	if err != nil {
		return nil, err
	}
	groups := map[string]Group{DefaultGroup: {Name: DefaultGroup}}
	for _, g := range kept {
		groups[g.Name] = g
	}
	for _, r := range all {
		g := groups[r.Group]
		g.Name, g.Rules, g.FromFile = r.Group, g.Rules+1, g.FromFile || r.FromFile
		groups[r.Group] = g
	}
	list := make([]Group, 0, len(groups))
	for _, g := range groups {
		list = append(list, g)
	}
	slices.SortFunc(list, func(a, b Group) int { return cmp.Compare(a.rank(), b.rank()) })
	return list, nil
}

// rank puts the default group before all others.
func (g Group) rank() string {
	if g.Name == DefaultGroup {
		return ""
	}
	return g.Name
}

// Group finds a group by its name.
func (rs *Rules) Group(tx *store.Tx, name string) (Group, error) {
	all, err := rs.Groups(tx)
	if err != nil {
		return Group{}, err
	}
	i := slices.IndexFunc(all, func(g Group) bool { return g.Name == name })
	if i < 0 {
		return Group{}, ErrNoGroup
	}
	return all[i], nil
}

// OnGroup has fn take over the references to a group that is renamed, or deleted, in the same commit: to is its new name, or
// "" when it is gone. An error of fn, in words for people, keeps the group as it is. It is called before the first change.
func (rs *Rules) OnGroup(fn func(tx *store.Tx, from, to string) error) {
	rs.referrers = append(rs.referrers, fn)
}

func (rs *Rules) refer(tx *store.Tx, from, to string) error {
	for _, fn := range rs.referrers {
		if err := fn(tx, from, to); err != nil {
			return err
		}
	}
	return nil
}

// AddGroup makes an empty group.
func (rs *Rules) AddGroup(tx *store.Tx, name string, by store.UserID) error {
	if !groupForm.MatchString(name) {
		return ErrGroupName
	}
	switch _, err := rs.Group(tx, name); {
	case err == nil:
		return ErrGroupTaken
	case !errors.Is(err, ErrNoGroup):
		return err
	}
	return putGroup(tx, Group{Name: name, Created: wallNow(), By: by})
}

func putGroup(tx *store.Tx, g Group) error {
	if err := groupsTable.Put(tx, store.Text(g.Name), g); err != nil {
		return fmt.Errorf("writing a group of rules: %w", err)
	}
	return nil
}

// changeable finds a group that people may rename and delete.
func (rs *Rules) changeable(tx *store.Tx, name string) (Group, error) {
	g, err := rs.Group(tx, name)
	switch {
	case err != nil:
		return Group{}, err
	case name == DefaultGroup:
		return Group{}, ErrDefault
	case g.FromFile:
		return Group{}, ErrFromFile
	}
	return g, nil
}

// RenameGroup gives a group another name, with its rules and what refers to it.
func (rs *Rules) RenameGroup(tx *store.Tx, from, to string) error {
	g, err := rs.changeable(tx, from)
	if err != nil {
		return err
	}
	if err := rs.AddGroup(tx, to, g.By); err != nil {
		return err
	}
	err = rs.each(tx, from, func(r Rule) error {
		r.Group = to
		return put(tx, r)
	})
	return errors.Join(err, rs.refer(tx, from, to), groupsTable.Delete(tx, store.Text(from)))
}

// DuplicateGroup makes a group with the same rules. They are by's own from then on, also where those they are copied from
// came with nod or from nod.yaml.
func (rs *Rules) DuplicateGroup(tx *store.Tx, from, to string, by store.UserID) error {
	if _, err := rs.Group(tx, from); err != nil {
		return err
	}
	if err := rs.AddGroup(tx, to, by); err != nil {
		return err
	}
	return rs.each(tx, from, func(r Rule) error {
		if r.Seeded && r.Action == ActionAllow {
			r.Unattended = true // as it was
		}
		r.ID, r.Group, r.By, r.Seeded, r.FromFile = newID(), to, by, false, false
		return put(tx, r)
	})
}

// DeleteGroup removes a group with its rules, unless something refers to it that can't do without.
func (rs *Rules) DeleteGroup(tx *store.Tx, name string) error {
	if _, err := rs.changeable(tx, name); err != nil {
		return err
	}
	err := rs.each(tx, name, func(r Rule) error { return rs.Delete(tx, r.ID) })
	return errors.Join(err, rs.refer(tx, name, ""), groupsTable.Delete(tx, store.Text(name)))
}

// each does something with every rule of a group.
func (rs *Rules) each(tx *store.Tx, group string, do func(Rule) error) error {
	all, err := rs.All(tx)
	if err != nil {
		return err
	}
	for _, r := range all {
		if r.Group != group {
			continue
		}
		if err := do(r); err != nil {
			return err
		}
	}
	return nil
}
