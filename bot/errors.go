package bot

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"nod/agent"
	"nod/agent/llm"
)

// failureText is what a person reads of a turn that failed: a sentence, and a hint on what to do. The operator has the
// whole error in the log.
func failureText(err error) string {
	text, hint := failure(err)
	if hint == "" {
		return "⚠️ " + text
	}
	return "⚠️ " + text + "\n" + hint
}

func failure(err error) (text, hint string) {
	var refused *llm.Error
	var capped *agent.CapError
	switch {
	case errors.As(err, &capped):
		return cappedText(capped)
	case errors.Is(err, agent.ErrRounds):
		return "I stopped here: this took more steps than one turn may.", "Say “go on” to continue."
	case errors.Is(err, agent.ErrFaults):
		return "I stopped here: the model kept making calls that could not be read.", "Try again, put it differently, or choose another model with /model."
	case errors.Is(err, agent.ErrEmpty):
		return "The model gave an empty answer, twice.", "Try again, or choose another model with /model."
	case errors.Is(err, agent.ErrNoContext):
		return "The run context that this was to work in is not defined any more, so nothing was done.", "Choose another with /profile; a job keeps its own, so make the job anew."
	case errors.Is(err, agent.ErrInterrupted):
		return "Interrupted: nod was restarted while this ran. It was not run again.", "/jobs can run it now."
	case errors.As(err, &refused):
		return modelFailure(refused)
	}
	return "This did not work: " + clean(err.Error()) + ".", "Try again; if it stays, the log of nod has the details."
}

func cappedText(e *agent.CapError) (text, hint string) {
	if e.Job {
		return fmt.Sprintf("This run has cost $%.2f, and I stop at $%.2f.", e.Spent, e.Cap), "To raise this cap, set spending.job in nod.yaml (or NOD_SPEND_JOB) and restart nod."
	}
	return fmt.Sprintf("Today has cost $%.2f, and I stop at $%.2f a day.", e.Spent, e.Cap), "To go on before midnight, raise spending.daily in nod.yaml (or NOD_SPEND_DAILY) and restart nod."
}

func modelFailure(e *llm.Error) (text, hint string) {
	if e.Runaway() {
		return "The model's answer had no end in sight, so I cut it.", "Ask for less at a time, or choose another model with /model."
	}
	text = sentence(e.Kind.String())
	if e.Message != "" && e.Kind != llm.KindTruncated { // that one is ours
		text += " It says: " + clean(e.Message)
	}
	switch e.Kind {
	case llm.KindAuth:
		hint = "Check OPENAI_API_KEY (or api_key in nod.yaml) and restart nod."
	case llm.KindQuota:
		hint = "Top up the account, or choose another model with /model."
	case llm.KindNotFound:
		hint = "Check NOD_MODEL and OPENAI_BASE_URL; /models lists what is configured."
	case llm.KindOverflow:
		hint = "Use /compact, or begin anew with /new."
	case llm.KindRateLimited:
		hint = "Wait a little and send it again."
		if e.After > 0 {
			hint = fmt.Sprintf("Send it again in %s.", e.After.Round(time.Second))
		}
	case llm.KindTruncated:
		hint = "Send “go on” or ask again."
	case llm.KindUnavailable:
		hint = "It stays unanswered: send it again in a while. nod itself is fine."
	case llm.KindBadRequest:
		hint = "Use /new if it stays, or choose another model with /model."
	}
	return text, hint
}

// delayNotice is the line that tells of a delay: while it lasts, and when it is over.
type delayNotice struct{ now, later string }

func noticeOf(n llm.Notice) delayNotice {
	why := ": " + n.Err.Kind.String() + "."
	switch {
	case n.Next != "":
		going := "↪ Going on with " + n.Next + why
		return delayNotice{going, going}
	case n.Err.Kind == llm.KindOverflow:
		return delayNotice{"⏳ Asking again with less of what was said before" + why, "↻ Asked again with less of what was said before" + why}
	}
	return delayNotice{"⏳ Trying again in " + n.Wait.Round(time.Second).String() + why, "↻ Asked again" + why}
}

// sentence makes a phrase into a sentence.
func sentence(s string) string {
	if s == "" {
		return ""
	}
	return capital(s) + "."
}

// capital begins a phrase of ours with a capital letter.
func capital(s string) string {
	if s == "" {
		return ""
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// clean makes an error's text fit into one line of a chat.
func clean(s string) string { return firstLine(strings.Join(strings.Fields(s), " ")) }
