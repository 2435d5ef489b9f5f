package agent

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"nod/agent/llm"
	"nod/store"
	"nod/tools"
	"nod/tools/gallery"
)

// maxFaults is how many rounds in a row may hold nothing but calls whose arguments can't be read.
const maxFaults = 3

var (
	ErrRounds = errors.New("the limit of rounds was reached")
	ErrFaults = errors.New("the model kept making calls whose arguments could not be read")
	ErrEmpty  = errors.New("the model gave an empty answer, also when asked again")

	errPanicked = errors.New("nod broke inside while it worked on this; the log has the details")
)

// take goes round after round: calls that have no result yet, then mail, then the model. What is to do next is read
// off the transcript, so that a turn resumed after a restart takes the same path as a new one.
func (s *session) take(ctx context.Context, turn Turn) error {
	if over, err := s.pickUp(turn); err != nil || over {
		return err
	}
	var answer llm.Answer // the newest; where it was cut, its beginning
	for {
		record, err := s.sync()
		if err == nil {
			err = s.DB.View(turn.refresh)
		}
		if err != nil {
			return fmt.Errorf("reading a turn: %w", err)
		}
		if turn.State == Stopping {
			s.cut(turn.ID) // before calls are looked at: they then end without running
		}
		if open := openCalls(s.entries, turn.ID); len(open) > 0 {
			if err := s.runCalls(ctx, turn, open); err != nil {
				return err
			}
			if ctx.Err() == nil {
				continue
			}
		}
		switch {
		case errors.Is(context.Cause(ctx), tools.ErrStopped):
			return s.stopped(turn, answer)
		case ctx.Err() != nil:
			return tools.ErrLeft
		case turn.Context.Gone:
			return s.fail(turn, ErrNoContext)
		case turn.Round >= s.Rounds:
			return s.fail(turn, ErrRounds)
		case turn.Faults >= maxFaults:
			return s.fail(turn, ErrFaults)
		}
		s.gathered(ctx, s.id)
		if took, err := s.steer(turn); err != nil {
			return err
		} else if took {
			continue
		}
		answer, err = s.ask(ctx, turn, record)
		switch {
		case ctx.Err() != nil:
			continue
		case err != nil:
			return s.breakOff(turn, answer, err)
		case answer.Empty:
			return s.fail(turn, ErrEmpty)
		case len(answer.Calls) == 0:
			return s.finish(turn, answer)
		}
		if turn, err = s.record(turn, answer); err != nil {
			return err
		}
		answer = llm.Answer{}
	}
}

// pickUp looks at a turn from before a restart: the view is told what it has done so far, and a job's run that was cut
// off is over.
func (s *session) pickUp(turn Turn) (over bool, err error) {
	if turn.Process == s.process {
		return false, nil
	}
	if _, err := s.sync(); err != nil {
		return false, err
	}
	if cut, err := s.cutOff(turn); err != nil {
		return false, err
	} else if cut {
		return true, s.fail(turn, ErrInterrupted)
	}
	return false, s.announceResumed(turn)
}

// steer moves waiting messages into the transcript of the turn under way.
func (s *session) steer(turn Turn) (took bool, err error) {
	var waiting bool
	if err := s.DB.View(func(tx *store.Tx) error {
		return mailboxes.Scan(tx, store.Prefix(s.id), func(_ store.Seq[store.SessionID], m mail) (bool, error) {
			waiting = !m.Held
			return m.Held, nil
		})
	}); err != nil || !waiting {
		return false, err
	}
	err = s.DB.Update(func(tx *store.Tx) error {
		inputs, err := takeMail(tx, s.id, false)
		if err != nil {
			return err
		}
		var ids []store.MessageID
		for _, in := range inputs {
			if err := s.file(tx, s.id, in, turn.ID); err != nil {
				return err
			}
			if in.News == nil {
				ids = append(ids, in.Message)
			}
		}
		if err := s.takeOver(tx, turn.ID, inputs); err != nil {
			return err
		}
		took = len(inputs) > 0
		return s.View.Emit(tx, Steered{Turn: turn, Messages: ids})
	})
	if err != nil {
		return false, fmt.Errorf("taking waiting messages into a turn: %w", err)
	}
	store.Failpoint("agent.steered")
	return took, nil
}

