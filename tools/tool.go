package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"

	"nod/approvals"
	"nod/store"
)

// Category groups tools for bypasses and audit.
type Category string

const (
	Filesystem    Category = "filesystem"
	Shell         Category = "shell"
	Subagent      Category = "subagent"
	Introspection Category = "introspection"
	Config        Category = "config"
	Chat          Category = "chat"
	Plumbing      Category = "plumbing"
)

// Effect says whether a call changes anything outside of nod's own records. A Read may run beside others and is run
// again after a crash; a Write never is.
type Effect string

const (
	Read  Effect = "read"
	Write Effect = "write"
)

// Traits are what the registry, the executor and the rules need to know of a tool beside its arguments.
type Traits struct {
	Category      Category
	Effect        Effect
	SubAgentsOnly bool // offered only at depth > 0
	RootOnly      bool // offered only at depth 0
	Interactive   bool // offered only in sessions that a person's message began
	Background    bool // offered only in the others: jobs and async tasks
	OrNested      bool // with Background: and to sub-agents of any session
	NoBypass      bool // ⏱ and 🔄 never cover it
	Group         string
	// Needs says which port of Scope must be there for the tool to be offered.
	Needs Port
}

// Tool is a definition: an entry of the registry.
type Tool interface {
	Name() string
	Description() string
	Schema() json.RawMessage // a JSON Schema of type object
	Traits() Traits
	// Decode reads arguments once. Its error is written for the model: all problems, each with what to do.
	Decode(args json.RawMessage) (Invocation, error)
}

// Invocation is one decoded call: the single value that the rules, the card and the run all read.
type Invocation interface {
	// Args are the arguments in canonical form: known fields only, in the order of the type.
	Args() json.RawMessage
	// Label is what people see of the call: at most LabelShort or LabelFull characters.
	Label(max int) string
	// TargetPath is the one file that the call acts on, or "".
	TargetPath() string
	// Subject is what a person is shown and what a nod is bound to. It may read files. An error is the call's outcome.
	Subject(ctx context.Context, scope Scope) (Judged, error)
	// Effect is the tool's own, or Read for a call that may run beside others and again after a crash all the same.
	Effect() Effect
	// Question is set for a tool whose whole work is to ask a person.
	Question() *approvals.Question
	// Start begins the call; it must not block.
	Start(ctx context.Context, call Call) Work
}

// Judged is what the gate is told of a call beside its arguments.
type Judged struct {
	Subject approvals.Subject
	Paths   []approvals.Path
	// Category overrides the tool's own for bypasses, such as an MCP server's name.
	Category string
	NoBypass bool
	MustAsk  bool // no rule, bypass or ♾ Always lets it run
	// Program is a command that is one program with literal words: only such a one can be let through by a rule.
	Program *approvals.Program
	// Price is what the call costs beside the model, in USD: a card says it, caps on spending hold for it, and it is booked.
	Price float64
}

// Work is one call in flight. It never touches the chat or the store: the executor records its outcome.
type Work interface {
	// Wait blocks until the call is over.
	Wait() (Output, error)
	// Stop asks it to end now, here and on the far side; it may be called at any time, and more than once.
	Stop()
}

// Output is what a call that worked gives back.
type Output struct {
	Text   string  // for the model; empty becomes "(no output)"
	Images []Image // for a model that sees
	// Commit makes further facts true in the commit of the outcome, such as a file put in the outbox. Of a call that a
	// person stopped they are left out.
	Commit func(tx *store.Tx) error
}

// Image is a picture that a tool found or made.
type Image struct {
	MIME string `json:"mime"`
	Path string `json:"path"` // within the workspace
}

// Spec declares a tool whose arguments are an In, a struct with json and jsonschema tags.
type Spec[In any] struct {
	Name        string
	Description string
	Traits      Traits

	// Check finds what the schema can't say; it may also fill in defaults.
	Check func(in *In) error
	// Label is the call in a few words, without the tool's name; full asks for more of it.
	Label func(in In, full bool) string
	// Target is the one file that the call acts on.
	Target func(in In) string
	// Judge is what the gate needs to know; without it, or where its subject has no text, a card shows the arguments.
	Judge func(ctx context.Context, scope Scope, in In) (Judged, error)

	// Repeatable says that a call may run beside others, and again from its intent after a crash, though the tool's effect
	// is Write: it finds what it began by its call's id.
	Repeatable func(in In) bool

	// Exactly one of the two: Run does the work, until ctx ends; Ask is for a tool that only asks a person.
	Run func(ctx context.Context, call Call, in In) (Output, error)
	Ask func(in In) approvals.Question
	// Halt tears down work on the far side when the call is stopped. The call's own context is cancelled besides.
	Halt func(call Call, in In)
}

