package approvals

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"nod/store"
)

var (
	rulesTable = store.NewTable[store.Text, Rule]("rules", store.ParseText[store.Text])
	// seedsTable remembers which defaults were put down, so that one that a person deleted stays deleted.
	seedsTable = store.NewTable[store.Text, time.Time]("rule_seeds", store.ParseText[store.Text])
)

// Rules is the persisted set of rules. It keeps nothing in memory: what a transaction sees is what holds.
type Rules struct {
	seeds     []Rule
	sets      ToolSets
	referrers []func(tx *store.Tx, from, to string) error
}

// NewRules takes the defaults, whose ids and times are set by Seed, and the sets of tools that rules refer to.
func NewRules(seeds []Rule, sets ToolSets) *Rules {
	named := slices.Clone(seeds)
	for i := range named {
		named[i].Seeded = true
		named[i].Group = cmp.Or(named[i].Group, DefaultGroup)
		named[i].ID = seedID(named[i])
	}
	return &Rules{seeds: named, sets: sets}
}

// seedID names a default by what it says: one that was reworded or moved is a new one.
func seedID(r Rule) string {
	r.ID, r.Created = "", time.Time{}
	text, err := json.Marshal(r) // which leaves out what is not set, so that a new field makes no new defaults
	if err != nil {
		panic(fmt.Sprintf("naming the default rule %+v: %v", r, err)) // Args that are no JSON; a start of the program shows it
	}
	sum := sha256.Sum256(text)
	return "seed-" + hex.EncodeToString(sum[:8])
}

// Seed puts down the defaults that were not put down before and removes those that are none any more. A default that a
// person deleted does not come back until it says something else.
func (rs *Rules) Seed(tx *store.Tx) error {
	now := wallNow()
	current := map[string]bool{}
	for i, seed := range rs.seeds {
		if err := seed.Check(rs.sets); err != nil {
			return fmt.Errorf("seeding the rule %q: %w", seed.Words(), err)
		}
		current[seed.ID] = true
		known, err := seedsTable.Has(tx, store.Text(seed.ID))
		if err != nil {
			return fmt.Errorf("seeding rules: %w", err)
		}
		if known {
			continue
		}
		seed.Created = now.Add(time.Duration(i)) // ages keep the order in which they are given
		if err := rs.plant(tx, seed); err != nil {
			return err
		}
		if err := seedsTable.Put(tx, store.Text(seed.ID), now); err != nil {
			return fmt.Errorf("seeding rules: %w", err)
		}
	}
	return rs.unseed(tx, current)
}

// plant puts down a default, unless it is for every tool and the person has made the group's own say something else.
func (rs *Rules) plant(tx *store.Tx, seed Rule) error {
	taken := false
	err := rulesTable.Scan(tx, nil, func(_ store.Text, r Rule) (bool, error) {
		taken = seed.Everything() && r.Everything() && r.Group == seed.Group && !r.Seeded && !r.FromFile
		return !taken, nil
	})
	if err != nil || taken {
		return err
	}
	return put(tx, seed)
}

func (rs *Rules) unseed(tx *store.Tx, current map[string]bool) error {
	var stale []store.Text
	err := seedsTable.Scan(tx, nil, func(id store.Text, _ time.Time) (bool, error) {
		if !current[string(id)] {
			stale = append(stale, id)
		}
		return true, nil
	})
	if err != nil {
		return fmt.Errorf("removing old default rules: %w", err)
	}
	for _, id := range stale {
		if err := seedsTable.Delete(tx, id); err != nil {
			return fmt.Errorf("removing old default rules: %w", err)
		}
		r, ok, err := rulesTable.Get(tx, id)
		if err != nil {
			return fmt.Errorf("removing old default rules: %w", err)
		}
		if !ok || !r.Seeded {
			continue // gone, or a person's own since
		}
		if err := rs.Delete(tx, string(id)); err != nil {
			return err
		}
	}
	return nil
}

// All is every rule in the order of consultation: by priority, the highest first, then by age, the oldest first. One
// that can't be understood is an error, since leaving it out could leave out a deny.
func (rs *Rules) All(tx *store.Tx) ([]Rule, error) {
	all, err := rulesTable.All(tx, nil)
	if err != nil {
		return nil, fmt.Errorf("loading the rules: %w", err)
	}
	for _, r := range all {
		if err := r.Check(rs.sets); err != nil {
			return nil, fmt.Errorf("loading the rules: rule %s: %w", r.ID, err)
		}
	}
	all = unshadowed(all)
	slices.SortFunc(all, func(a, b Rule) int {
		return cmp.Or(cmp.Compare(b.Priority, a.Priority), a.Created.Compare(b.Created), cmp.Compare(a.ID, b.ID))
	})
	return all, nil
}

