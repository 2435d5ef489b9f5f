package chat

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"nod/store"
	"nod/tools"
)

type activateIn struct {
	Groups []string `json:"groups" jsonschema:"names of groups: config, or MCP servers"`
}

func activateTools(groups func() []tools.Group) tools.Tool {
	return tools.New(tools.Spec[activateIn]{
		Name: tools.ActivateTools,
		Description: "Makes groups of further tools available, from your next step on and for the rest of the session: config, which changes " +
			"nod's configuration (jobs, MCP servers, plugins, secrets), and the MCP servers that there are.",
		Traits: plumbing,
		Check:  func(in *activateIn) error { return in.check(groupNames(groups())) },
		Label:  func(in activateIn, _ bool) string { return tools.Quote(strings.Join(in.Groups, ", ")) },
		Run: func(ctx context.Context, call tools.Call, in activateIn) (tools.Output, error) {
			return tools.Output{
				Text:   "Active from the next step on: " + strings.Join(in.Groups, ", ") + "." + wake(ctx, groups(), in.Groups),
				Commit: func(tx *store.Tx) error { return activate(tx, call.Scope.Session, in.Groups) },
			}, nil
		},
	})
}

// wake brings the tools of the groups up, side by side, and says which can't come.
func wake(ctx context.Context, known []tools.Group, names []string) string {
	var asleep []tools.Group
	for _, g := range known {
		if g.Wake != nil && slices.Contains(names, g.Name) {
			asleep = append(asleep, g)
		}
	}
	troubles := make([]string, len(asleep))
	var all sync.WaitGroup
	for i, g := range asleep {
		all.Go(func() {
			if err := g.Wake(ctx); err != nil {
				troubles[i] = fmt.Sprintf("\n%s does not answer: %v. Its tools are those that were last known.", g.Name, err)
			}
		})
	}
	all.Wait()
	return strings.Join(troubles, "")
}

func groupNames(groups []tools.Group) (names []string) {
	for _, g := range groups {
		names = append(names, g.Name)
	}
	return names
}

func (in *activateIn) check(known []string) error {
	if len(in.Groups) == 0 {
		return errors.New("name at least one group: " + strings.Join(known, ", "))
	}
	for _, group := range in.Groups {
		if !slices.Contains(known, group) {
			return fmt.Errorf("there is no group %q; the groups are: %s", group, strings.Join(known, ", "))
		}
	}
	return nil
}

func activate(tx *store.Tx, session store.SessionID, groups []string) error {
	active, err := ActiveGroups(tx, session)
	if err != nil {
		return err
	}
	active = append(active, groups...)
	slices.Sort(active)
	return activeGroups.Put(tx, session, slices.Compact(active))
}

// ActiveGroups are the lazy groups that a session has activated, by name.
func ActiveGroups(tx *store.Tx, session store.SessionID) ([]string, error) {
	groups, _, err := activeGroups.Get(tx, session)
	return groups, err
}

// ResetGroups puts away what a session has activated.
func ResetGroups(tx *store.Tx, session store.SessionID) error {
	return activeGroups.Delete(tx, session)
}
