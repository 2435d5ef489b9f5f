package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"nod/agent/llm"
	"nod/agent/prompt"
	"nod/agent/roster"
	"nod/store"
	"nod/tools"
)

// maxEcho is how much of one of its own texts a model is shown again, in bytes: one that ran away would leave no room.
const maxEcho = 128 << 10

// sync reads what has been appended to the transcript since the last look. The store is the one source: also what this
// goroutine has written itself comes back this way.
func (s *session) sync() (record Session, err error) {
	err = s.DB.View(func(tx *store.Tx) error {
		var ok bool
		if record, ok, err = sessions.Get(tx, s.id); err != nil {
			return err
		}
		if !ok {
			return fmt.Errorf("session %s is not in the database", s.id)
		}
		from := store.Seq[store.SessionID]{Of: s.id, N: max(s.last+1, record.Keep)}
		return transcripts.ScanFrom(tx, store.Prefix(s.id), from, func(k store.Seq[store.SessionID], e Entry) (bool, error) {
			if e.Message.Role == llm.RoleAssistant {
				e.Message.Text = tools.Clip(e.Message.Text, maxEcho, "")
			}
			e.seq, e.tokens = k.N, llm.EstimateMessages([]llm.Message{e.Message})
			s.entries = append(s.entries, e)
			s.last = k.N
			return true, nil
		})
	})
	if err != nil {
		return record, fmt.Errorf("reading a transcript: %w", err)
	}
	return record, nil
}

// errNotForTasks ends the work of an agent that takes none from others.
var errNotForTasks = errors.New("this agent is not one that does tasks")

// ask has the model answer the transcript as it stands. When it is too long for the model it is shortened, and asked once more.
func (s *session) ask(ctx context.Context, turn Turn, record Session) (llm.Answer, error) {
	agent, err := s.Roster.Find(turn.Agent)
	if err != nil {
		return llm.Answer{}, err
	}
	offer, err := s.offer(turn, agent)
	if err != nil {
		return llm.Answer{}, err
	}
	system, err := s.Prompt.System(prompt.Facts{
		Agent: agent, Job: turn.JobTitle, Task: turn.Task, Root: turn.root(), Fragments: turn.Context.Prompt, Dir: turn.Context.Dir,
		Offer: offer, Groups: s.Registry.Groups(), Now: time.Now(),
	})
	if err != nil {
		return llm.Answer{}, err
	}
	switch {
	case turn.Parent == "": // a person's choice comes first
		record.Model = cmp.Or(record.Model, agent.Model)
	case agent.Kind != roster.Task:
		return llm.Answer{}, errNotForTasks
	default:
		record.Model = cmp.Or(agent.Model, record.Model)
	}
	req := llm.Request{Model: record.Model, System: s.Mask(system), Tools: toolDefs(offer)}
	s.around = llm.Estimate(system) + llm.EstimateTools(req.Tools)
	budget := s.budget(record.Model) - s.around
	req.Messages = s.messages(newHistory(record, s.entries).fit(budget))
	answer, err := s.stream(ctx, turn, req)
	var refused *llm.Error
	switch {
	case !errors.As(err, &refused):
		return answer, err
	case refused.Kind == llm.KindOverflow:
		s.View.Show(Delayed{Turn: turn, Notice: llm.Notice{Model: record.Model, Err: refused}})
		// The client has learned the window, if the service told it.
		budget = min(budget, s.budget(record.Model)-s.around) / 2
		req.Messages = s.messages(newHistory(record, s.entries).fit(budget))
	case refused.Kind == llm.KindBadRequest && hidePictures(req.Messages):
		// Some picture that it does not take would go with every later request too.
		s.log.Warn("asking again without pictures", "turn", turn.ID, "err", refused)
	default:
		return answer, err
	}
	return s.stream(ctx, turn, req)
}

// unseen stands in for a picture that the service may have refused.
const unseen = "\n[a picture belongs here that the model service would not take; you can't see it]"

// hidePictures takes the pictures out of messages, and says whether there were any.
func hidePictures(messages []llm.Message) (found bool) {
	for i := range messages {
		if len(messages[i].Images) > 0 {
			found = true
			messages[i].Images = nil
			messages[i].Text += unseen
		}
	}
	return found
}

// stream passes the answer on to the view as it comes.
func (s *session) stream(ctx context.Context, turn Turn, req llm.Request) (llm.Answer, error) {
	var text strings.Builder
	answer, err := s.consult(ctx, req, func(d llm.Delta) {
		switch {
		case d.Retract:
			text.Reset()
		case d.Notice != nil:
			s.View.Show(Delayed{Turn: turn, Notice: *d.Notice})
			return
		case d.Text == "":
			return
		}
		text.WriteString(d.Text)
		if !turn.Unseen() {
			s.View.Show(Streaming{Turn: turn, Text: text.String()})
		}
	})
	answer.Text = s.Mask(answer.Text)
	if wire := string(answer.Wire); s.Mask(wire) != wire {
		answer.Wire = nil // it would go back word for word
	}
	return answer, err
}

func toolDefs(o *tools.Offer) []llm.ToolDef {
	defs := make([]llm.ToolDef, 0, len(o.Tools))
	for _, t := range o.Tools {
		defs = append(defs, llm.ToolDef{Name: t.Name(), Description: t.Description(), Schema: t.Schema()})
	}
	return defs
}

// messages reads the pictures of what fits. One that is no longer there, or no longer a picture file of the workspace, is
// left out, and so is one that would unpack to too much at the service's.
func (s *session) messages(lines []line) []llm.Message {
	out := make([]llm.Message, 0, len(lines))
	for _, l := range lines {
		for _, picture := range l.pictures {
			data, err := s.readPicture(picture.Path)
			if err != nil {
				s.log.Debug("leaving out a picture", "err", err)
				l.Text += "\n[a picture belongs here that can't be shown to you: " + err.Error() + "]"
				continue
			}
			l.Images = append(l.Images, llm.Image{MIME: picture.MIME, Data: data})
		}
		l.Calls = s.maskCalls(l.Calls)
		out = append(out, l.Message)
	}
	return out
}

// maskCalls takes secrets out of the arguments that a model is shown again; what runs has them as they were.
func (s *session) maskCalls(calls []llm.Call) []llm.Call {
	for i, c := range calls {
		if masked := s.Mask(c.Args); masked != c.Args {
			calls = slices.Clone(calls)
			calls[i].Args = masked
		}
	}
	return calls
}

// maxPicture is the largest picture file that is shown to the model, in bytes.
const maxPicture = 5 << 20

func (s *session) readPicture(path string) ([]byte, error) {
	f, info, err := s.Workspace.OpenInside(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info.Size() > maxPicture {
		return nil, fmt.Errorf("%s is larger than %d MB", path, maxPicture>>20)
	}
	if err := tools.CheckPicture(f, info.Size()); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return io.ReadAll(io.LimitReader(f, maxPicture))
}
