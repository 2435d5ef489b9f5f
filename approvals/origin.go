package approvals

import "slices"

// Origin says whose words opened the turn that a call belongs to. A write that no owner's own typed words stand behind
// gets a card, which names the origin. The zero value is not known, and stands for nobody's words.
type Origin struct {
	Kind OriginKind `json:"kind,omitempty"`
	Name string     `json:"name,omitempty"` // of the job, the task or the notification's source, or whom a forward is credited to
}

// OriginKind is what opened a turn.
type OriginKind string

const (
	FromPerson       OriginKind = "person"       // a message that somebody typed
	FromForward      OriginKind = "forward"      // a message that somebody else wrote
	FromWordless     OriginKind = "wordless"     // a file, a recording or the like without typed words
	FromJob          OriginKind = "job"          // a job that fell due
	FromTask         OriginKind = "task"         // a task's result
	FromNotification OriginKind = "notification" // what a background run had to tell
)

// Typed says whether somebody's own typed words opened the turn.
func (o Origin) Typed() bool { return o.Kind == FromPerson }

// Background says whether what ran in the background opened the turn.
func (o Origin) Background() bool { return o.Kind == FromTask || o.Kind == FromNotification }

// Attended says whether an owner who may decide on the call asked for it in his or her own typed words, or whether it needs
// nobody's: then rules and bypasses can spare it a card.
func (r Request) Attended() bool {
	return !r.UserWrite || r.Origin.Typed() && r.By != 0 && slices.Contains(r.Deciders, r.By)
}

// Lasting says whether ♾ Always has a use for the call: a rule could spare it its card.
func (r Request) Lasting() bool { return !r.MustAsk && r.Attended() && !r.shellOnly() }

// Bypassable says whether ⏱ and 🔄 can cover the call.
func (r Request) Bypassable() bool {
	return !r.NoBypass && !r.MustAsk && r.Category != "" && r.Attended()
}

// lets says whether an allow rule that matches the call spares it its card, and why not where it does not. The defaults of
// nod go for every turn: an agent's own notes, and what changes nothing outside of the conversation.
func (r Rule) lets(req Request) (why string, ok bool) {
	switch {
	case req.Subject.Kind == Command && (req.Program == nil || r.Args == nil && r.Command == nil):
		return "no rule lets a command through that is not one program with the words that the rule lists", false
	case !req.Attended() && !r.Seeded && !r.Unattended:
		return "no owner's own message asked for it", false
	}
	return "", true
}
