package approvals

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"strconv"

	"nod/store"
)

// Source says what began the turn that a call belongs to.
type Source string

const (
	Telegram Source = "telegram" // a person's message
	Cron     Source = "cron"     // a job that fell due
)

// Request is one tool call as the rules and a person see it. Everything in it was taken from the decoded arguments, so
// that what is judged, what is shown and what runs are the same thing.
type Request struct {
	Call    store.CallID    `json:"call"`
	Session store.SessionID `json:"session"`
	Turn    store.TurnID    `json:"turn"`
	Agent   string          `json:"agent"`
	Source  Source          `json:"source"`
	Job     string          `json:"job,omitempty"` // the job's title, when Source is Cron
	// Cards is where the question is put; By is who began the turn (0 for a job).
	Cards store.Address `json:"cards"`
	By    store.UserID  `json:"by,omitempty"`
	// Deciders are the only users whose press counts.
	Deciders []store.UserID `json:"deciders"`

	Tool     string          `json:"tool"`
	Category string          `json:"category"` // what ⏱ and 🔄 cover; for an MCP tool its server
	Args     json.RawMessage `json:"args"`     // canonical
	Paths    []Path          `json:"paths,omitempty"`
	Subject  Subject         `json:"subject"`
	// NoBypass keeps ⏱ and 🔄 from covering this call, and their buttons off its card.
	NoBypass bool `json:"no_bypass,omitempty"`
	// UserWrite is set where the call needs the grant explicit-user-write: it changes something outside of nod's own records.
	UserWrite bool `json:"user_write,omitempty"`
	// Origin is what opened the turn, or took it over since.
	Origin Origin `json:"origin,omitzero"`
	// Program is set for a command that is one program with literal words.
	Program *Program `json:"program,omitempty"`
	// MustAsk has a person asked every time: no rule lets this call through, and ♾ is not offered. It implies NoBypass.
	MustAsk bool `json:"must_ask,omitempty"`
	// Context is the run context: which rules apply beside the default group, and what may be read and written freely.
	Context Context `json:"context,omitzero"`
}

// Path is one file or folder that a call touches.
type Path struct {
	Canonical string `json:"canonical"` // absolute, links of the longest existing ancestor resolved
	Shown     string `json:"shown"`     // relative to the workspace where it lies inside
	Write     bool   `json:"write,omitempty"`
}

// Context is the run context of a chat or job.
type Context struct {
	Group  string   `json:"group,omitempty"`  // a permission group consulted before "default"
	Reads  []string `json:"reads,omitempty"`  // canonical folders whose contents are read without asking
	Writes []string `json:"writes,omitempty"` // canonical folders whose contents are written (and read) without asking
}

// SubjectKind says how a card shows its subject.
type SubjectKind string

const (
	Command   SubjectKind = "command"   // a shell command
	Diff      SubjectKind = "diff"      // a unified diff
	Arguments SubjectKind = "arguments" // the canonical arguments, indented
	Words     SubjectKind = "words"     // a sentence, such as a schedule in words
)

// Subject is what a person must see in full before nodding, and what the nod is bound to.
type Subject struct {
	Kind SubjectKind `json:"kind"`
	Text string      `json:"text"`          // the whole of it, unescaped
	Dir  string      `json:"dir,omitempty"` // the working folder, absolute
	// Warning is a line shown in bold above the text.
	Warning string `json:"warning,omitempty"`
	// Notes are lines shown under the subject, such as how long a command may run.
	Notes []string `json:"notes,omitempty"`
	// Unbound are further lines that the digest leaves out, since they change by themselves while a request waits: the
	// next times of a schedule.
	Unbound []string `json:"unbound,omitempty"`
	// Facts are bound by the digest and compared again before the call runs: folder identities, hashes of files.
	Facts []Fact `json:"facts,omitempty"`
}

// Fact is one thing outside of the arguments that the nod depends on.
type Fact struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Fact is the value of the named fact, or "".
func (s Subject) Fact(name string) string {
	for _, f := range s.Facts {
		if f.Name == name {
			return f.Value
		}
	}
	return ""
}

// Digest is the SHA-256, in hex, of everything that a nod is bound to: tool, canonical arguments, session, call, paths
// and the subject with its facts. Each part goes in with its length and byte by byte, since file names need not be UTF-8.
func (r Request) Digest() (string, error) {
	args, err := normal(r.Args)
	if err != nil {
		return "", fmt.Errorf("computing the digest of a call: %w", err)
	}
	d := digester{sha256.New()}
	d.add("nod approval 1", string(r.Call), string(r.Session), r.Tool, string(args))
	d.count(len(r.Paths))
	for _, p := range r.Paths {
		d.add(p.Canonical, p.Shown, strconv.FormatBool(p.Write))
	}
	d.add(string(r.Subject.Kind), r.Subject.Text, r.Subject.Dir, r.Subject.Warning)
	d.count(len(r.Subject.Notes))
	d.add(r.Subject.Notes...)
	d.count(len(r.Subject.Facts))
	for _, f := range r.Subject.Facts {
		d.add(f.Name, f.Value)
	}
	return hex.EncodeToString(d.Sum(nil)), nil
}

type digester struct{ hash.Hash }

func (d digester) add(parts ...string) {
	for _, part := range parts {
		d.count(len(part))
		d.Write([]byte(part)) // a hash never returns an error
	}
}

func (d digester) count(n int) { d.Write(binary.BigEndian.AppendUint64(nil, uint64(n))) }

// Question is something that only a person can answer.
type Question struct {
	Title   string   `json:"title"`
	Text    string   `json:"text"`
	Options []string `json:"options,omitempty"` // answers offered as buttons
	// Secret is the name under which nod keeps the answer, which then appears in no record but there.
	Secret string `json:"secret,omitempty"`
	// Hidden is set where the answer is a secret that goes to whoever asks, see TakeHidden, and is kept nowhere.
	Hidden bool `json:"hidden,omitempty"`
	// Link is an address that the question is about, http or https.
	Link string `json:"link,omitempty"`
}

// TypedSecret says whether what is typed as the answer must show nowhere.
func (q *Question) TypedSecret() bool { return q != nil && (q.Secret != "" || q.Hidden) }
