package approvals

import (
	"fmt"
	"slices"
	"time"

	"nod/store"
)

// grantsTable is filed by session, then id, so that a call looks only at its own session's.
var grantsTable = store.NewTable[store.Text, Grant]("bypasses", store.ParseText[store.Text])

const (
	// ShortGrant is how long a bypass by ⏱ holds.
	ShortGrant = 15 * time.Minute

	maxUses = 100 // uses that a grant remembers word by word; older ones are only counted
)

// Grant is a bypass that a person gave by ⏱ or 🔄: calls of one category are let through, in one session, in the turns of
// one person (or of that session's job). It stays on record after its end.
type Grant struct {
	ID       string          `json:"id"`
	Session  store.SessionID `json:"session"`
	Category string          `json:"category"`
	Source   Source          `json:"source"`
	For      store.UserID    `json:"for,omitempty"`  // whose turns; 0 for a job's
	By       store.UserID    `json:"by"`             // who gave it
	Until    time.Time       `json:"until,omitzero"` // zero: as long as the session
	Created  time.Time       `json:"created"`
	Ended    time.Time       `json:"ended,omitzero"` // revoked, or its session is over
	Uses     []Use           `json:"uses,omitempty"` // the newest at the end
	Count    int             `json:"count"`          // of all uses
}

// Use is one call that a grant let through.
type Use struct {
	Call store.CallID `json:"call"`
	Tool string       `json:"tool"`
	Text string       `json:"text"` // the head of the subject
	At   time.Time    `json:"at"`
}

func (gr Grant) key() store.Text { return store.Join(string(gr.Session), gr.ID) }

func (gr Grant) how() string {
	return fmt.Sprintf("bypass %s for %s by user %d", gr.ID, gr.Category, gr.By)
}

func (gr Grant) holds(now time.Time) bool {
	// A clock that was set back must not make fifteen minutes into a day. A small correction does no harm.
	setBack := now.Before(gr.Created.Add(-time.Minute))
	return gr.Ended.IsZero() && (gr.Until.IsZero() || now.Before(gr.Until) && !setBack)
}

// covers says whether the grant lets the call through. The giver must still be one who may decide.
func (gr Grant) covers(r Request, now time.Time) bool {
	return gr.holds(now) && r.Bypassable() && gr.Category == r.Category &&
		gr.Session == r.Session && gr.Source == r.Source && gr.For == r.By && slices.Contains(r.Deciders, gr.By)
}

func newGrant(p Pending, now time.Time) (Grant, error) {
	r := p.Request
	if !r.Bypassable() {
		return Grant{}, fmt.Errorf("%w: no bypass covers %s", ErrUnfit, r.Tool)
	}
	grant := Grant{
		ID: newID(), Session: r.Session, Category: r.Category, Source: r.Source, For: r.By, By: p.By, Created: now,
	}
	if p.Verb == VerbGrant15 {
		grant.Until = now.Add(ShortGrant)
	}
	return grant, nil
}

func putGrant(tx *store.Tx, gr Grant) error {
	if err := grantsTable.Put(tx, gr.key(), gr); err != nil {
		return fmt.Errorf("writing a bypass: %w", err)
	}
	return nil
}

// bypass finds a grant that covers the call and records the use in it.
func (g *Gate) bypass(tx *store.Tx, r Request) (Grant, bool, error) {
	if !r.Bypassable() {
		return Grant{}, false, nil
	}
	grants, err := grantsTable.All(tx, store.Prefix(r.Session))
	if err != nil {
		return Grant{}, false, fmt.Errorf("loading the bypasses: %w", err)
	}
	now := wallNow()
	i := slices.IndexFunc(grants, func(gr Grant) bool { return gr.covers(r, now) })
	if i < 0 {
		return Grant{}, false, nil
	}
	grant := grants[i]
	grant.Count++
	grant.Uses = append(grant.Uses, Use{Call: r.Call, Tool: r.Tool, Text: r.brief(), At: now})
	grant.Uses = grant.Uses[max(0, len(grant.Uses)-maxUses):]
	return grant, true, putGrant(tx, grant)
}

// brief is the head of what the call is about.
func (r Request) brief() string {
	if r.Subject.Kind != Command && len(r.Paths) > 0 {
		return clip(r.Paths[0].Shown)
	}
	return clip(r.Subject.Text)
}

// Grants lists the bypasses that hold, the oldest first, with what each let through.
func (g *Gate) Grants(tx *store.Tx) ([]Grant, error) {
	return holding(tx, nil)
}

func holding(tx *store.Tx, prefix []byte) ([]Grant, error) {
	all, err := grantsTable.All(tx, prefix)
	if err != nil {
		return nil, fmt.Errorf("loading the bypasses: %w", err)
	}
	now := time.Now()
	all = slices.DeleteFunc(all, func(gr Grant) bool { return !gr.holds(now) })
	slices.SortFunc(all, func(a, b Grant) int { return a.Created.Compare(b.Created) })
	return all, nil
}

// Revoke ends a bypass; one that has ended already, or never was, is no error.
func (g *Gate) Revoke(tx *store.Tx, id string) error {
	return end(tx, nil, func(gr Grant) bool { return gr.ID == id })
}

// EndSession ends the bypasses of a session that is over.
func (g *Gate) EndSession(tx *store.Tx, session store.SessionID) error {
	return end(tx, store.Prefix(session), func(Grant) bool { return true })
}

// EndAll ends every bypass.
func (g *Gate) EndAll(tx *store.Tx) error {
	return end(tx, nil, func(Grant) bool { return true })
}

func end(tx *store.Tx, prefix []byte, which func(Grant) bool) error {
	grants, err := holding(tx, prefix)
	if err != nil {
		return err
	}
	for _, gr := range grants {
		if !which(gr) {
			continue
		}
		gr.Ended = wallNow()
		if err := putGrant(tx, gr); err != nil {
			return err
		}
	}
	return nil
}
