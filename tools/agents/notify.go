package agents

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"

	"nod/store"
	"nod/tools"
)

const (
	maxSource  = 120   // characters
	maxSummary = 4_000 // characters
	maxRefs    = 20
	maxRef     = 500 // characters
)

type notifyIn struct {
	Source    string   `json:"source" jsonschema:"what it comes from: the job, the service, the folder"`
	Summary   string   `json:"summary" jsonschema:"what happened and why it matters, so that it can be told without looking further"`
	EventType string   `json:"event_type,omitempty" jsonschema:"what kind of thing happened, in a word or two"`
	EventTime string   `json:"event_time,omitempty" jsonschema:"when it happened"`
	Refs      []string `json:"refs,omitempty" jsonschema:"files, links or ids that belong to it"`
}

// Refine bounds the texts.
func (notifyIn) Refine(p map[string]*jsonschema.Schema) {
	p["source"].MaxLength = jsonschema.Ptr(maxSource)
	p["summary"].MaxLength = jsonschema.Ptr(maxSummary)
	p["event_type"].MaxLength = jsonschema.Ptr(maxSource)
	p["event_time"].MaxLength = jsonschema.Ptr(maxSource)
	p["refs"].MaxItems = jsonschema.Ptr(maxRefs)
}

func (in *notifyIn) check() error {
	in.Source, in.Summary = strings.TrimSpace(in.Source), strings.TrimSpace(in.Summary)
	if in.Source == "" || in.Summary == "" {
		return errors.New("source and summary must not be empty")
	}
	for _, ref := range in.Refs {
		if utf8.RuneCountInString(ref) > maxRef {
			return fmt.Errorf("a ref has at most %d characters", maxRef)
		}
	}
	return nil
}

func notify() tools.Tool {
	return tools.New(tools.Spec[notifyIn]{
		Name: tools.Notify,
		Description: "Tells the user in the home chat of something that can't wait for your answer, or that belongs to another matter. The agent there " +
			"puts it into its own words. What you answer at the end is told anyway.",
		Traits: tools.Traits{Category: tools.Plumbing, Effect: tools.Read, Background: true, Needs: tools.AgentsPort},
		Check:  (*notifyIn).check,
		Label:  func(in notifyIn, _ bool) string { return in.Source },
		Run: func(_ context.Context, call tools.Call, in notifyIn) (tools.Output, error) {
			n := tools.Notification(in)
			return tools.Output{
				Text:   "The user will be told.",
				Commit: func(tx *store.Tx) error { return call.Scope.Ports.Agents.Notify(tx, call, n) },
			}, nil
		},
	})
}

func readNotification() tools.Tool {
	return tools.New(tools.Spec[struct{}]{
		Name:        tools.ReadNotification,
		Description: "Holds what background runs have to tell, when nod calls it for you. Called by yourself it is empty.",
		Traits:      tools.Traits{Category: tools.Introspection, Effect: tools.Read, RootOnly: true},
		Run: func(context.Context, tools.Call, struct{}) (tools.Output, error) {
			return tools.Output{Text: "[]"}, nil
		},
	})
}
