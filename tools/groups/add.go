package groups

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"nod/approvals"
	"nod/store"
	"nod/tools"
)

// maxAdded is how many people one call may bring into a group.
const maxAdded = 20

type addIn struct {
	GroupRef      string   `json:"group_ref" jsonschema:"the group, from group_list"`
	CandidateRefs []string `json:"candidate_refs" jsonschema:"the people, from group_member_candidates, unchanged"`
}

// Refine bounds the list.
func (addIn) Refine(p map[string]*jsonschema.Schema) {
	p["candidate_refs"].MinItems, p["candidate_refs"].MaxItems = jsonschema.Ptr(1), jsonschema.Ptr(maxAdded)
}

func (d *desk) groupMemberAdd() tools.Tool {
	return tools.New(tools.Spec[addIn]{
		Name: tools.GroupMemberAdd,
		Description: "Invites people to a group, when the user has asked for exactly that: each gets a link privately, which lets in that person alone. " +
			"Tells the outcome for each of them.",
		Traits: traits(tools.Write),
		Check: func(in *addIn) error {
			seen := map[string]bool{}
			for _, ref := range in.CandidateRefs {
				if seen[ref] {
					return errors.New("candidate_refs names somebody twice")
				}
				seen[ref] = true
			}
			return nil
		},
		Label: func(in addIn, _ bool) string {
			if n := len(in.CandidateRefs); n > 1 {
				return fmt.Sprintf("%d people", n)
			}
			return "1 person"
		},
		Judge: d.judgeAdd,
		Run:   d.runAdd,
	})
}

// found is what the references of a call stand for.
type found struct {
	group  tools.GroupInfo
	people []tools.PersonInfo
}

func (d *desk) find(s tools.Scope, in addIn) (f found, err error) {
	err = d.db.View(func(tx *store.Tx) error {
		if f.group, err = d.group(tx, s, in.GroupRef); err != nil {
			return fmt.Errorf("group_ref: %w", err)
		}
		for i, ref := range in.CandidateRefs {
			p, err := d.person(tx, s, ref)
			if err != nil {
				return fmt.Errorf("candidate_refs[%d]: %w", i, err)
			}
			f.people = append(f.people, p)
		}
		return nil
	})
	return f, err
}

// judgeAdd shows names, which the nod is bound to together with the ids behind them. A person is asked each time.
func (d *desk) judgeAdd(_ context.Context, s tools.Scope, in addIn) (tools.Judged, error) {
	f, err := d.find(s, in)
	if err != nil {
		return tools.Judged{}, err
	}
	lines := []string{"Invite to the group " + line(f.group.Title) + ":"}
	facts := []approvals.Fact{{Name: "group", Value: fmt.Sprint(f.group.ID)}}
	for i, p := range f.people {
		lines = append(lines, "• "+line(p.Name))
		facts = append(facts, approvals.Fact{Name: fmt.Sprintf("person %d", i), Value: fmt.Sprint(p.ID)})
	}
	return tools.Judged{
		MustAsk: true,
		Subject: approvals.Subject{
			Kind: approvals.Words, Text: strings.Join(lines, "\n"), Facts: facts,
			Notes: []string{"Each gets a link privately, for that person alone"},
		},
	}, nil
}

func (d *desk) runAdd(ctx context.Context, call tools.Call, in addIn) (tools.Output, error) {
	s := call.Scope
	f, err := d.find(s, in)
	if err != nil {
		return tools.Output{}, err
	}
	var b strings.Builder
	var links []tools.JoinLink
	for _, p := range f.people {
		outcome, link, err := invite(ctx, s.Ports.Groups, f.group, p)
		if ctx.Err() != nil {
			return tools.Output{}, ctx.Err() // none of the links was sent
		}
		switch {
		case err != nil:
			outcome = "not invited: " + err.Error()
		case link != nil:
			links = append(links, *link)
		}
		fmt.Fprintf(&b, "%s: %s\n", line(p.Name), outcome)
	}
	return tools.Output{Text: b.String(), Commit: func(tx *store.Tx) error {
		for _, link := range links {
			if err := s.Ports.Groups.Send(tx, link); err != nil {
				return err
			}
		}
		return nil
	}}, nil
}

// invite makes one person's link, unless that person is in the group already.
func invite(ctx context.Context, port tools.GroupPort, g tools.GroupInfo, p tools.PersonInfo) (outcome string, link *tools.JoinLink, err error) {
	is, err := port.IsMember(ctx, g.ID, p.ID)
	if err != nil {
		return "", nil, err
	}
	if is {
		return "is in the group already", nil, nil
	}
	made, err := port.Link(ctx, g.ID, p.ID)
	if err != nil {
		return "", nil, err
	}
	until := made.Expires.Format("2 Jan, 15:04")
	if made.ByRequest {
		return "got a private link to ask to join, and is let in on asking, until " + until, &made, nil
	}
	return "got a private link that works once, until " + until, &made, nil
}
