package bot

import (
	"cmp"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-telegram/bot/models"

	"nod/agent"
	"nod/approvals"
	"nod/bot/keyboard"
	"nod/bot/outbox"
	"nod/bot/render"
	"nod/store"
	"nod/tools"
)

// cardFrame is what a card has around its subject, at most, in characters.
const cardFrame = 900

func cardSlot(id store.ApprovalID) outbox.Slot { return outbox.Slot("card/" + string(id)) }

// copySlot holds a second copy of a card.
func copySlot(id store.ApprovalID, m store.MessageID) outbox.Slot {
	return cardSlot(id) + outbox.Slot(fmt.Sprint("/", m))
}

// cardOf is the request that a slot shows, if it shows one.
func cardOf(s outbox.Slot) (store.ApprovalID, bool) {
	id, ok := strings.CutPrefix(string(s), "card/")
	id, _, _ = strings.Cut(id, "/")
	return store.ApprovalID(id), ok
}

// ShowPending puts a request's card in the outbox. It implements approvals.Viewer.
func (v *View) ShowPending(tx *store.Tx, p approvals.Pending) error {
	card, err := v.card(tx, p, 0)
	if err != nil {
		return err
	}
	if err := v.beforeCard(tx, p); err != nil {
		return err
	}
	return v.out.Put(tx, card)
}

// ClosePending takes the card's buttons away and says what was decided, by whom and when. It implements approvals.Viewer.
func (v *View) ClosePending(tx *store.Tx, p approvals.Pending) error {
	return v.closeCard(tx, p, cardSlot(p.ID))
}

// closePressed closes the message whose button was pressed, where that is not the one that ClosePending knows: a crash or
// a lost connection between a send and its record leaves a second copy of a card.
func (v *View) closePressed(tx *store.Tx, p approvals.Pending, m store.MessageID) error {
	known, ok, err := v.out.Slot(tx, cardSlot(p.ID))
	if err != nil || m == 0 || ok && known == m {
		return err
	}
	slot := copySlot(p.ID, m)
	if err := v.out.Adopt(tx, slot, p.Request.Cards.Chat, m); err != nil {
		return err
	}
	return v.closeCard(tx, p, slot)
}

func (v *View) closeCard(tx *store.Tx, p approvals.Pending, slot outbox.Slot) error {
	verdict, err := v.verdict(tx, p)
	if err != nil {
		return err
	}
	head, plain, err := v.cardHead(tx, p)
	if err != nil {
		return err
	}
	subject := firstPage(p)
	return v.out.Put(tx, outbox.Item{
		To: p.Request.Cards, Slot: slot, Kind: outbox.Edit,
		HTML: head + subjectHTML(p, subject) + "\n" + render.Escape(verdict), Plain: plain + "\n" + subject + "\n" + verdict,
		Keyboard: keyboard.None(),
	})
}

// showPage turns a card to another page of its subject.
func (v *View) showPage(tx *store.Tx, p approvals.Pending, page int) error {
	card, err := v.card(tx, p, page)
	if err != nil {
		return err
	}
	card.Kind = outbox.Edit
	return v.out.Put(tx, card)
}

// showAlways asks once more before a rule is written, in words that say what it would cover.
func (v *View) showAlways(tx *store.Tx, p approvals.Pending) error {
	head, plain, err := v.cardHead(tx, p)
	if err != nil {
		return err
	}
	subject := firstPage(p)
	words, _ := render.Visible("♾ " + capital(approvals.AlwaysWords(p.Request)) + "?")
	return v.out.Put(tx, outbox.Item{
		To: p.Request.Cards, Slot: cardSlot(p.ID), Kind: outbox.Edit,
		HTML: head + subjectHTML(p, subject) + "\n" + render.Escape(words), Plain: plain + "\n" + subject + "\n" + words,
		Keyboard: keyboard.AlwaysConfirmation(p.ID),
	})
}

// card is a request as a person sees it: everything on it was rendered here, from the canonical arguments.
func (v *View) card(tx *store.Tx, p approvals.Pending, page int) (outbox.Item, error) {
	head, plain, err := v.cardHead(tx, p)
	if err != nil {
		return outbox.Item{}, err
	}
	pages := subjectPages(p)
	page = min(max(page, 0), len(pages)-1)
	item := outbox.Item{
		To: p.Request.Cards, Slot: cardSlot(p.ID),
		HTML: head + subjectHTML(p, pages[page]), Plain: plain + "\n" + pages[page],
		Keyboard: cardKeyboard(p, len(pages), page),
	}
	if p.Question != nil && p.Question.Link != "" {
		item.HTML += "\n" + linkHTML(p.Question.Link)
	}
	for _, line := range cardNotes(p, len(pages), page) {
		item.HTML += "\n" + render.Escape(line)
		item.Plain += "\n" + line
	}
	return item, nil
}

