package agent

import (
	"context"
	"fmt"
	"time"

	"nod/agent/llm"
	"nod/store"
)

// Spending bounds what the models may cost, in USD by the prices that are configured for them; 0 is no bound. It is
// looked at before each call of a model, so what is passed is passed by the calls that were under way.
type Spending struct {
	Daily float64        // of all sessions on one day
	Job   float64        // of one run of a job
	Zone  *time.Location // in which a day begins; nil means UTC
}

// CapError ends a turn before a call of the model that a cap on spending forbids.
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

// till is what a session's calls of the model cost. It belongs to the session's goroutine.
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

// affordable says whether the model may be asked once more. Its error is a *CapError.
func (s *session) affordable(tx *store.Tx) error {
	day, _, err := spendings.Get(tx, s.Spending.day(time.Now()))
	if err != nil {
		return err
	}
	if total := day.USD + s.till.owed; s.Spending.Daily > 0 && total >= s.Spending.Daily {
		return &CapError{Cap: s.Spending.Daily, Spent: total}
	}
	if s.Spending.Job == 0 || s.till.payer == "" {
		return nil
	}
	run, _, err := spendings.Get(tx, ofRun(s.till.payer))
	if total := run.USD + s.till.owed; err == nil && total >= s.Spending.Job {
		return &CapError{Job: true, Cap: s.Spending.Job, Spent: total}
	}
	return err
}

// book files what this session's calls have cost since they were filed last.
func (s *session) book(tx *store.Tx) error {
	cost, now := s.till.owed, time.Now()
	if cost == 0 {
		return nil
	}
	tx.OnCommit(func() { s.till.owed -= cost })
	day := s.Spending.day(now)
	if known, err := spendings.Has(tx, day); err != nil {
		return err
	} else if !known {
		if err := forgetSpending(tx, now.Add(-keepSpending)); err != nil {
			return err
		}
	}
	keys := []store.Text{day}
	if s.till.payer != "" {
		keys = append(keys, ofRun(s.till.payer))
	}
	for _, key := range keys {
		sum, _, err := spendings.Get(tx, key)
		if err != nil {
			return err
		}
		if err := spendings.Put(tx, key, spent{USD: sum.USD + cost, At: now.UTC()}); err != nil {
			return fmt.Errorf("counting what an answer cost: %w", err)
		}
	}
	return nil
}

// forgetSpending drops days and runs that cost nothing since a time.
func forgetSpending(tx *store.Tx, since time.Time) error {
	var old []store.Text
	err := spendings.Scan(tx, nil, func(key store.Text, s spent) (bool, error) {
		if s.At.Before(since) {
			old = append(old, key)
		}
		return true, nil
	})
	if err != nil {
		return err
	}
	for _, key := range old {
		if err := spendings.Delete(tx, key); err != nil {
			return fmt.Errorf("forgetting what old days cost: %w", err)
		}
	}
	return nil
}

// SpentToday is what all sessions have cost on this day, in USD.
func (d *Driver) SpentToday(tx *store.Tx) (float64, error) {
	day, _, err := spendings.Get(tx, d.Spending.day(time.Now()))
	return day.USD, err
}