// record files an answer that makes calls.
func (s *session) record(turn Turn, answer llm.Answer) (Turn, error) {
	turn.Round++
	turn.Faults++
	for _, call := range answer.Calls {
		if call.Problem == "" {
			turn.Faults = 0
		}
	}
	err := s.DB.Update(func(tx *store.Tx) error {
		kept, err := s.keepAnswer(tx, turn, answer)
		if err != nil {
			return err
		}
		if err := turn.refresh(tx); err != nil {
			return err
		}
		if err := turns.Put(tx, turn.ID, turn); err != nil {
			return err
		}
		return sessions.Put(tx, s.id, kept)
	})
	if err != nil {
		return turn, fmt.Errorf("recording an answer: %w", err)
	}
	store.Failpoint("agent.recorded")
	return turn, nil
}

// refresh takes over what is changed of a stored turn beside its rounds: the mark that a person stopped it, the move of its
// group, whose it is, and who is told of a task.
func (t *Turn) refresh(tx *store.Tx) error {
	stored, ok, err := turns.Get(tx, t.ID)
	if err != nil || !ok {
		return err
	}
	t.Address, t.Cards = stored.Address, stored.Cards
	t.Origin, t.By, t.Deciders, t.Parent = stored.Origin, stored.By, stored.Deciders, stored.Parent
	if stored.State == Stopping {
		t.State = Stopping
	}
	return nil
}

// end puts a turn into its last state. It returns tools.ErrStopped when a person stopped it before it came to another end.
func (t *Turn) end(tx *store.Tx, as TurnState) error {
	if err := t.refresh(tx); err != nil {
		return err
	}
	if t.State == Stopping && as != Stopped {
		return tools.ErrStopped
	}
	t.State, t.Ended = as, time.Now()
	return nil
}

// keepAnswer appends an answer to the transcript and counts its usage into the session, which it gives back unsaved.
func (s *session) keepAnswer(tx *store.Tx, turn Turn, answer llm.Answer) (Session, error) {
	record, _, err := sessions.Get(tx, s.id)
	if err := errors.Join(err, s.book(tx)); err != nil {
		return record, err
	}
	e := Entry{Turn: turn.ID, At: time.Now(), Message: answer.Message(), Model: answer.Model}
	for range answer.Calls {
		e.Calls = append(e.Calls, store.NewCallID())
	}
	if _, err := store.Append(tx, transcripts, s.id, e); err != nil {
		return record, err
	}
	if len(e.Calls) > 0 {
		if err := s.View.Emit(tx, Commented{Turn: turn, Text: answer.Text, Calls: e.Calls}); err != nil {
			return record, err
		}
	}
	use := func(in *Session) { in.use(answer.Model, answer.Usage) }
	use(&record)
	if err := charge(tx, record.Lineage, use); err != nil {
		return record, err
	}
	if answer.Usage.In > 0 { // an answer that was cut has none
		record.LastIn, record.LastOut = answer.Usage.In, answer.Usage.Out
	}
	return record, nil
}

// keepPartial appends the beginning of an answer, marked as cut, where there is one. Its calls are not run.
func (s *session) keepPartial(tx *store.Tx, turn Turn, answer llm.Answer, mark string) (Session, error) {
	if answer.Text == "" {
		record, _, err := sessions.Get(tx, s.id)
		return record, errors.Join(err, s.book(tx))
	}
	answer.Text += "\n[" + mark + "]"
	answer.Calls, answer.Wire = nil, nil
	return s.keepAnswer(tx, turn, answer)
}

// finish files the answer that ends the turn, with what people see of it, and begins the next turn when mail waits.
func (s *session) finish(turn Turn, answer llm.Answer) error {
	turn.Round++
	s.View.Show(Ending{Turn: turn})
	err := s.DB.Update(func(tx *store.Tx) error {
		if err := turn.end(tx, Answered); err != nil {
			return err
		}
		record, err := s.keepAnswer(tx, turn, answer)
		if err != nil {
			return err
		}
		text := answer.Text
		if turn.Job != "" && nothingToReport(text) {
			text = ""
		}
		if err := s.View.Emit(tx, TurnAnswered{Turn: turn, Text: text}); err != nil {
			return err
		}
		if err := gallery.Asked(tx, turn.Address, turn.By, turn.ID); err != nil {
			return err
		}
		return s.close(tx, turn, record, text, nil)
	})
	if errors.Is(err, tools.ErrStopped) {
		return s.stopped(turn, answer)
	}
	if err != nil {
		return fmt.Errorf("finishing a turn: %w", err)
	}
	store.Failpoint("agent.finished")
	return nil
}

