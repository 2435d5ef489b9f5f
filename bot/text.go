package bot

// The voice of nod, in every sentence that a person reads:
//   - say what is, then what to do; one thought a sentence
//   - plain words, no exclamation marks, no apologies, no "please"
//   - a person's things are named as the person named them
//   - never blame, never guess, never show a stack, an id or a key
//   - short enough for a lock screen where it can be

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"nod/agent"
	"nod/approvals"
	"nod/bot/render"
	"nod/tools"
)

const (
	emptyAnswer  = "(The answer was empty.)"
	strangerText = "This is a private bot. Its owner has been asked."
	shutText     = "This is a private bot. If it is yours, open the link that nod printed in its terminal."
	badCodeText  = "This link does not work. A link works once, within ten minutes; nod invite prints a new one."
	lostText     = "⚠️ This message could not be handled, three times over. Send it again; if it stays, the log of nod has the details."
	wholeInFile  = "The whole answer is in answer.md below."
	notForYou    = "This is not for you to decide."
	restoredText = "♻️ A backup was restored. What was under way in it is stopped, since it may have been done already; what ⏱ and 🔄 let through is asked again. People, rules and jobs are those of the backup: look at /grants and /jobs."
	// editedCommandText answers a message that an edit made a command: it may be an old one that was obeyed already.
	editedCommandText = "A command counts when it is sent, not when a message is edited into one. Send it again."
	editedSecretText  = "A secret counts as it was sent first; the edit changed nothing. If it was mistyped, ask me to take it again."
	lateSecretText    = "This question is closed. I deleted your reply, in case it was the secret; ask me to take it again."
	droppedSecretText = "What was typed as a secret is deleted and kept nowhere: nothing asks for it any more."
	notDoneText       = "This run was not done; /jobs can run it once the service is back."
	hushText          = "Until this is over, runs that fail like this are counted and not reported one by one."
	comesAndGoesText  = "It comes and goes: I tell you when there has been an hour without."
	leftOutText       = "A command takes no file, so what came with it was not kept. Send it without a command."
)

func jobHead(title string) string  { return "📅 " + title }
func taskHead(title string) string { return "🚀 " + title }

// originLine says what began the turn that a card comes from, where that is no message that its reader has typed.
func originLine(r approvals.Request) string {
	var parts []string
	switch {
	case r.Job != "" && r.Source == approvals.Cron:
		parts = append(parts, "for the job "+r.Job)
	case r.Job != "":
		parts = append(parts, "for the task "+r.Job)
	}
	switch name := r.Origin.Name; r.Origin.Kind {
	case approvals.FromForward:
		parts = append(parts, "after a forwarded message from "+cmp.Or(name, "somebody"))
	case approvals.FromWordless:
		parts = append(parts, "after a message without typed words")
	case approvals.FromTask:
		parts = append(parts, "after the result of the task "+cmp.Or(name, "without a title"))
	case approvals.FromNotification:
		parts = append(parts, "after a notification from "+cmp.Or(name, "a job"))
	}
	return capital(strings.Join(parts, ", "))
}

// jobReport is what stands above a job's report, in Markdown.
func jobReport(turn agent.Turn) string {
	head := "**" + escapeMarkdown(jobHead(turn.JobTitle)) + "**"
	if turn.JobNote != "" {
		head += "  \n*" + escapeMarkdown(sentence(turn.JobNote)) + "*"
	}
	return head + "\n\n"
}

func stateIcon(s tools.State) string {
	switch s {
	case tools.AwaitingApproval:
		return "✋"
	case tools.Completed:
		return "✓"
	case tools.Failed:
		return "⚠️"
	case tools.Cancelled:
		return "⏹"
	case tools.Rejected:
		return "🚫"
	}
	return "⏳"
}

