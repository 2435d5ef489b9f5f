package bot

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	tg "github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"

	"nod/agent"
	"nod/approvals"
	"nod/scheduler"
	"nod/store"
)

// command is one chat command. It runs within the commit that marks its message as handled.
type command struct {
	name   string
	help   string
	guests bool // also for guests
	hidden bool // not in the menu: another name of a command that is
	run    func(q *request, tx *store.Tx, args string) error
}

// commands is the table that the help, Telegram's menu and the dispatch read. It is filled in init because /help lists it.
var commands []command

func init() {
	commands = []command{
		{name: "help", help: "what I can do", guests: true, run: (*request).help},
		{name: "start", help: "what I can do", guests: true, hidden: true, run: (*request).start},
		{name: "new", help: "begin a fresh session", guests: true, run: (*request).fresh},
		{name: "clear", help: "begin a fresh session", guests: true, hidden: true, run: (*request).fresh},
		{name: "stop", help: "stop what I am doing; /stop all stops everything", guests: true, run: (*request).stop},
		{name: "pending", help: "what waits for you", run: (*request).pending},
		{name: "jobs", help: "scheduled jobs", run: (*request).jobs},
		{name: "models", help: "the models there are", run: (*request).models},
		{name: "model", help: "choose a model: number, name or auto", run: (*request).model},
		{name: "context", help: "how full the model's window is", guests: true, run: (*request).context},
		{name: "cost", help: "what this session has cost", run: (*request).cost},
		{name: "compact", help: "replace the earlier conversation by a summary", guests: true, run: (*request).compact},
		{name: "tools", help: "the tools I am offered here; /tools NAME tells more", run: (*request).tools},
		{name: "grants", help: "what you let through by button", run: (*request).grants},
		{name: "rules", help: "what asks, passes or never runs", run: (*request).rules},
		{name: "profile", help: "the run context of this chat; /profile help tells more", run: (*request).profile},
		{name: "resettools", help: "put extra tools away again", run: (*request).resetTools},
		{name: "sethome", help: "send reports to this chat", run: (*request).setHome},
		{name: "enroll", help: "let me speak in this group", run: (*request).enrol},
		{name: "leave", help: "make me silent in this group", run: (*request).leave},
		{name: "status", help: "how I am doing", run: (*request).status},
		{name: "id", help: "your Telegram id and this chat's", guests: true, run: (*request).id},
	}
}

// maxMenu is how many commands Telegram's menu takes (core.telegram.org/bots/api#setmycommands).
const maxMenu = 100

// RegisterCommands writes Telegram's menu: the built-in commands, then the custom ones, as far as there is room.
func (r *Router) RegisterCommands(ctx context.Context, client *tg.Bot) error {
	var menu []models.BotCommand
	for _, c := range commands {
		if !c.hidden {
			menu = append(menu, models.BotCommand{Command: c.name, Description: c.help})
		}
	}
	custom, warnings := listCustom(r.Home)
	for _, w := range warnings {
		r.Log.Warn("a custom command is left out", "err", w)
	}
	for _, c := range custom {
		menu = append(menu, models.BotCommand{Command: c.name, Description: c.description})
	}
	if len(menu) > maxMenu {
		r.Log.Warn("Telegram's menu takes 100 commands; the others work, but are not listed", "left", len(menu)-maxMenu)
		menu = menu[:maxMenu]
	}
	if _, err := client.SetMyCommands(ctx, &tg.SetMyCommandsParams{Commands: menu}); err != nil {
		return fmt.Errorf("writing the command menu: %w", err)
	}
	return nil
}

// refusedError takes back what a command had begun; its text, in Markdown, is what the person is told.
type refusedError struct{ text string }

func (e *refusedError) Error() string { return e.text }

// command runs a chat command: a built-in one, else a custom one, else it says that there is none.
func (q *request) command(ctx context.Context, name, args string) error {
	for _, c := range commands {
		if c.name != name {
			continue
		}
		if q.person.Role != Owner && !c.guests {
			return q.DB.Update(func(tx *store.Tx) error {
				return errors.Join(q.say(tx, "Only an owner can use /"+name+"."), q.done(tx))
			})
		}
		err := q.DB.Update(func(tx *store.Tx) error { return errors.Join(c.run(q, tx, args), q.leftOut(tx), q.done(tx)) })
		if no, is := errors.AsType[*refusedError](err); is {
			err = q.DB.Update(func(tx *store.Tx) error { return errors.Join(q.say(tx, no.text), q.leftOut(tx), q.done(tx)) })
		}
		return err
	}
	custom, found, err := readCustom(q.Home, name)
	if err != nil {
		return q.DB.Update(func(tx *store.Tx) error {
			return errors.Join(q.say(tx, escapeMarkdown(sentence(clean(err.Error())))), q.leftOut(tx), q.done(tx))
		})
	}
	if found {
		return q.submitText(ctx, custom.fill(args))
	}
	if handled, err := q.answerOpenQuestion(ctx, false); handled || err != nil {
		return err
	}
	return q.DB.Update(func(tx *store.Tx) error {
		return errors.Join(q.say(tx, "Unknown command /"+escapeMarkdown(name)+".\n\n"+q.helpText()), q.leftOut(tx), q.done(tx))
	})
}