// fail ends the turn with an error that people are told.
func (s *session) fail(turn Turn, cause error) error { return s.breakOff(turn, llm.Answer{}, cause) }

// breakOff ends the turn with an error, and with the beginning of an answer where there is one.
func (s *session) breakOff(turn Turn, partial llm.Answer, cause error) error {
	s.View.Show(Ending{Turn: turn})
	s.log.Warn("a turn failed", "turn", turn.ID, "err", cause)
	err := s.DB.Update(func(tx *store.Tx) error {
		if err := turn.end(tx, Failed); err != nil {
			return err
		}
		record, err := s.keepPartial(tx, turn, partial, "the answer broke off here")
		if err != nil {
			return err
		}
		if _, err := s.Gate.Withdraw(tx, turn.ID, "the turn failed"); err != nil {
			return err
		}
		if err := s.View.Emit(tx, TurnFailed{Turn: turn, Err: cause, Partial: partial.Text}); err != nil {
			return err
		}
		return s.close(tx, turn, record, cause.Error(), cause)
	})
	if errors.Is(err, tools.ErrStopped) {
		return s.stopped(turn, partial)
	}
	if err != nil {
		return fmt.Errorf("ending a failed turn: %w", err)
	}
	store.Failpoint("agent.failed")
	return nil
}

// close ends a turn's records: its session is free, its job's run is over, and the mail that waits begins the next. What
// a stop keeps back waits for another message; what belongs to an address that has a fresh session goes there.
func (s *session) close(tx *store.Tx, turn Turn, record Session, summary string, cause error) error {
	if turn.Parent != "" {
		turn.Answer = summary
	}
	if err := turns.Put(tx, turn.ID, turn); err != nil {
		return err
	}
	if err := s.part(tx, turn); err != nil {
		return err
	}
	record.Turn = ""
	if turn.Run != "" {
		if err := s.Jobs.Finish(tx, turn.Run, runOutcome(turn, cause), summary); err != nil {
			return err
		}
	}
	current, ok, err := SessionAt(tx, turn.Address)
	if err != nil {
		return err
	}
	moved := ok && current.ID != s.id
	if turn.State == Stopped {
		if err := holdMail(tx, s.id, !moved); err != nil {
			return err
		}
	}
	if !moved {
		return s.goOn(tx, record)
	}
	if err := errors.Join(sessions.Put(tx, s.id, record), moveMail(tx, s.id, current.ID)); err != nil || current.Turn != "" {
		return err
	}
	tx.OnCommit(func() { s.wake(current.ID) })
	return s.goOn(tx, current)
}

// goOn files a session that is free, and begins its next turn when mail is due.
func (d *Driver) goOn(tx *store.Tx, s Session) error {
	inputs, err := takeMail(tx, s.ID, false)
	if err != nil {
		return err
	}
	if len(inputs) == 0 {
		return sessions.Put(tx, s.ID, s)
	}
	return d.begin(tx, &s, inputs)
}

// part ends what ties a turn to other agents: who still works for it is stopped, and whoever it worked for is told.
func (s *session) part(tx *store.Tx, turn Turn) error {
	tx.OnCommit(func() { s.ended(turn.ID) })
	children, err := childrenOf(tx, s.id)
	if err != nil {
		return err
	}
	for _, child := range children {
		if child.Nested() {
			if _, err := s.stop(tx, child, everything); err != nil {
				return err
			}
		}
	}
	if turn.Parent == "" {
		return nil
	}
	if err := offspring.Delete(tx, turn.key(s.id)); err != nil {
		return err
	}
	if !turn.isTask() {
		return nil
	}
	if err := s.Gate.EndSession(tx, s.id); err != nil {
		return err
	}
	return s.tellParent(tx, turn)
}

func stack() string { return string(debug.Stack()) }
