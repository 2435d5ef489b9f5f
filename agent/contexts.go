package agent

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"sync"

	"nod/approvals"
	"nod/store"
	"nod/tools"
)

// RunContext is what a chat or a job works in, beside what all have: the rules of a group, words for the prompt, a folder,
// and what may be read or written there without asking. A turn has it as it was when the turn began.
type RunContext struct {
	Name   string   `json:"name"`
	Group  string   `json:"group,omitempty"`  // a permission group, consulted before the default one
	Prompt []string `json:"prompt,omitempty"` // fragments that stand in the prompt
	Dir    string   `json:"dir,omitempty"`    // within the workspace, relative to it; "" is its root
	Reads  []string `json:"reads,omitempty"`  // canonical folders that are read without asking
	Writes []string `json:"writes,omitempty"` // canonical folders that are written without asking
	// Gone says that there is none of this name any more: nothing runs in it, since it may have forbidden much.
	Gone bool `json:"gone,omitempty"`
	// FromFile says that nod.yaml defines it: it can't be changed in a chat.
	FromFile bool `json:"-"`
}

var (
	contexts = store.NewTable[store.Text, RunContext](contextsBucket, store.ParseText[store.Text])
	profiles = store.NewTable[store.Address, string](profilesBucket, store.ParseAddress)
)

const (
	contextsBucket = "contexts"
	profilesBucket = "profiles"
)

// ErrNoContext ends a turn whose run context is not defined any more.
var ErrNoContext = errors.New("the run context of this chat is not defined any more")

// NoContext is no run context's name: it stands for none.
const NoContext = "none"

// Bounds of a run context.
const (
	maxFragment  = 4_000 // bytes
	maxFragments = 10
	maxFolders   = 30
)