// leftOut says that a file came with a command that takes none.
func (q *request) leftOut(tx *store.Tx) error {
	if !q.hasFile() {
		return nil
	}
	return q.say(tx, leftOutText)
}

// submitText submits a custom command's text in the place of the message's own. Files stay with it.
func (q *request) submitText(ctx context.Context, text string) error {
	messages := make([]*models.Message, 0, len(q.messages))
	for _, m := range q.messages {
		bare := *m
		bare.Text, bare.Entities, bare.Caption, bare.CaptionEntities = "", nil, "", nil
		messages = append(messages, &bare)
	}
	messages[0].Text = text
	q.messages = messages
	return q.submit(ctx)
}

func (q *request) help(tx *store.Tx, _ string) error { return q.say(tx, q.helpText()) }

// helpText lists the commands that a person may use, those of the home folder last.
func (q *request) helpText() string {
	custom, _ := listCustom(q.Home) // what is wrong with one is told when it is used
	return helpText(q.person.Role, custom)
}

// start also comes with a pairing code, from somebody who is paired already: an invited guest may become an owner.
func (q *request) start(tx *store.Tx, args string) error {
	if args != "" {
		p := q.person
		paired, ok, err := q.Access.Redeem(tx, p, args)
		if err != nil {
			return err
		}
		if ok {
			return q.say(tx, welcomeText(paired, true))
		}
	}
	return q.say(tx, welcomeText(q.person, false))
}

func (q *request) fresh(tx *store.Tx, _ string) error {
	if err := q.Driver.Fresh(tx, q.at); err != nil {
		return err
	}
	return q.say(tx, "🆕 A fresh session. I remember my notes, and nothing of what was said before.")
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}

func (q *request) pending(tx *store.Tx, _ string) error {
	waiting, err := q.Gate.Waiting(tx)
	if err != nil {
		return err
	}
	waiting = slices.DeleteFunc(waiting, func(p approvals.Pending) bool { return !decides(p, q.person.ID) })
	if len(waiting) == 0 {
		return q.say(tx, "Nothing waits for you.")
	}
	for _, p := range waiting[:min(len(waiting), maxMessages)] {
		if err := q.View.pendingLine(tx, q.at, p); err != nil {
			return err
		}
	}
	if more := len(waiting) - maxMessages; more > 0 {
		return q.say(tx, fmt.Sprintf("%d more wait after these.", more))
	}
	return nil
}

// maxMessages is how many messages one command may bring: a second each is what Telegram takes.
const maxMessages = 20

// jobs shows the jobs, or those whose title holds some words.
func (q *request) jobs(tx *store.Tx, words string) error {
	jobs, err := q.Jobs.List(tx)
	if err != nil {
		return err
	}
	if len(jobs) == 0 {
		return q.say(tx, "There are no jobs. Ask for one, such as: every weekday at 9 send me the weather.")
	}
	jobs = slices.DeleteFunc(jobs, func(j scheduler.Job) bool {
		return !strings.Contains(strings.ToLower(j.Title), strings.ToLower(words))
	})
	if len(jobs) == 0 {
		return q.say(tx, "No job's title holds these words. /jobs shows all.")
	}
	for _, job := range jobs[:min(len(jobs), maxMessages)] {
		if err := q.View.jobCard(tx, q.at, job, true); err != nil {
			return err
		}
	}
	if more := len(jobs) - maxMessages; more > 0 {
		return q.say(tx, fmt.Sprintf("%d more are not shown. /jobs with a word of a title shows those that have it.", more))
	}
	return nil
}

// session is the record of this conversation, empty before its first message.
func (q *request) session(tx *store.Tx) (agent.Session, error) {
	s, _, err := agent.SessionAt(tx, q.at)
	return s, err
}

func (q *request) models(tx *store.Tx, _ string) error {
	s, err := q.session(tx)
	if err != nil {
		return err
	}
	return q.View.modelCard(tx, q.at, q.Models.Models(), s.Model, true)
}

