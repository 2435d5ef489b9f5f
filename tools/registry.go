package tools

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"nod/approvals"
)

// Registry is every tool that this program has, in the order of their names, so that the list a model is shown is the
// same each time and its service can cache it.
type Registry struct {
	profile Profile // "" knows no catalogue: all are offered
	ordered []Tool
	byName  map[string]Tool

	mu      sync.RWMutex
	dynamic []Dynamic
}

// Dynamic is tools that come and go while the program runs: those of MCP servers. It answers from memory, at once, and
// from many goroutines.
type Dynamic interface {
	Tools() []Tool
	Groups() []Group
}

// Group is a lazy group of tools: they are offered once activate_tools has named it.
type Group struct {
	Name        string
	Description string // in a few words, for the model
	// Words are what somebody else says of the group's use, such as an MCP server. They are shown as theirs, while the
	// group is active.
	Words string
	// Wake brings the group's tools up when it is activated, and says what keeps them from coming; nil where they are
	// there.
	Wake func(ctx context.Context) error
}

// NewRegistry makes a registry of any tools. It refuses two of one name.
func NewRegistry(all ...Tool) (*Registry, error) {
	r := &Registry{byName: map[string]Tool{}}
	for _, t := range all {
		if _, taken := r.byName[t.Name()]; taken {
			return nil, fmt.Errorf("two tools are named %q", t.Name())
		}
		r.byName[t.Name()] = t
	}
	r.ordered = slices.SortedFunc(slices.Values(all), byName)
	return r, nil
}

func byName(a, b Tool) int { return cmp.Compare(a.Name(), b.Name()) }

// NewCatalogue makes the registry of a profile out of the program's tools. It refuses a catalogue or a tool that breaks
// its rules, and names all that is wrong.
func NewCatalogue(profile Profile, all ...Tool) (*Registry, error) {
	return newCatalogue(Catalogue, profile, all)
}

func newCatalogue(entries []Entry, profile Profile, all []Tool) (*Registry, error) {
	if !slices.Contains(Profiles, profile) {
		return nil, fmt.Errorf("there is no profile %q; the profiles are: %s", profile, strings.Trim(fmt.Sprint(Profiles), "[]"))
	}
	problems := []error{checkEntries(entries)}
	for _, t := range all {
		i := slices.IndexFunc(entries, func(e Entry) bool { return e.Tool == t.Name() })
		if i < 0 {
			problems = append(problems, fmt.Errorf("the tool %q has no entry in the catalogue", t.Name()))
			continue
		}
		problems = append(problems, entries[i].fits(t), entries[i].speaks(t.Description()))
	}
	for _, e := range entries {
		if !slices.ContainsFunc(all, func(t Tool) bool { return t.Name() == e.Tool }) {
			problems = append(problems, fmt.Errorf("the catalogue's %s (%s) has no definition", e.Tool, e.ID))
		}
	}
	r, err := NewRegistry(all...)
	if err := errors.Join(append(problems, err)...); err != nil {
		return nil, fmt.Errorf("making the catalogue: %w", err)
	}
	r.profile = profile
	return r, nil
}

// Mount adds tools that come and go. It is called before the first round.
func (r *Registry) Mount(d Dynamic) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.dynamic = append(r.dynamic, d)
}

// Profile is what the registry was made for; "" where it knows no catalogue.
func (r *Registry) Profile() Profile { return r.profile }

// All lists every tool by name, also those outside of the profile and of groups that are not active.
func (r *Registry) All() []Tool {
	all := append(slices.Clone(r.ordered), r.coming()...)
	slices.SortStableFunc(all, byName)
	return all
}

// coming are the dynamic tools whose names no built-in has.
func (r *Registry) coming() (found []Tool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	for _, d := range r.dynamic {
		for _, t := range d.Tools() {
			if _, taken := r.byName[t.Name()]; !taken {
				found = append(found, t)
			}
		}
	}
	return found
}

// Groups are the lazy groups that there are, the config group first.
func (r *Registry) Groups() []Group {
	groups := []Group{{Name: ConfigGroup, Description: "change nod's configuration: jobs, MCP servers, plugins, secrets"}}
	r.mu.RLock()
	defer r.mu.RUnlock()
	for _, d := range r.dynamic {
		groups = append(groups, d.Groups()...)
	}
	return groups
}

// Find looks a tool up, offered or not.
func (r *Registry) Find(name string) (Tool, bool) {
	if t, ok := r.byName[name]; ok {
		return t, true
	}
	for _, t := range r.coming() {
		if t.Name() == name {
			return t, true
		}
	}
	return nil, false
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
	for _, t := range r.All() {
		if r.inProfile(t) && v.shows(t) {
			o.Tools = append(o.Tools, t)
			o.byName[t.Name()] = t
		}
	}
	return o
}

// inProfile says whether the profile has a tool. One without an entry is dynamic: there wherever tools are.
func (r *Registry) inProfile(t Tool) bool {
	if r.profile == "" {
		return true
	}
	if e, ok := EntryOf(t.Name()); ok {
		return e.In(r.profile)
	}
	return r.profile != DisabledProfile
}

func (v Visibility) shows(t Tool) bool {
	traits := t.Traits()
	background := v.Scope.background()
	switch {
	case traits.SubAgentsOnly && v.Scope.Depth == 0,
		traits.RootOnly && v.Scope.Depth > 0,
		traits.Interactive && background,
		traits.Background && !background && !(traits.OrNested && v.Scope.Depth > 0),
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

// Effect is that of one call: Read where it may run beside others. A call that can't be decoded has its tool's.
func (o *Offer) Effect(name string, args []byte) Effect {
	t, ok := o.Find(name)
	if !ok {
		return Write
	}
	effect := t.Traits().Effect
	if err := guarded(func() error {
		inv, err := t.Decode(args)
		if err == nil {
			effect = inv.Effect()
		}
		return err
	}); err != nil {
		return t.Traits().Effect
	}
	return effect
}

// background says whether nobody's message began the session.
func (s Scope) background() bool { return s.Background || s.Source == approvals.Cron }
