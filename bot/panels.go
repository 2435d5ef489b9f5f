package bot

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/go-telegram/bot/models"

	"nod/agent"
	"nod/agent/llm"
	"nod/approvals"
	"nod/bot/keyboard"
	"nod/bot/outbox"
	"nod/bot/render"
	"nod/scheduler"
	"nod/store"
	"nod/tools"
)

// reply puts an answer of the bot itself in the outbox.
func (v *View) reply(tx *store.Tx, to store.Address, replyTo store.MessageID, markdown string, kb *models.InlineKeyboardMarkup) error {
	return v.out.Put(tx, replyItems(to, replyTo, markdown, kb)...)
}

// replyItems are the messages of an answer. The first refers to what it answers and alone sounds; a keyboard stands under
// the last.
func replyItems(to store.Address, replyTo store.MessageID, markdown string, kb *models.InlineKeyboardMarkup) []outbox.Item {
	var items []outbox.Item
	for i, p := range render.Parts(markdown) {
		items = append(items, outbox.Item{To: to, HTML: p.HTML, Plain: p.Plain, Silent: i > 0})
	}
	if len(items) > 0 {
		items[0].ReplyTo = replyTo
		items[len(items)-1].Keyboard = kb
	}
	return items
}

// panel shows a message with buttons that is changed in place when one of them is pressed. fresh sends it anew.
func (v *View) panel(tx *store.Tx, to store.Address, slot string, markdown string, kb *models.InlineKeyboardMarkup, fresh bool) error {
	part := render.Preview(markdown)
	return v.out.Put(tx, outbox.Item{
		To: to, Slot: outbox.Slot(slot), HTML: part.HTML, Plain: part.Plain, Keyboard: kb, Fresh: fresh,
	})
}

func jobSlot(to store.Address, id store.JobID) string { return fmt.Sprintf("job/%s/%s", to, id) }

// jobCard shows a job with its buttons.
func (v *View) jobCard(tx *store.Tx, to store.Address, job scheduler.Job, fresh bool) error {
	lines := []string{"**" + escapeMarkdown(jobHead(job.Title)) + "**", escapeMarkdown(job.When())}
	switch {
	case job.Running != "":
		lines = append(lines, "It is running now.")
	case job.State == scheduler.StatePaused:
		lines = append(lines, "Paused. "+escapeMarkdown(job.Reason))
	case job.State == scheduler.StateDone:
		lines = append(lines, "Done: no run is left.")
	case !job.NextAt.IsZero():
		lines = append(lines, "Next: "+stamp(job.NextAt, job.Zone))
	}
	toggle := map[scheduler.State]keyboard.Verb{scheduler.StateActive: keyboard.JobPause, scheduler.StatePaused: keyboard.JobResume}[job.State]
	return v.panel(tx, to, jobSlot(to, job.ID), strings.Join(lines, "  \n"), keyboard.Job(job.ID, toggle), fresh)
}

// jobGone says in a job's message that it was deleted.
func (v *View) jobGone(tx *store.Tx, to store.Address, job scheduler.Job) error {
	return v.panel(tx, to, jobSlot(to, job.ID), "🗑 The job **"+escapeMarkdown(job.Title)+"** is deleted.", keyboard.None(), false)
}

// stamp is a moment in a job's own zone.
func stamp(t time.Time, zone string) string {
	if loc, err := scheduler.Zone(zone); err == nil {
		t = t.In(loc)
	}
	return t.Format("Mon 2 Jan, 15:04") + " (" + zone + ")"
}

