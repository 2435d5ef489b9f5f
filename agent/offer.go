package agent

import (
	"time"

	"nod/approvals"
	"nod/store"
	"nod/tools"
	"nod/tools/chat"
)

// offerIn picks the tools that a scope has now: those of the profile, its ports and active groups that no rule denies.
func (d *Driver) offerIn(tx *store.Tx, scope tools.Scope) (*tools.Offer, error) {
	v := tools.Visibility{Scope: scope}
	var err error
	if v.Groups, err = chat.ActiveGroups(tx, scope.Session); err != nil {
		return nil, err
	}
	if v.Denied, err = d.Rules.Denied(tx, scope.Context.Group, scope.Agent, scope.Source); err != nil {
		return nil, err
	}
	return d.Registry.Offer(v), nil
}

// Offered is what the next message at an address would be offered.
func (d *Driver) Offered(tx *store.Tx, at store.Address) (*tools.Offer, error) {
	s, ok, err := SessionAt(tx, at)
	if err != nil {
		return nil, err
	}
	if !ok {
		s = Session{Address: at, Source: approvals.Telegram, Agent: MainAgent, Created: time.Now()}
	}
	return d.offerIn(tx, d.scope(Turn{Session: s.ID, Address: at, Agent: s.Agent, Source: s.Source}))
}
