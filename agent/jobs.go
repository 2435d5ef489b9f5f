package agent

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"nod/agent/llm"
	"nod/approvals"
	"nod/scheduler"
	"nod/store"
	"nod/tools"
)

// ErrInterrupted ends a job's run that a restart cut off: it is reported, and not run again.
var ErrInterrupted = errors.New("nod was restarted while this ran; it was not run again")

// silence is what the model answers in a job's run when there is nothing to report.
const silence = "NOTHING TO REPORT"

func nothingToReport(answer string) bool {
	return strings.EqualFold(strings.Trim(strings.TrimSpace(answer), "*_.[]"), silence)
}

// jobWords is the first message of a job's run.
func jobWords(r scheduler.Run) string {
	var b strings.Builder
	b.WriteString("[A scheduled job is due: " + r.Job.Title + ". Nobody is watching; your answer is sent to the chat as its report. " +
		"If there is nothing to report, answer exactly: " + silence + "]\n")
	if note := r.Note(); note != "" {
		b.WriteString("[" + note + "]\n")
	}
	b.WriteString(r.Job.Prompt)
	return b.String()
}

// Launch begins a due job's run in a session of its own, within the scheduler's commit. It implements scheduler.Launcher.
func (d *Driver) Launch(tx *store.Tx, r scheduler.Run) error {
	home, err := d.home(tx, r.Job)
	if err != nil {
		return err
	}
	where, err := d.contextNamed(tx, r.Job.Context)
	if err != nil {
		return err
	}
	title := d.Mask(r.Job.Title)
	s := Session{ID: store.NewSessionID(), Address: home.Address, Source: approvals.Cron, Agent: r.Job.Agent, Created: time.Now()}
	turn := Turn{
		ID: store.NewTurnID(), Session: s.ID, Address: home.Address, Agent: s.Agent, Source: s.Source, State: Active,
		Process: d.process, Began: time.Now(), Origin: approvals.Origin{Kind: approvals.FromJob, Name: title}, Deciders: home.Deciders, Cards: home.Address, Job: r.Job.ID, JobTitle: title, JobNote: r.Note(), Run: r.ID, Payer: r.ID,
		Context: where,
	}
	entry := Entry{Turn: turn.ID, At: turn.Began, Message: llm.Message{Role: llm.RoleUser, Text: d.Mask(jobWords(r))}}
	if _, err := store.Append(tx, transcripts, s.ID, entry); err != nil {
		return fmt.Errorf("launching a run: %w", err)
	}
	tx.OnCommit(func() { d.wake(s.ID) })
	return d.open(tx, &s, turn)
}

// Report tells a job's chat what happened to it beside its runs. It implements scheduler.Launcher.
func (d *Driver) Report(tx *store.Tx, job scheduler.Job, text string) error {
	home, err := d.home(tx, job)
	if err != nil {
		return err
	}
	return d.View.Emit(tx, JobReported{Address: home.Address, Title: d.Mask(job.Title), Text: text})
}

// home is where a job reports, and who decides there.
func (d *Driver) home(tx *store.Tx, job scheduler.Job) (Home, error) {
	home, err := d.Home(tx)
	if err == nil && job.Home != (store.Address{}) {
		home.Address = job.Home
	}
	return home, err
}

// runOutcome is how a job's run stands in its history.
func runOutcome(turn Turn, cause error) scheduler.Outcome {
	switch {
	case errors.Is(cause, ErrInterrupted):
		return scheduler.OutcomeInterrupted
	case turn.State == Stopped:
		return scheduler.OutcomeStopped
	case turn.State == Failed:
		return scheduler.OutcomeFailed
	}
	return scheduler.OutcomeDone
}

// cutOff says whether a job's run was interrupted by a restart, with nothing left for a person to decide: then it is over.
func (s *session) cutOff(turn Turn) (bool, error) {
	if turn.Job == "" || turn.State == Stopping {
		return false, nil
	}
	waits := false
	err := s.DB.View(func(tx *store.Tx) (err error) {
		waits, err = decidable(tx, s.entries, turn.ID)
		return err
	})
	return !waits, err
}

// decidable says whether a turn from before a restart, or a sub-agent of it, has a call for a person to decide.
func decidable(tx *store.Tx, entries []Entry, turn store.TurnID) (bool, error) {
	for _, c := range openCalls(entries, turn) {
		e, known, err := tools.LatestExecution(tx, c.id)
		if err != nil || known && (e.State == tools.AwaitingApproval || e.State == tools.Running && e.Effect == tools.Write) {
			return err == nil, err
		}
		nested, err := transcripts.All(tx, store.Prefix(store.SessionID(c.id)))
		if err != nil {
			return false, err
		}
		if below, err := decidable(tx, nested, store.TurnID(c.id)); err != nil || below {
			return below, err
		}
	}
	return false, nil
}

// interruptRuns closes runs that no turn carries on.
func (d *Driver) interruptRuns(tx *store.Tx, carried map[store.RunID]bool) error {
	running, err := d.Jobs.Running(tx)
	if err != nil {
		return err
	}
	for _, r := range running {
		if carried[r.ID] {
			continue
		}
		if err := d.Jobs.Interrupt(tx, r.ID); err != nil {
			return err
		}
		if err := d.Report(tx, r.Job, sentenceOf(ErrInterrupted)); err != nil {
			d.Log.Warn("reporting an interrupted run", "job", r.Job.ID, "run", r.ID, "err", err)
		}
	}
	return nil
}

// sentenceOf is an error as a sentence.
func sentenceOf(err error) string { return "Interrupted: " + err.Error() + "." }