func cardKeyboard(p approvals.Pending, pages, page int) *models.InlineKeyboardMarkup {
	switch p.Kind {
	case approvals.Asked:
		return keyboard.Question(p.ID, p.Question.Options)
	case approvals.Interrupted:
		return keyboard.Interrupted(p.ID)
	}
	return keyboard.Approval(keyboard.Card{ID: p.ID, Page: page, Pages: pages, NoBypass: !p.Request.Bypassable(), NoAlways: !p.Request.Lasting()})
}

// cardHead says what is asked, by whom and where, above the subject.
func (v *View) cardHead(tx *store.Tx, p approvals.Pending) (html, plain string, err error) {
	var lines []string
	switch {
	case p.Kind == approvals.Asked:
		lines = append(lines, "❓ "+p.Question.Title)
	case p.Kind == approvals.Interrupted:
		lines = append(lines, "⚡ Interrupted: "+p.Request.Tool+touched(p.Request)+". "+p.Note)
	default:
		lines = append(lines, "✋ "+asked(p.Request))
	}
	if line := originLine(p.Request); line != "" {
		lines = append(lines, line)
	}
	// In their own private chat people know who asks.
	if by := p.Request.By; by != 0 && p.Kind != approvals.Asked && store.ChatID(by) != p.Request.Cards.Chat {
		who, err := v.access.Person(tx, by)
		if err != nil {
			return "", "", err
		}
		lines = append(lines, "Asked by "+cmp.Or(who.Name, fmt.Sprint("user ", by)))
	}
	if p.Request.Agent != agent.MainAgent {
		lines = append(lines, "By the agent "+p.Request.Agent)
	}
	if dir := p.Request.Subject.Dir; dir != "" && p.Kind != approvals.Asked {
		lines = append(lines, "In "+filepath.Clean(dir))
	}
	for i, line := range lines {
		shown, _ := render.Visible(line)
		lines[i] = shown
	}
	html = "<b>" + render.Escape(lines[0]) + "</b>"
	for _, line := range lines[1:] {
		html += "\n" + render.Escape(line)
	}
	if warning := p.Request.Subject.Warning; warning != "" && p.Kind != approvals.Asked {
		html += "\n<b>" + render.Escape(warning) + "</b>"
		lines = append(lines, warning)
	}
	return html + "\n", strings.Join(lines, "\n"), nil
}

// asked names what a call would do.
func asked(r approvals.Request) string {
	where := touched(r)
	switch {
	case r.Tool == tools.ExecuteTask && len(r.Subject.Unbound) > 0: // its next times
		return "Schedule this job? (" + r.Tool + ")"
	case r.Tool == tools.ExecuteTask || r.Tool == tools.ExecuteSubtask:
		return "Give this to another agent? (" + r.Tool + ")"
	case r.Tool == tools.Restart:
		return "Restart nod? (" + r.Tool + ")"
	}
	switch r.Subject.Kind {
	case approvals.Command:
		return "Run this command?"
	case approvals.Diff:
		verb := "Change"
		if strings.HasPrefix(r.Subject.Text, "--- /dev/null\n") {
			verb = "Create"
		}
		return verb + where + "? (" + r.Tool + ")"
	}
	return "Allow " + r.Tool + where + "?"
}

// touched is the one file that a call is about, after a blank, or "".
func touched(r approvals.Request) string {
	if len(r.Paths) != 1 || r.Subject.Kind == approvals.Command {
		return ""
	}
	return " " + r.Paths[0].Shown
}

// subjectText is the whole of what is decided on, made visible.
func subjectText(p approvals.Pending) (text string, hidden bool) {
	if p.Kind == approvals.Asked {
		return render.Visible(questionText(p.Question))
	}
	return render.Visible(p.Request.Subject.Text)
}

// wideAnswer is the longest answer that a button shows in full on a phone, in characters.
const wideAnswer = 30

// questionText is a question with the answers that its buttons have no room for.
func questionText(q *approvals.Question) string {
	if !slices.ContainsFunc(q.Options, func(o string) bool { return len([]rune(o)) > wideAnswer }) {
		return q.Text
	}
	var b strings.Builder
	b.WriteString(q.Text + "\n")
	for _, o := range q.Options {
		b.WriteString("\n• " + o)
	}
	return b.String()
}

