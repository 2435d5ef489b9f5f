package agent

import (
	"slices"

	"nod/approvals"
	"nod/store"
)

// origin is what a message opens a turn as: only what its sender typed counts as a person's own words.
func (in Input) origin() approvals.Origin {
	switch {
	case in.News != nil:
		return in.News.Origin
	case in.Forwarded != "":
		return approvals.Origin{Kind: approvals.FromForward, Name: in.Forwarded}
	case in.Text == "":
		return approvals.Origin{Kind: approvals.FromWordless, Name: in.Speaker}
	}
	return approvals.Origin{Kind: approvals.FromPerson}
}

// openedBy is what messages that begin a turn open it as. The last sender's turn it is, and words of that one's own among
// them outweigh what else came along.
func openedBy(inputs []Input) approvals.Origin {
	last := inputs[len(inputs)-1]
	for _, in := range inputs {
		if in.From == last.From && in.origin().Typed() {
			return in.origin()
		}
	}
	return last.origin()
}

// attended says whether an owner who decides on the turn's calls began it, or took it over, in typed words.
func (t *Turn) attended() bool {
	return t.Origin.Typed() && t.By != 0 && slices.Contains(t.Deciders, t.By)
}

// takeOver makes the turn that of an owner whose own typed words steer it, where no owner's words stand behind it yet. It
// says whether that changed the turn.
func (t *Turn) takeOver(in Input) bool {
	if t.attended() || !in.origin().Typed() || !slices.Contains(in.Deciders, in.From) {
		return false
	}
	t.Origin, t.By, t.Deciders, t.Cards = in.origin(), in.From, in.Deciders, in.Cards
	return true
}

// takeOver files what the messages that steer a turn make of it.
func (s *session) takeOver(tx *store.Tx, id store.TurnID, inputs []Input) error {
	turn, ok, err := turns.Get(tx, id)
	if err != nil || !ok {
		return err
	}
	changed := false
	for _, in := range inputs {
		changed = turn.takeOver(in) || changed
	}
	if !changed {
		return nil
	}
	return turns.Put(tx, id, turn)
}
