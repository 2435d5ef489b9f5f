package tools_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"nod/approvals"
	"nod/store"
	"nod/tools"
)

func question(in penArgs) approvals.Question {
	return approvals.Question{Title: "A question", Text: in.Text, Options: []string{"yes", "no"}}
}

// asking is a tool that only asks a person.
func asking() tools.Tool {
	return (&pen{}).tool("read_mind", func(s *tools.Spec[penArgs]) { s.Run, s.Ask = nil, question })
}

func TestQuestion(t *testing.T) {
	tests := []struct {
		name string
		d    approvals.Decision
		want tools.Outcome
	}{
		{
			"answered",
			approvals.Decision{Verb: approvals.VerbAnswer, Answer: "yes"},
			tools.Outcome{State: tools.Completed, Text: "The user answered: yes"},
		},
		{
			"skipped",
			approvals.Decision{Verb: approvals.VerbSkip},
			tools.Outcome{State: tools.Completed, Text: "The user skipped the question. Go on with your best judgement."},
		},
	}
	for _, test := range tests {
		for _, restarted := range []bool{false, true} {
			t.Run(test.name, func(t *testing.T) {
				r := newRig(t, asking())
				r.scope.Deciders = []store.UserID{99} // who decides on calls is not who is being talked to
				req := r.call("read_mind", `{"text":"Really?"}`)
				ctx, end := context.WithCancelCause(t.Context())
				defer end(nil)
				f := r.start(ctx, req)
				card := r.card()
				want := approvals.Question{Title: "A question", Text: "Really?", Options: []string{"yes", "no"}}
				if diff := cmp.Diff(&want, card.Question); diff != "" || card.Kind != approvals.Asked || card.Request.Cards != r.scope.Address {
					t.Errorf("the card is %+v\n%s", card, diff)
				}
				if restarted {
					end(errShutdown)
					if err := r.fails(f); !errors.Is(err, tools.ErrLeft) {
						t.Fatal(err)
					}
					r = r.restart()
					f = r.resume(t.Context(), req)
				}
				r.press(card, test.d)
				if diff := cmp.Diff(test.want, r.lands(f)); diff != "" {
					t.Errorf("(-want +got)\n%s", diff)
				}
				r.noCard()
			})
		}
	}
}

func TestQuestionThatNobodyAnswers(t *testing.T) {
	t.Run("in time", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, asking())
			endClock := r.tick()
			f := r.start(t.Context(), r.call("read_mind", `{"text":"Really?"}`))
			r.card()
			time.Sleep(25 * time.Hour)
			want := "Nobody answered in time. Go on with your best judgement, or say what is missing."
			if diff := cmp.Diff(tools.Outcome{State: tools.Rejected, Text: want}, r.lands(f)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			endClock()
		})
	})
	t.Run("since it was stopped", func(t *testing.T) {
		r := newRig(t, asking())
		ctx, stop := context.WithCancelCause(t.Context())
		f := r.start(ctx, r.call("read_mind", `{"text":"Really?"}`))
		card := r.card()
		stop(tools.ErrStopped)
		if out := r.lands(f); out.State != tools.Cancelled || r.pending(card.ID).State != approvals.Withdrawn {
			t.Errorf("got %+v, the card is %s", out, r.pending(card.ID).State)
		}
	})
	t.Run("since nobody may", func(t *testing.T) {
		r := newRig(t, asking())
		r.scope.By, r.scope.Deciders = 0, nil
		out := r.run(r.call("read_mind", `{"text":"Really?"}`))
		if diff := cmp.Diff(tools.Outcome{State: tools.Rejected, Text: "Not asked: there is nobody who could answer."}, out); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
		r.noCard()
	})
}