func subjectPages(p approvals.Pending) []string {
	text, _ := subjectText(p)
	return render.Pages(strings.TrimRight(text, "\n"), cardFrame)
}

// firstPage is the beginning of the subject, with a mark when there is more.
func firstPage(p approvals.Pending) string {
	pages := subjectPages(p)
	if len(pages) == 1 {
		return pages[0]
	}
	return pages[0] + "\n…"
}

// subjectHTML sets a subject as what it is.
func subjectHTML(p approvals.Pending, text string) string {
	if p.Kind == approvals.Asked {
		return render.Escape(text)
	}
	switch p.Request.Subject.Kind {
	case approvals.Command:
		return render.Pre(text, "sh")
	case approvals.Diff:
		return render.Pre(text, "diff")
	case approvals.Words:
		return render.Escape(text)
	}
	return render.Pre(text, "json")
}

// linkHTML leads to an address, which stands in full in the text above, and names where that is.
func linkHTML(address string) string {
	host := address
	if u, err := url.Parse(address); err == nil {
		host = u.Host
	}
	shown, _ := render.Visible(host)
	return `<a href="` + render.Escape(address) + `">🔗 Open ` + render.Escape(shown) + `</a>`
}

// cardNotes are the lines under the subject.
func cardNotes(p approvals.Pending, pages, page int) []string {
	var notes []string
	for _, n := range slices.Concat(p.Request.Subject.Notes, p.Request.Subject.Unbound) {
		shown, _ := render.Visible(n)
		notes = append(notes, shown)
	}
	if p.Kind == approvals.Approval && p.Note != "" {
		notes = append(notes, p.Note)
	}
	if _, hidden := subjectText(p); hidden {
		notes = append(notes, "⚠️ Hidden characters are shown as ⟪…⟫.")
	}
	if pages > 1 {
		notes = append(notes, fmt.Sprintf("Page %d of %d. Approve is on the last one.", page+1, pages))
	}
	switch {
	case p.Kind != approvals.Asked || p.Question.TypedSecret():
	case len(p.Question.Options) > 0:
		notes = append(notes, "Tap an answer, or write your own.")
	default:
		notes = append(notes, "Write your answer.")
	}
	return notes
}

// verdict says how a request ended.
func (v *View) verdict(tx *store.Tx, p approvals.Pending) (string, error) {
	by, err := v.access.Person(tx, p.By)
	if err != nil {
		return "", err
	}
	when := p.Decided
	if when.IsZero() {
		when = p.Ended
	}
	sign := " by " + cmp.Or(by.Name, "you") + ", " + v.clock(when)
	switch p.State {
	case approvals.Nodded, approvals.Used:
		return "✅ Approved" + sign + approvedBeyond(p, v.clock(when.Add(approvals.ShortGrant))), nil
	case approvals.Rejected:
		if p.Reason != "" {
			return "❌ Rejected" + sign + ": " + p.Reason, nil
		}
		return "❌ Rejected" + sign, nil
	case approvals.Answered:
		return "💬 " + p.Answer, nil
	case approvals.RunAgain:
		return "🔁 Run again" + sign, nil
	case approvals.Skipped:
		return "⏭ Skipped" + sign, nil
	case approvals.Expired:
		rest := ". It was not run."
		if p.Kind == approvals.Asked {
			rest = ". Nobody answered."
		}
		return "⌛ Expired, " + v.clock(when) + rest, nil
	}
	if strings.HasPrefix(p.Reason, approvals.Stopped) {
		return "⏹ Stopped, " + v.clock(when) + map[bool]string{true: ". It was not run."}[p.Kind == approvals.Approval], nil
	}
	return "⏹ Withdrawn, " + v.clock(when) + ": " + strings.TrimSuffix(cmp.Or(p.Reason, "no longer needed"), ".") + ".", nil
}

// approvedBeyond says what else a nod has let through; until is when ⏱ ends.
func approvedBeyond(p approvals.Pending, until string) string {
	switch calls := capital(p.Request.Category) + " calls"; p.Verb {
	case approvals.VerbGrant15:
		return ". " + calls + " pass until " + until + "; see /grants."
	case approvals.VerbGrantSession:
		return ". " + calls + " pass for this session; see /grants."
	case approvals.VerbAlways:
		return ". The same call passes from now on; see /grants."
	}
	return ""
}
