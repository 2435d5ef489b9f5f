package groups

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"nod/store"
	"nod/tools"
)

type listIn struct {
	Query string `json:"query,omitempty" jsonschema:"part of a group's name; all groups when left out"`
}

func (d *desk) groupList() tools.Tool {
	return tools.New(tools.Spec[listIn]{
		Name: tools.GroupList,
		Description: "Lists the groups that you are in, with a reference for each. A reference is good for a day, for this user alone, and is given to " +
			"other tools unchanged.",
		Traits: traits(tools.Read),
		Label:  func(in listIn, _ bool) string { return in.Query },
		Run: func(_ context.Context, call tools.Call, in listIn) (out tools.Output, err error) {
			var groups []tools.GroupInfo
			err = d.db.View(func(tx *store.Tx) error {
				groups, err = call.Scope.Ports.Groups.Groups(tx, call.Scope.By)
				return err
			})
			var b strings.Builder
			for _, g := range groups {
				if holds(g.Title, in.Query) {
					fmt.Fprintf(&b, "%s: group_ref %s\n", line(g.Title), d.groupRef(call.Scope, g.ID))
				}
			}
			if out.Text = b.String(); out.Text == "" {
				out.Text = "There is no such group. You are in a group once somebody has added you there and an owner has written there."
			}
			return out, err
		},
	})
}

const (
	defaultLimit = 20
	maxLimit     = 50
)

type candidatesIn struct {
	GroupRef      string   `json:"group_ref" jsonschema:"the group to which people are to come, from group_list"`
	Query         string   `json:"query,omitempty" jsonschema:"part of a person's name"`
	Limit         int      `json:"limit,omitempty" jsonschema:"how many people at most (default 20)"`
	FromGroupRefs []string `json:"from_group_refs,omitempty" jsonschema:"only people who are in one of these groups"`
}

// Refine bounds the list.
func (candidatesIn) Refine(p map[string]*jsonschema.Schema) {
	p["limit"].Minimum, p["limit"].Maximum = jsonschema.Ptr(1.0), jsonschema.Ptr(float64(maxLimit))
	p["from_group_refs"].MaxItems = jsonschema.Ptr(10)
}

func (d *desk) groupMemberCandidates() tools.Tool {
	return tools.New(tools.Spec[candidatesIn]{
		Name: tools.GroupMemberCandidates,
		Description: "Lists people who could be added to a group: those who have a private chat with this bot and are not in the group, with a reference " +
			"for each.",
		Traits: traits(tools.Read),
		Check: func(in *candidatesIn) error {
			if in.GroupRef == "" {
				return errors.New("group_ref is empty; group_list gives it")
			}
			if in.Limit == 0 {
				in.Limit = defaultLimit
			}
			return nil
		},
		Label: func(in candidatesIn, _ bool) string { return in.Query },
		Run:   d.runCandidates,
	})
}

func (d *desk) runCandidates(ctx context.Context, call tools.Call, in candidatesIn) (tools.Output, error) {
	s := call.Scope
	var group tools.GroupInfo
	var others []tools.GroupInfo
	var people []tools.PersonInfo
	err := d.db.View(func(tx *store.Tx) (err error) {
		if group, err = d.group(tx, s, in.GroupRef); err != nil {
			return fmt.Errorf("group_ref: %w", err)
		}
		for _, ref := range in.FromGroupRefs {
			g, err := d.group(tx, s, ref)
			if err != nil {
				return fmt.Errorf("from_group_refs: %w", err)
			}
			others = append(others, g)
		}
		people, err = s.Ports.Groups.People(tx, s.By)
		return err
	})
	if err != nil {
		return tools.Output{}, err
	}
	people = slices.DeleteFunc(people, func(p tools.PersonInfo) bool { return !holds(p.Name, in.Query) })
	var b strings.Builder
	found := 0
	for _, p := range people {
		if found == in.Limit {
			b.WriteString("There are more; narrow the query.\n")
			break
		}
		is, err := s.Ports.Groups.IsMember(ctx, group.ID, p.ID)
		if err != nil {
			return tools.Output{}, fmt.Errorf("asking who is in %s: %w", line(group.Title), err)
		}
		if is {
			continue
		}
		if from, err := d.inOneOf(ctx, s, others, p.ID); err != nil {
			return tools.Output{}, err
		} else if len(others) > 0 && !from {
			continue
		}
		found++
		fmt.Fprintf(&b, "%s: candidate_ref %s\n", line(p.Name), d.personRef(s, p.ID))
	}
	if found == 0 {
		return tools.Output{Text: "Nobody: everyone who has a private chat with this bot and fits is in the group already."}, nil
	}
	return tools.Output{Text: b.String()}, nil
}

func (d *desk) inOneOf(ctx context.Context, s tools.Scope, groups []tools.GroupInfo, person store.UserID) (bool, error) {
	for _, g := range groups {
		is, err := s.Ports.Groups.IsMember(ctx, g.ID, person)
		if err != nil {
			return false, fmt.Errorf("asking who is in %s: %w", line(g.Title), err)
		}
		if is {
			return true, nil
		}
	}
	return false, nil
}