// stoppedText says what a stopped turn had done, and which messages wait.
func stoppedText(e agent.TurnStopped) string {
	calls := slices.DeleteFunc(slices.Clone(e.Calls), func(c tools.Execution) bool { return slices.Contains(quietTools, c.Tool) })
	var b strings.Builder
	b.WriteString("⏹ Stopped.")
	switch {
	case e.Partial != "":
		b.WriteString(" The answer above is as far as it got.")
	case len(calls) == 0:
		b.WriteString(" Nothing had been done yet.")
	}
	lines := make([]string, len(calls))
	for i, c := range calls {
		label, _ := render.Visible(c.Short)
		if c.Agent != e.Turn.Agent {
			label = c.Agent + ": " + label
		}
		lines[i] = stateIcon(c.State) + " " + strings.ReplaceAll(label, "`", "")
		switch {
		case c.State == tools.Rejected, c.State == tools.Cancelled && c.Began.IsZero():
			lines[i] += " (not run)"
		case c.State == tools.Cancelled:
			lines[i] += " (cut off)"
		}
	}
	b.WriteString(listed(lines))
	b.WriteString(waitingText(e.Queued))
	return b.String()
}

// maxListed bounds what the answer to a /stop lists of a kind, in characters: it is one message.
const maxListed = 1500

// listed joins the lines that fit, and says how many do not.
func listed(lines []string) string {
	var b strings.Builder
	chars := 0
	for i, line := range lines {
		if chars += utf8.RuneCountInString(line); chars > maxListed {
			fmt.Fprintf(&b, "\n… and %d more", len(lines)-i)
			break
		}
		b.WriteString("\n" + line)
	}
	return b.String()
}

// waitingText lists messages that a stop kept back.
func waitingText(messages []string) string {
	if len(messages) == 0 {
		return ""
	}
	lines := make([]string, len(messages))
	for i, text := range messages {
		lines[i] = "• " + firstLine(text)
	}
	return "\nWaiting for your next message:" + listed(lines)
}

func compactedText(e agent.Compacted) string {
	if e.Err != nil {
		return "🗜 Not compacted: " + e.Err.Error() + "."
	}
	return "🗜 The earlier conversation was replaced by a summary. What matters is kept."
}

// todayText says what all sessions have cost on this day, and where the caps are.
func todayText(spent float64, caps agent.Spending) string {
	text := fmt.Sprintf("Today, all sessions: **$%.4f**", spent)
	if caps.Daily > 0 {
		text += fmt.Sprintf(" of the $%.2f that a day may cost", caps.Daily)
	}
	if text += "."; caps.Job > 0 {
		text += fmt.Sprintf(" A job's run may cost $%.2f.", caps.Job)
	}
	return text
}

// gapText says between which times messages may have been lost.
func gapText(from, to time.Time) string {
	return "⚠️ nod was out of reach for more than a day, and Telegram keeps messages for 24 hours. What was sent between " +
		moment(from) + " and " + moment(to) + " may be lost: send it again."
}

// moment is a time of the last days.
func moment(t time.Time) string { return t.Format("Mon 2 Jan, 15:04") }

// welcomeText greets somebody who may talk to us; paired says that this was given a moment ago.
func welcomeText(p Person, paired bool) string {
	name := escapeMarkdown(p.Name)
	if p.Role == Owner {
		owns := ""
		if paired {
			owns = " You own this bot now."
		}
		return "👋 Hello " + name + "." + owns + " Tell me what to do; what matters waits for your ✅.\n\n/help lists what else there is."
	}
	return "👋 Hello " + name + ". You may chat with me. The owner decides on what needs a nod.\n\n/help lists what else there is."
}

// helpText lists the commands that a person may use.
func helpText(role Role, custom []customCommand) string {
	var b strings.Builder
	b.WriteString("Write to me, or send a file or a voice note. I ask before anything that matters: look at the card, then tap ✅ or ❌. " +
		"Reply to a card to reject it with a reason. Write while I work to steer me.\n\n")
	for _, c := range commands {
		if c.hidden || role != Owner && !c.guests {
			continue
		}
		fmt.Fprintf(&b, "/%s — %s  \n", c.name, c.help)
	}
	for _, c := range custom {
		fmt.Fprintf(&b, "/%s — %s  \n", escapeMarkdown(c.name), escapeMarkdown(c.description))
	}
	return strings.TrimSpace(b.String())
}

// invitationText is what somebody reads who is invited to a group.
func invitationText(title string, link tools.JoinLink) string {
	how := "The link works once"
	if link.ByRequest {
		how = "Ask to join there, and you are let in; nobody else is by this link"
	}
	return fmt.Sprintf("👥 You are invited to the group **%s**: %s\n\n%s, until %s.",
		escapeMarkdown(title), link.URL, how, link.Expires.Format("2 Jan, 15:04"))
}