var nameForm = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,63}$`)

// New makes a tool. The schema comes from In; it panics on a Spec that can't work, which a start of the program shows.
func New[In any](s Spec[In]) Tool {
	schema, err := schemaFor[In]()
	if err == nil {
		err = s.check()
	}
	if err != nil {
		panic(fmt.Sprintf("declaring tool %q: %v", s.Name, err))
	}
	return &tool[In]{spec: s, schema: schema}
}

// check finds what would keep a tool from working.
func (s Spec[In]) check() error {
	switch {
	case !nameForm.MatchString(s.Name):
		return fmt.Errorf("its name must match %s", nameForm)
	case s.Description == "":
		return errors.New("it has no description")
	case (s.Run == nil) == (s.Ask == nil):
		return errors.New("it needs exactly one of Run and Ask")
	case s.Traits.SubAgentsOnly && s.Traits.RootOnly:
		return errors.New("it is for sub-agents only and for the root only, so nobody could see it")
	case s.Traits.Interactive && s.Traits.Background:
		return errors.New("it is for interactive sessions only and for background ones only, so nobody could see it")
	case s.Traits.Effect != Read && s.Traits.Effect != Write:
		return errors.New("its effect must be read or write")
	case s.Traits.Category == "":
		return errors.New("it has no category")
	}
	return nil
}

type tool[In any] struct {
	spec   Spec[In]
	schema *argSchema
}

func (t *tool[In]) Name() string            { return t.spec.Name }
func (t *tool[In]) Description() string     { return t.spec.Description }
func (t *tool[In]) Schema() json.RawMessage { return t.schema.raw }
func (t *tool[In]) Traits() Traits          { return t.spec.Traits }

func (t *tool[In]) Decode(args json.RawMessage) (Invocation, error) {
	in, err := decodeArgs[In](t.schema, args)
	if err != nil {
		return nil, err
	}
	if t.spec.Check != nil {
		if err := t.spec.Check(&in); err != nil {
			return nil, err
		}
	}
	canonical, err := canonicalJSON(in)
	if err != nil {
		return nil, fmt.Errorf("writing arguments: %w", err)
	}
	return &invocation[In]{tool: t, in: in, args: canonical}, nil
}

type invocation[In any] struct {
	tool *tool[In]
	in   In
	args json.RawMessage
}

func (v *invocation[In]) Args() json.RawMessage { return v.args }

func (v *invocation[In]) Label(limit int) string {
	if v.tool.spec.Label == nil {
		return clipLabel(v.tool.spec.Name, limit)
	}
	return joinLabel(v.tool.spec.Name, v.tool.spec.Label(v.in, limit > LabelShort), limit)
}

func (v *invocation[In]) TargetPath() string {
	if v.tool.spec.Target == nil {
		return ""
	}
	return v.tool.spec.Target(v.in)
}

func (v *invocation[In]) Subject(ctx context.Context, scope Scope) (Judged, error) {
	traits := v.tool.spec.Traits
	var judged Judged
	if v.tool.spec.Judge != nil {
		var err error
		if judged, err = v.tool.spec.Judge(ctx, scope, v.in); err != nil {
			return Judged{}, err
		}
	}
	if judged.Subject.Text == "" {
		judged.Subject.Kind, judged.Subject.Text = approvals.Arguments, indent(v.args)
	}
	if judged.Category == "" {
		judged.Category = string(traits.Category)
	}
	judged.NoBypass = judged.NoBypass || judged.MustAsk || traits.NoBypass
	return judged, nil
}

func (v *invocation[In]) Effect() Effect {
	if v.tool.spec.Repeatable != nil && v.tool.spec.Repeatable(v.in) {
		return Read
	}
	return v.tool.spec.Traits.Effect
}

func (v *invocation[In]) Question() *approvals.Question {
	if v.tool.spec.Ask == nil {
		return nil
	}
	q := v.tool.spec.Ask(v.in)
	return &q
}

func (v *invocation[In]) Start(ctx context.Context, call Call) Work {
	var halt func()
	if v.tool.spec.Halt != nil {
		halt = func() { v.tool.spec.Halt(call, v.in) }
	}
	return start(ctx, halt, func(ctx context.Context) (Output, error) { return v.tool.spec.Run(ctx, call, v.in) })
}
