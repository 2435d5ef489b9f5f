package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"nod/agent/llm"
	"nod/agent/prompt"
	"nod/store"
	"nod/tools"
)

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

// ask has the model answer the transcript as it stands. When it is too long for the model it is shortened, and asked once more.
func (s *session) ask(ctx context.Context, turn Turn, record Session) (llm.Answer, error) {
	offer, err := s.offer(turn)
	if err != nil {
		return llm.Answer{}, err
	}
	system, err := s.Prompt.System(prompt.Facts{Agent: turn.Agent, Job: turn.JobTitle, Session: turn.Session, Offer: offer, Now: time.Now()})
	if err != nil {
		return llm.Answer{}, err
	}
	req := llm.Request{Model: record.Model, System: system, Tools: toolDefs(offer)}
	budget := s.budget(record.Model) - llm.Estimate(system) - llm.EstimateTools(req.Tools)
	req.Messages = s.history(record).fit(budget)
	answer, err := s.stream(ctx, turn, req)
	var refused *llm.Error
	if !errors.As(err, &refused) || refused.Kind != llm.KindOverflow {
		return answer, err
	}
	// The client has learned the window, if the service told it.
	budget = min(budget, s.budget(record.Model)) / 2
	req.Messages = s.history(record).fit(budget)
	return s.stream(ctx, turn, req)
}

// stream passes the answer on to the view as it comes.
func (s *session) stream(ctx context.Context, turn Turn, req llm.Request) (llm.Answer, error) {
	var text strings.Builder
	return s.Model.Stream(ctx, req, func(d llm.Delta) {
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
		if turn.Job == "" {
			s.View.Show(Streaming{Turn: turn, Text: text.String()})
		}
	})
}

func toolDefs(o *tools.Offer) []llm.ToolDef {
	defs := make([]llm.ToolDef, 0, len(o.Tools))
	for _, t := range o.Tools {
		defs = append(defs, llm.ToolDef{Name: t.Name(), Description: t.Description(), Schema: t.Schema()})
	}
	return defs
}

// history is the transcript as the model is shown it: the summary of what was before, then every entry, with the
// results of a batch right after it and in the order of its calls.
func (s *session) history(record Session) *history {
	h := &history{}
	if record.Summary != "" {
		m := llm.Message{Role: llm.RoleUser, Text: summaryHead + record.Summary}
		h.add(m, llm.EstimateMessages([]llm.Message{m}))
	}
	results := map[store.CallID]Entry{}
	for _, e := range s.entries {
		if e.Message.Role == llm.RoleTool {
			results[e.Call] = e
		}
	}
	pictures := newestPictures(s.entries)
	for _, e := range s.entries {
		if e.Message.Role == llm.RoleTool {
			continue
		}
		h.add(s.withPictures(e, pictures), e.tokens)
		for _, id := range e.Calls {
			if r, ok := results[id]; ok {
				h.add(s.withPictures(r, pictures), r.tokens)
			}
		}
	}
	return h
}

const (
	// maxPictures is how many of the latest pictures are shown to the model again in every request, maxPicture the
	// largest file that is, in bytes.
	maxPictures = 6
	maxPicture  = 5 << 20
)

// newestPictures says from which entry on pictures are shown.
func newestPictures(entries []Entry) (from uint64) {
	left := maxPictures
	for i := len(entries) - 1; i >= 0; i-- {
		if left -= len(entries[i].Images); left < 0 {
			return entries[i].seq + 1
		}
	}
	return 0
}

func (s *session) withPictures(e Entry, from uint64) llm.Message {
	m := e.Message
	if e.seq < from {
		return m
	}
	for _, image := range e.Images {
		if data, err := s.readPicture(image.Path); err == nil {
			m.Images = append(m.Images, llm.Image{MIME: image.MIME, Data: data})
		} else {
			s.log.Debug("leaving out a picture", "err", err)
		}
	}
	return m
}

func (s *session) readPicture(path string) ([]byte, error) {
	f, err := s.Workspace.Root().Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxPicture+1))
	if err == nil && len(data) > maxPicture {
		err = errors.New("it is larger than 5 MB")
	}
	return data, err
}
