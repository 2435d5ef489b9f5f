package agent

import (
	"time"

	"nod/agent/roster"
	"nod/approvals"
	"nod/store"
	"nod/tools"
	"nod/tools/chat"
)

// offerIn picks the tools that an agent has now: those of the profile, the scope's ports and active groups, and its own
// list, that no rule denies.
func (d *Driver) offerIn(tx *store.Tx, scope tools.Scope, agent roster.Agent) (*tools.Offer, error) {
	v := tools.Visibility{Scope: scope, Only: func(tool string) bool {
		return agent.Allows(tool) && !(agent.Kind == roster.System && tool == tools.AskUserClarification)
	}}
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
	agent, err := d.Roster.Find(s.Agent)
	if err != nil {
		return nil, err
	}
	where, err := d.contextAt(tx, at)
	if err != nil {
		return nil, err
	}
	return d.offerIn(tx, d.scope(Turn{Session: s.ID, Address: at, Agent: s.Agent, Source: s.Source, Context: where}), agent)
}
