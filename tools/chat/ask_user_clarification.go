package chat

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"nod/approvals"
	"nod/tools"
)

const (
	maxAnswers  = 8
	maxTitle    = 120  // characters
	maxQuestion = 3000 // characters, so that a card holds it
	maxAnswer   = 200  // characters
)

type askIn struct {
	Title            string   `json:"title" jsonschema:"the question in a few words"`
	Question         string   `json:"question" jsonschema:"the question in full, with what the user needs to know to answer it"`
	SuggestedAnswers []string `json:"suggested_answers,omitempty" jsonschema:"up to 8 answers to offer as buttons; the user may always write another"`
}

func askUserClarification() tools.Tool {
	return tools.New(tools.Spec[askIn]{
		Name: tools.AskUserClarification,
		Description: "Asks the user a question and waits for the answer. Use it when the task can't be done well without knowing, and not for " +
			"permission: calls that need it ask by themselves.",
		Traits: plumbing,
		Check:  (*askIn).check,
		Label:  func(in askIn, _ bool) string { return tools.Quote(in.Title) },
		Ask: func(in askIn) approvals.Question {
			return approvals.Question{Title: in.Title, Text: in.Question, Options: in.SuggestedAnswers}
		},
	})
}

func (in *askIn) check() error {
	in.Title, in.Question = strings.TrimSpace(in.Title), strings.TrimSpace(in.Question)
	for i, answer := range in.SuggestedAnswers {
		in.SuggestedAnswers[i] = strings.TrimSpace(answer)
	}
	sorted := slices.Sorted(slices.Values(in.SuggestedAnswers))
	tooLong := func(answer string) bool { return answer == "" || utf8.RuneCountInString(answer) > maxAnswer }
	switch {
	case in.Title == "" || in.Question == "":
		return errors.New("title and question must not be empty")
	case utf8.RuneCountInString(in.Title) > maxTitle || utf8.RuneCountInString(in.Question) > maxQuestion:
		return fmt.Errorf("the title takes at most %d characters and the question %d", maxTitle, maxQuestion)
	case len(sorted) > maxAnswers:
		return fmt.Errorf("there are %d suggested answers; give at most %d", len(sorted), maxAnswers)
	case slices.ContainsFunc(sorted, tooLong):
		return fmt.Errorf("each suggested answer has 1 to %d characters", maxAnswer)
	case len(slices.Compact(sorted)) < len(in.SuggestedAnswers):
		return errors.New("two suggested answers are the same")
	}
	return nil
}