// Add puts down a rule and gives it its id and age. A rule that says the same of the same calls is there only once:
// then the one that was there is given back.
func (rs *Rules) Add(tx *store.Tx, r Rule) (Rule, error) {
	r.Group = cmp.Or(r.Group, DefaultGroup)
	if err := r.Check(rs.sets); err != nil {
		return Rule{}, fmt.Errorf("adding a rule: %w", err)
	}
	all, err := rs.All(tx)
	if err != nil {
		return Rule{}, err
	}
	if i := slices.IndexFunc(all, r.same); i >= 0 {
		return all[i], nil
	}
	if r.Everything() && slices.ContainsFunc(all, func(o Rule) bool { return o.Everything() && o.Group == r.Group && o.Action != r.Action }) {
		return Rule{}, ErrCatchAll
	}
	if err := r.Useful(rs.sets); err != nil {
		return Rule{}, err
	}
	r.ID, r.Created, r.Seeded = newID(), wallNow(), false
	return r, put(tx, r)
}

// Useful refuses an allow of a tool that runs commands which says nothing of their words: it would let nothing through.
func (r Rule) Useful(sets ToolSets) error {
	if r.Action == ActionAllow && sets.has(Commands, r.Tool) && r.Args == nil && r.Command == nil {
		return fmt.Errorf("no rule lets every call of %s through: press ♾ on its card, or list the words of a program in nod.yaml", r.Tool)
	}
	return nil
}

// newID is 60 random bits in letters and digits, short enough for a button beside other data.
func newID() string { return strings.ToLower(rand.Text()[:12]) }

func put(tx *store.Tx, r Rule) error {
	if err := rulesTable.Put(tx, store.Text(r.ID), r); err != nil {
		return fmt.Errorf("writing a rule: %w", err)
	}
	return nil
}

// Delete removes a rule; one that is gone already is no error.
func (rs *Rules) Delete(tx *store.Tx, id string) error {
	if err := rulesTable.Delete(tx, store.Text(id)); err != nil {
		return fmt.Errorf("deleting a rule: %w", err)
	}
	return nil
}

// Denied loads the rules once and gives back which tools have every call denied, so that they need not be offered. A
// tool that a rule of higher standing lets through for some arguments is not among them.
func (rs *Rules) Denied(tx *store.Tx, group, agent string, source Source) (func(tool string) bool, error) {
	all, err := rs.All(tx)
	if err != nil {
		return nil, err
	}
	asked := consulted(all, group)
	return func(tool string) bool {
		for _, r := range asked {
			if r.concerns(tool, agent, source, rs.sets) && (!r.conditional() || r.Action != ActionDeny) {
				return r.Action == ActionDeny
			}
		}
		return false
	}, nil
}

// first is the rule that speaks of the request: the first of its context's group, else the first of the default group.
func (rs *Rules) first(tx *store.Tx, req Request) (Rule, bool, error) {
	all, err := rs.All(tx)
	if err != nil {
		return Rule{}, false, err
	}
	for _, r := range consulted(all, req.Context.Group) {
		if r.Matches(req, rs.sets) {
			return r, true, nil
		}
	}
	return Rule{}, false, nil
}

// consulted is the rules of the group and then those of the default group, each in their order.
func consulted(all []Rule, group string) []Rule {
	var own, rest []Rule
	for _, r := range all {
		switch r.Group {
		case DefaultGroup:
			rest = append(rest, r)
		case group:
			own = append(own, r)
		}
	}
	return append(own, rest...)
}

// exactly is the rule that ♾ Always gives: this call with these arguments in this folder, and nothing else.
func exactly(r Request, by store.UserID) (Rule, error) {
	if !r.Lasting() {
		return Rule{}, fmt.Errorf("%w: no rule can let this call of %s through", ErrUnfit, r.Tool)
	}
	args, err := normal(r.Args)
	if err != nil {
		return Rule{}, fmt.Errorf("making a rule: %w", err)
	}
	return Rule{
		Group: cmp.Or(r.Context.Group, DefaultGroup), Priority: PriorityPerson, Tool: r.Tool, Args: json.RawMessage(args),
		Dir: r.Subject.Dir, Scripts: r.scripts(), Action: ActionAllow, Note: AlwaysWords(r), By: by,
	}, nil
}