// escapeMarkdown makes text that is not ours safe within our own Markdown. It writes character references: a backslash
// before a bracket would begin a formula, as models write them.
func escapeMarkdown(s string) string {
	var b strings.Builder
	for _, r := range s {
		if strings.ContainsRune("\\`*_{}[]()#+-.!|<>~&$", r) {
			fmt.Fprintf(&b, "&#%d;", r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// modelCard lists the configured models, the chosen one marked.
func (v *View) modelCard(tx *store.Tx, to store.Address, all []llm.Model, chosen string, fresh bool) error {
	lines, names, current := []string{"**Models**"}, []string{}, 0
	for i, m := range all {
		mark := ""
		if strings.EqualFold(m.Name, chosen) {
			mark, current = " ✓", i+1
		}
		line := fmt.Sprintf("%d\\. %s%s", i+1, escapeMarkdown(m.Name), mark)
		if m.ContextWindow > 0 {
			line += fmt.Sprintf(" · %dk window", m.ContextWindow/1000)
		}
		if m.PriceIn > 0 || m.PriceOut > 0 {
			line += fmt.Sprintf(" · $%g in, $%g out per million tokens", m.PriceIn, m.PriceOut)
		}
		lines, names = append(lines, line), append(names, m.Name)
	}
	lines = append(lines, "auto: the first that works"+map[bool]string{true: " ✓"}[current == 0])
	return v.panel(tx, to, "models/"+to.String(), strings.Join(lines, "  \n"), keyboard.Models(names, current), fresh)
}

// grantsCard lists what was let through by button, with what each has let through so far.
func (v *View) grantsCard(tx *store.Tx, to store.Address, gate *approvals.Gate, rules *approvals.Rules, fresh bool) error {
	grants, err := gate.Grants(tx)
	if err != nil {
		return err
	}
	all, err := rules.All(tx)
	if err != nil {
		return err
	}
	here, _, err := agent.SessionAt(tx, to)
	if err != nil {
		return err
	}
	var lines []string
	var list []keyboard.Revocable
	for _, g := range grants {
		words := capital(kindWords(g.Category)) + ", " + v.grantTime(g, here.ID)
		lines = append(lines, fmt.Sprintf("%d\\. %s%s", len(list)+1, escapeMarkdown(words), usesText(g)))
		list = append(list, keyboard.Revocable{ID: g.ID, Label: fmt.Sprintf("%d. %s", len(list)+1, words)})
	}
	for _, r := range all {
		if r.Seeded || r.FromFile || r.Action != approvals.ActionAllow {
			continue
		}
		words, _ := render.Visible(r.Words())
		lines = append(lines, fmt.Sprintf("%d\\. %s", len(list)+1, escapeMarkdown(words)))
		list = append(list, keyboard.Revocable{ID: r.ID, Rule: true, Label: fmt.Sprintf("%d. rule", len(list)+1)})
	}
	text := "You have let nothing through by button."
	if len(list) > 0 {
		text = "**Let through by button**  \n" + strings.Join(lines, "  \n")
	}
	return v.panel(tx, to, "grants/"+to.String(), text, keyboard.Grants(list), fresh)
}

// grantTime says for how long and where a grant holds, as read in the session here.
func (v *View) grantTime(g approvals.Grant, here store.SessionID) string {
	where := "for this session"
	if g.Session != here {
		where = "for a session elsewhere"
	}
	if g.Until.IsZero() {
		return where
	}
	return where + " until " + v.clock(g.Until)
}

// kindWords is what a grant of a category lets through, as README.md calls it.
func kindWords(category string) string {
	switch tools.Category(category) {
	case tools.Filesystem:
		return "files"
	case tools.Shell:
		return "commands"
	case tools.Subagent:
		return "work for other agents"
	case tools.Introspection:
		return "looking things up"
	case tools.Config:
		return "configuration"
	}
	return category // such as chat, or MCP and a server's name
}

// usesText tells the latest calls that a grant let through.
func usesText(g approvals.Grant) string {
	if len(g.Uses) == 0 {
		return " · not used yet"
	}
	last := g.Uses[len(g.Uses)-1]
	return fmt.Sprintf(" · used %s, last for %s", times(g.Count), escapeMarkdown(last.Tool+" "+firstLine(last.Text)))
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// pendingLine points to the card of something that waits.
func (v *View) pendingLine(tx *store.Tx, to store.Address, p approvals.Pending) error {
	head, plain, err := v.cardHead(tx, p)
	if err != nil {
		return err
	}
	since := "Waiting since " + v.clock(p.Created)
	item := outbox.Item{To: to, HTML: head + since, Plain: plain + "\n" + since, Silent: true}
	if message, ok, err := v.out.Slot(tx, cardSlot(p.ID)); err != nil {
		return err
	} else if ok && p.Request.Cards.Chat == to.Chat {
		item.ReplyTo = message
	}
	return v.out.Put(tx, item)
}

func strangerSlot(chat store.ChatID, id store.UserID) string {
	return fmt.Sprintf("stranger/%d/%d", chat, id)
}

// strangerCard asks an owner about somebody who wrote to the bot.
func (v *View) strangerCard(tx *store.Tx, owner store.ChatID, p Person) error {
	name, _ := render.Visible(p.Name)
	text := fmt.Sprintf("👤 %s (id %d) has written to me. Allow means that they may chat; you decide on what needs a nod.", escapeMarkdown(name), p.ID)
	return v.panel(tx, store.Address{Chat: owner}, strangerSlot(owner, p.ID), text, keyboard.Stranger(p.ID), true)
}

func (v *View) strangerDecided(tx *store.Tx, chat store.ChatID, p Person, text string) error {
	return v.panel(tx, store.Address{Chat: chat}, strangerSlot(chat, p.ID), escapeMarkdown("👤 "+text), keyboard.None(), false)
}

// cost is what a session's answers have cost, by model, and its calls that cost something beside, by tool.
func (q *request) cost(tx *store.Tx, _ string) error {
	s, err := q.session(tx)
	if err != nil {
		return err
	}
	today, err := q.Driver.SpentToday(tx)
	if err != nil {
		return err
	}
	return q.say(tx, costText(s, q.Models.Models())+"\n\n"+todayText(today, q.Driver.Spending))
}

func costText(s agent.Session, all []llm.Model) string {
	if len(s.Usage) == 0 && len(s.Paid) == 0 {
		return "This session has cost nothing yet."
	}
	var total float64
	var lines []string
	unpriced := false
	for _, name := range slices.Sorted(maps.Keys(s.Usage)) {
		usage := s.Usage[name]
		i := slices.IndexFunc(all, func(m llm.Model) bool { return m.Name == name })
		var model llm.Model
		if i >= 0 {
			model = all[i]
		}
		price := llm.Cost(usage, model)
		if price == 0 {
			unpriced = true
		}
		total += price
		lines = append(lines, fmt.Sprintf("- %s: $%.4f (%s in, %s out)", escapeMarkdown(name), price, tokens(usage.In), number(usage.Out)))
	}
	for _, tool := range slices.Sorted(maps.Keys(s.Paid)) {
		paid := s.Paid[tool]
		total += paid.USD
		lines = append(lines, fmt.Sprintf("- %s: $%.4f (%s)", escapeMarkdown(tool), paid.USD, times(paid.Calls)))
	}
	text := fmt.Sprintf("This session has cost **$%.4f**.\n\n%s", total, strings.Join(lines, "\n"))
	if unpriced {
		text += "\n\nA model without a price counts as free; prices go into nod.yaml as price_in and price_out."
	}
	return text
}

// sizeText is a number of bytes the way people read it.
func sizeText(n int64) string {
	if n < 1<<20 {
		return fmt.Sprintf("%d KB", (n+1023)>>10)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/(1<<20))
}

// backupText says how old the last backup is, where one is known.
func (q *request) backupText() string {
	file, at := store.LastBackup(q.DB.Path())
	if file == "" {
		return ", no backup is known; nod backup FILE makes one"
	}
	return ", last backup " + moment(at.In(q.View.zone))
}

// agoText says how long ago something was.
func agoText(d time.Duration) string {
	switch d = max(0, d); {
	case d < 5*time.Second:
		return "just now"
	case d < time.Minute:
		return fmt.Sprintf("%d s ago", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%d min ago", int(d.Minutes()))
	}
	return fmt.Sprintf("%d h ago", int(d.Hours()))
}

// status is how the bot is doing.
func (q *request) status(tx *store.Tx, _ string) error {
	s, err := q.session(tx)
	if err != nil {
		return err
	}
	jobs, err := q.Jobs.List(tx)
	if err != nil {
		return err
	}
	waiting, err := q.Gate.Waiting(tx)
	if err != nil {
		return err
	}
	unsent, err := q.Out.DepthIn(tx)
	if err != nil {
		return err
	}
	running := 0
	for _, j := range jobs {
		if j.Running != "" {
			running++
		}
	}
	poll := "not yet"
	if last := q.Poller.LastPoll(); !last.IsZero() {
		poll = agoText(time.Since(last))
	}
	return q.say(tx, strings.Join([]string{
		"**Status**",
		"Up for " + time.Since(q.Started).Round(time.Second).String(),
		"Model: " + escapeMarkdown(cmp.Or(s.Model, q.Models.Describe("").Name+" (auto)")),
		"Heard from Telegram: " + poll,
		fmt.Sprintf("Waiting to be sent: %d", unsent),
		fmt.Sprintf("Waiting for a person: %d", len(waiting)),
		fmt.Sprintf("Jobs: %d, running: %d", len(jobs), running),
		"Sandbox for commands: " + q.Sandbox(),
		"Database: " + sizeText(q.DB.Size()) + q.backupText(),
	}, "  \n"))
}