func (q *request) model(tx *store.Tx, args string) error {
	if args == "" {
		return q.models(tx, "")
	}
	name, err := q.modelNamed(args)
	if err != nil {
		return q.say(tx, sentence(err.Error()))
	}
	if err := q.Driver.ChooseModel(tx, q.at, name); err != nil {
		return err
	}
	return q.say(tx, "From the next answer on: "+cmp.Or(name, "auto, the first that works")+".")
}

// modelNamed finds a configured model by its number, its name or "auto".
func (r *Router) modelNamed(text string) (string, error) {
	if strings.EqualFold(text, "auto") {
		return "", nil
	}
	if n, err := strconv.Atoi(text); err == nil {
		return r.modelByNumber(n)
	}
	for _, m := range r.Models.Models() {
		if strings.EqualFold(m.Name, text) {
			return m.Name, nil
		}
	}
	return "", fmt.Errorf("there is no model %q; /models lists them", text)
}

func (r *Router) modelByNumber(n int) (string, error) {
	all := r.Models.Models()
	switch {
	case n == 0:
		return "", nil
	case n < 0 || n > len(all):
		return "", fmt.Errorf("there is no model %d; /models lists them", n)
	}
	return all[n-1].Name, nil
}

func (q *request) context(tx *store.Tx, _ string) error {
	s, err := q.session(tx)
	if err != nil {
		return err
	}
	window := q.Models.Describe(s.Model).ContextWindow
	if s.LastIn == 0 {
		text := "This session has no answer yet."
		if window > 0 {
			text += " The window has " + tokens(window) + "."
		}
		return q.say(tx, text)
	}
	text := fmt.Sprintf("Last turn: %s in, %s out", tokens(s.LastIn), number(s.LastOut))
	if window > 0 {
		text += fmt.Sprintf("  \nWindow: %s, %d %% used", tokens(window), (s.LastIn+s.LastOut)*100/window)
	}
	return q.say(tx, text)
}

// tokens writes a count of tokens the way people read it.
func tokens(n int) string {
	if n == 1 {
		return "1 token"
	}
	return number(n) + " tokens"
}

// number is a count in thousands where it is large.
func number(n int) string {
	switch {
	case n < 10_000:
		return strconv.Itoa(n)
	case n < 100_000:
		return fmt.Sprintf("%.1fk", float64(n)/1000)
	}
	return fmt.Sprintf("%dk", n/1000)
}

func (q *request) compact(tx *store.Tx, _ string) error {
	asked, err := q.Driver.Compact(tx, q.at)
	if err != nil {
		return err
	}
	if !asked {
		return q.say(tx, "🗜 There is nothing to compact yet.")
	}
	return q.View.compacting(tx, q.at)
}

func (q *request) grants(tx *store.Tx, _ string) error {
	return q.View.grantsCard(tx, q.at, q.Gate, q.Rules, true)
}

func (q *request) resetTools(tx *store.Tx, _ string) error {
	if err := q.Driver.ResetTools(tx, q.at); err != nil {
		return err
	}
	return q.say(tx, "🧰 The extra tools are put away.")
}

func (q *request) setHome(tx *store.Tx, _ string) error {
	if q.group() {
		if err := q.Access.Enrol(tx, q.at.Chat); err != nil {
			return err
		}
	}
	if err := q.Access.SetHome(tx, q.at); err != nil {
		return err
	}
	return q.say(tx, "🏠 Reports come here from now on.")
}

func (q *request) enrol(tx *store.Tx, _ string) error {
	if !q.group() {
		return q.say(tx, "/enroll is for groups. Here I listen anyway.")
	}
	if err := q.Access.Enrol(tx, q.at.Chat); err != nil {
		return err
	}
	return q.say(tx, "I listen here from now on, when you mention @"+q.Me.Username+" or reply to me.")
}

func (q *request) leave(tx *store.Tx, _ string) error {
	if !q.group() {
		return q.say(tx, "/leave is for groups.")
	}
	if err := q.Access.Leave(tx, q.at.Chat); err != nil {
		return err
	}
	return q.say(tx, "I am silent here from now on. /enroll brings me back.")
}

func (q *request) id(tx *store.Tx, _ string) error {
	text := fmt.Sprintf("Your id is `%d`, and this chat's is `%d`", q.person.ID, q.at.Chat)
	if q.at.Topic != 0 {
		text += fmt.Sprintf(", topic `%d`", q.at.Topic)
	}
	return q.say(tx, text+".")
}
