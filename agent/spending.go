package agent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"nod/agent/llm"
	"nod/store"
)

// Spending bounds what models and services may cost, in USD by the prices that are configured for them; 0 is no bound. It is
// looked at before each of them is asked, so what is passed is passed by what was under way.
type Spending struct {
	Daily float64        // of all sessions on one day
	Job   float64        // of one run of a job
	Zone  *time.Location // in which a day begins; nil means UTC
}

// Capped says whether anything is bounded.
func (s Spending) Capped() bool { return s.Daily > 0 || s.Job > 0 }

// CapError ends a turn before a call of the model that a cap on spending forbids. A service for speech or pictures is not
// asked because of it either.
type CapError struct {
	Job   bool    // the cap of a job's run, else the day's
	Cap   float64 // in USD
	Spent float64 // in USD
}

func (e *CapError) Error() string {
	if e.Job {
		return fmt.Sprintf("this run has cost $%.2f, and its cap is $%.2f", e.Spent, e.Cap)
	}
	return fmt.Sprintf("today has cost $%.2f, and the day's cap is $%.2f", e.Spent, e.Cap)
}

// spent is what a day or a job's run has cost so far.
type spent struct {
	USD float64   `json:"usd"`
	At  time.Time `json:"at"` // of its newest call
}

const spendingBucket = "spending"

var spendings = store.NewTable[store.Text, spent](spendingBucket, store.ParseText[store.Text])

// keepSpending is how long days and runs are remembered.
const keepSpending = 31 * 24 * time.Hour

func (s Spending) day(at time.Time) store.Text {
	zone := s.Zone
	if zone == nil {
		zone = time.UTC
	}
	return store.Join("day", at.In(zone).Format(time.DateOnly))
}

func ofRun(id store.RunID) store.Text { return store.Join("run", string(id)) }

// till is what a session's calls of the model cost. It belongs to the session's goroutine; while that waits for calls of
// tools, these look into it.
type till struct {
	payer store.RunID // whose cap counts it, or ""
	owed  float64     // what is not in the books yet, in USD
}

// consult asks the model, unless that would pass a cap on spending. What it cost goes into the books with the next
// commit of this session's.
func (s *session) consult(ctx context.Context, req llm.Request, sink func(llm.Delta)) (llm.Answer, error) {
	if err := s.DB.View(s.affordable); err != nil {
		return llm.Answer{}, err
	}
	began := false
	answer, err := s.Model.Stream(ctx, req, func(d llm.Delta) {
		began = began || d.Notice == nil
		sink(d)
	})
	usage := answer.Usage
	if usage.In == 0 && began { // not told, or cut off before it was
		usage = s.guess(req, answer)
	}
	s.till.owed += llm.Cost(usage, s.Model.Describe(answer.Model))
	return answer, err
}

// guess is the usage of an answer for which the service stated none.
func (s *session) guess(req llm.Request, a llm.Answer) llm.Usage {
	in := llm.Estimate(req.System) + llm.EstimateMessages(req.Messages) + llm.EstimateTools(req.Tools)
	out := llm.EstimateMessages([]llm.Message{a.Message()})
	return llm.Usage{In: int(float64(in) * s.Model.Ratio(a.Model)), Out: out}
}

// affordable says whether the model, or a service, may be asked once more. Its error is a *CapError.
func (s *session) affordable(tx *store.Tx) error { return s.Spending.allows(tx, s.till) }

// Refuses implements tools.Till by the caps on spending.
func (s *session) Refuses(tx *store.Tx) (why string, err error) {
	err = s.affordable(tx)
	if capped, ok := errors.AsType[*CapError](err); ok {
		return capped.Error(), nil
	}
	return "", err
}

// Pay implements tools.Till: what a call has cost goes into the books, and counts for the session and those above it.
func (s *session) Pay(tx *store.Tx, tool string, usd float64) error {
	record, _, err := sessions.Get(tx, s.id)
	if err != nil {
		return err
	}
	count := func(in *Session) { in.paid(tool, usd) }
	count(&record)
	return errors.Join(sessions.Put(tx, s.id, record), charge(tx, record.Lineage, count), s.Spending.count(tx, usd, s.till.payer))
}

// allows says whether what t pays for may go on. Its error is a *CapError.
func (s Spending) allows(tx *store.Tx, t till) error {
	day, _, err := spendings.Get(tx, s.day(time.Now()))
	if err != nil {
		return err
	}
	if total := day.USD + t.owed; s.Daily > 0 && total >= s.Daily {
		return &CapError{Cap: s.Daily, Spent: total}
	}
	if s.Job == 0 || t.payer == "" {
		return nil
	}
	run, _, err := spendings.Get(tx, ofRun(t.payer))
	if total := run.USD + t.owed; err == nil && total >= s.Job {
		return &CapError{Job: true, Cap: s.Job, Spent: total}
	}
	return err
}

// book files what this session's calls of the model have cost since they were filed last.
func (s *session) book(tx *store.Tx) error {
	cost := s.till.owed
	if cost == 0 {
		return nil
	}
	tx.OnCommit(func() { s.till.owed -= cost })
	return s.Spending.count(tx, cost, s.till.payer)
}

// count adds a sum to what the day has cost, and a job's run unless payer is "".
func (s Spending) count(tx *store.Tx, cost float64, payer store.RunID) error {
	now := time.Now()
	day := s.day(now)
	if known, err := spendings.Has(tx, day); err != nil {
		return err
	} else if !known {
		if err := forgetSpending(tx, now.Add(-keepSpending)); err != nil {
			return err
		}
	}
	keys := []store.Text{day}
	if payer != "" {
		keys = append(keys, ofRun(payer))
	}
	for _, key := range keys {
		sum, _, err := spendings.Get(tx, key)
		if err != nil {
			return err
		}
		if err := spendings.Put(tx, key, spent{USD: sum.USD + cost, At: now.UTC()}); err != nil {
			return fmt.Errorf("counting what something cost: %w", err)
		}
	}
	return nil
}

// forgetSpending drops days and runs that cost nothing since a time.
func forgetSpending(tx *store.Tx, since time.Time) error {
	err := spendings.DeleteFunc(tx, nil, func(_ store.Text, s spent) bool { return s.At.Before(since) })
	if err != nil {
		return fmt.Errorf("forgetting what old days cost: %w", err)
	}
	return nil
}

// SpentToday is what all sessions have cost on this day, in USD.
func (d *Driver) SpentToday(tx *store.Tx) (float64, error) {
	day, _, err := spendings.Get(tx, d.Spending.day(time.Now()))
	return day.USD, err
}

// Affordable says whether the day's cap lets a service be asked for what belongs to no turn. Its error is a *CapError.
func (d *Driver) Affordable() error {
	return d.DB.View(func(tx *store.Tx) error { return d.Spending.allows(tx, till{}) })
}

// PayToday books to the day what a service was asked that belongs to no turn, in USD.
func (d *Driver) PayToday(usd float64) error {
	return d.DB.Update(func(tx *store.Tx) error { return d.Spending.count(tx, usd, "") })
}
