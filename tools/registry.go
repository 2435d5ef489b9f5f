package tools

import (
	"cmp"
	"fmt"
	"slices"

	"nod/approvals"
)

// Registry is every tool that this program has, in the order of their names, so that the list a model is shown is the
// same each time and its service can cache it.
type Registry struct {
	ordered []Tool
	byName  map[string]Tool
}

// NewRegistry refuses two tools of one name.
func NewRegistry(all ...Tool) (*Registry, error) {
	r := &Registry{byName: map[string]Tool{}}
	for _, t := range all {
		if _, taken := r.byName[t.Name()]; taken {
			return nil, fmt.Errorf("two tools are named %q", t.Name())
		}
		r.byName[t.Name()] = t
	}
	r.ordered = slices.SortedFunc(slices.Values(all), func(a, b Tool) int { return cmp.Compare(a.Name(), b.Name()) })
	return r, nil
}

// All lists every tool by name.
func (r *Registry) All() []Tool { return slices.Clone(r.ordered) }

// Find looks a tool up, offered or not.
func (r *Registry) Find(name string) (Tool, bool) {
	t, ok := r.byName[name]
	return t, ok
}

// DescribeCall labels any call, also of a tool that does not exist or whose arguments don't decode.
func (r *Registry) DescribeCall(name string, args []byte, limit int) string {
	t, ok := r.Find(name)
	if !ok {
		return clipLabel(oneLine(name), limit)
	}
	var label string
	err := guarded(func() error {
		inv, err := t.Decode(args)
		if err != nil {
			return err
		}
		label = inv.Label(limit)
		return nil
	})
	if err != nil {
		return clipLabel(name, limit)
	}
	return label
}

// Visibility is what decides which tools an agent is offered in a round.
type Visibility struct {
	Scope  Scope
	Groups []string               // lazy groups that the session has activated
	Denied func(tool string) bool // tools that the rules deny outright; nil denies none
	Only   func(tool string) bool // the agent's own list; nil allows all
}

// Offer is the set of tools that one agent is offered in one round. Nothing outside of it runs.
type Offer struct {
	Tools  []Tool
	byName map[string]Tool
}

// Offer picks the tools for a round.
func (r *Registry) Offer(v Visibility) *Offer {
	o := &Offer{byName: map[string]Tool{}}
	for _, t := range r.ordered {
		if v.shows(t) {
			o.Tools = append(o.Tools, t)
			o.byName[t.Name()] = t
		}
	}
	return o
}

func (v Visibility) shows(t Tool) bool {
	traits := t.Traits()
	switch {
	case traits.SubAgentsOnly && v.Scope.Depth == 0,
		traits.RootOnly && v.Scope.Depth > 0,
		traits.Interactive && v.Scope.Source != approvals.Telegram,
		traits.Group != "" && !slices.Contains(v.Groups, traits.Group),
		!v.Scope.Ports.has(traits.Needs),
		v.Only != nil && !v.Only(t.Name()),
		v.Denied != nil && v.Denied(t.Name()):
		return false
	}
	return true
}

// Find looks a tool up in the offer.
func (o *Offer) Find(name string) (Tool, bool) {
	t, ok := o.byName[name]
	return t, ok
}