// contextForm is made when it is needed: each command starts this program anew, and would pay for it.
var contextForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,31}$`) })

// Folders finds out where a path leads: a *tools.Workspace, or before there is one the configuration.
type Folders interface {
	Resolve(path string, access tools.Access) (tools.Place, error)
}

// Check finds what is wrong with a run context, and brings its folders into the form that is compared: canonical, and of
// Dir relative to the workspace.
func (c *RunContext) Check(w Folders) error {
	switch {
	case !contextForm().MatchString(c.Name) || c.Name == NoContext:
		return fmt.Errorf("%q is no name for a run context: use up to 32 of a-z, 0-9 and -, but not %q", c.Name, NoContext)
	case len(c.Prompt) > maxFragments || slices.ContainsFunc(c.Prompt, func(text string) bool { return len(text) > maxFragment }):
		return fmt.Errorf("the prompt takes at most %d texts of %d bytes", maxFragments, maxFragment)
	case len(c.Reads) > maxFolders || len(c.Writes) > maxFolders:
		return fmt.Errorf("there may be at most %d folders", maxFolders)
	}
	if c.Group == approvals.DefaultGroup {
		c.Group = ""
	}
	if c.Dir != "" {
		place, err := w.Resolve(c.Dir, tools.ForReading)
		if err != nil {
			return err
		}
		if place.Private || place.Denied {
			return fmt.Errorf("the folder %s must lie in the workspace, and not in secrets", c.Dir)
		}
		if c.Dir = place.Path.Shown; c.Dir == "." {
			c.Dir = ""
		}
	}
	return errors.Join(checkFolders(w, c.Reads), checkFolders(w, c.Writes))
}

// checkFolders makes folders canonical.
func checkFolders(w Folders, folders []string) error {
	for i, folder := range folders {
		place, err := w.Resolve(folder, tools.ForReading)
		if err != nil {
			return err
		}
		if place.Denied || place.Private && place.Inside {
			return fmt.Errorf("the folder %s is closed to all tools", folder)
		}
		folders[i] = place.Path.Canonical
	}
	return nil
}

// RunContexts are those of nod.yaml and those made in chats, by name.
func (d *Driver) RunContexts(tx *store.Tx) ([]RunContext, error) {
	made, err := contexts.All(tx, nil)
	if err != nil {
		return nil, fmt.Errorf("reading the run contexts: %w", err)
	}
	all := slices.Clone(d.Contexts)
	for i := range all {
		all[i].FromFile = true
	}
	for _, c := range made {
		if !slices.ContainsFunc(d.Contexts, func(f RunContext) bool { return f.Name == c.Name }) {
			all = append(all, c)
		}
	}
	slices.SortFunc(all, func(a, b RunContext) int { return cmp.Compare(a.Name, b.Name) })
	return all, nil
}

// contextNamed is the run context of that name; "" is none.
func (d *Driver) contextNamed(tx *store.Tx, name string) (RunContext, error) {
	if name == "" {
		return RunContext{}, nil
	}
	all, err := d.RunContexts(tx)
	for _, c := range all {
		if c.Name == name {
			return c, nil
		}
	}
	return RunContext{Name: name, Gone: true}, err
}

// Profile is the name of the run context that a conversation has, or "".
func Profile(tx *store.Tx, at store.Address) (string, error) {
	name, _, err := profiles.Get(tx, at)
	return name, err
}

// contextAt is the run context of a conversation.
func (d *Driver) contextAt(tx *store.Tx, at store.Address) (RunContext, error) {
	name, err := Profile(tx, at)
	if err != nil {
		return RunContext{}, err
	}
	return d.contextNamed(tx, name)
}

// RulesAt is what the rules heed of a conversation's run context. ok is false where that context is gone: then nothing runs.
func (d *Driver) RulesAt(tx *store.Tx, at store.Address) (c approvals.Context, ok bool, err error) {
	is, err := d.contextAt(tx, at)
	return approvals.Context{Group: is.Group, Reads: is.Reads, Writes: is.Writes}, !is.Gone, err
}

// UseContext gives a conversation a run context, from its next turn on; NoContext takes it away.
func (d *Driver) UseContext(tx *store.Tx, at store.Address, name string) error {
	if name == NoContext {
		return profiles.Delete(tx, at)
	}
	c, err := d.contextNamed(tx, name)
	if err == nil && (c.Gone || name == "") {
		err = fmt.Errorf("there is no run context %q", name)
	}
	if err != nil {
		return err
	}
	return profiles.Put(tx, at, name)
}

// SaveContext makes or changes a run context. Turns under way keep what they began with.
func (d *Driver) SaveContext(tx *store.Tx, c RunContext) (RunContext, error) {
	c.Gone, c.FromFile = false, false
	if err := c.Check(d.Workspace); err != nil {
		return c, err
	}
	if err := d.changeable(c.Name); err != nil {
		return c, err
	}
	if c.Group != "" {
		if _, err := d.Rules.Group(tx, c.Group); err != nil {
			return c, fmt.Errorf("there is no group %q; /rules shows the groups", c.Group)
		}
	}
	return c, contexts.Put(tx, store.Text(c.Name), c)
}

func (d *Driver) changeable(name string) error {
	if slices.ContainsFunc(d.Contexts, func(c RunContext) bool { return c.Name == name }) {
		return fmt.Errorf("the run context %s is defined in nod.yaml; change it there", name)
	}
	return nil
}

// DropContext deletes a run context that no chat and no job has.
func (d *Driver) DropContext(tx *store.Tx, name string) error {
	if err := d.changeable(name); err != nil {
		return err
	}
	if known, err := contexts.Has(tx, store.Text(name)); err != nil || !known {
		return cmp.Or(err, fmt.Errorf("there is no run context %q", name))
	}
	used := false
	err := profiles.Scan(tx, nil, func(_ store.Address, of string) (bool, error) {
		used = of == name
		return !used, nil
	})
	if err != nil {
		return err
	}
	if used {
		return fmt.Errorf("a chat has the run context %s; give it another first", name)
	}
	jobs, err := d.Jobs.List(tx)
	if err != nil {
		return err
	}
	for _, job := range jobs {
		if job.Context == name {
			return fmt.Errorf("the job %s has the run context %s; delete the job first", job.Title, name)
		}
	}
	return contexts.Delete(tx, store.Text(name))
}

// FollowGroup takes a group's new name over into the run contexts that have it; with "" it refuses that the group goes. It
// is for approvals.Rules.OnGroup.
func (d *Driver) FollowGroup(tx *store.Tx, from, to string) error {
	all, err := d.RunContexts(tx)
	if err != nil {
		return err
	}
	for _, c := range all {
		switch {
		case c.Group != from:
			continue
		case c.FromFile:
			return fmt.Errorf("the run context %s of nod.yaml has this group; change it there first", c.Name)
		case to == "":
			return fmt.Errorf("the run context %s has this group; give it another with /profile first", c.Name)
		}
		c.Group = to
		if err := contexts.Put(tx, store.Text(c.Name), c); err != nil {
			return err
		}
	}
	return nil
}
