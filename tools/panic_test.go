package tools_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"

	"nod/approvals"
	"nod/store"
	"nod/tools"
)

const secret = "token 12345:SECRET"

func boom[T any]() T { panic(secret) }

// A tool's own code may panic anywhere: its call fails, what it panicked with goes to the log alone, and the program lives.
func TestPanics(t *testing.T) {
	type spec = tools.Spec[penArgs]
	tests := map[string]func(*spec){
		"Check":  func(s *spec) { s.Check = func(*penArgs) error { return boom[error]() } },
		"Label":  func(s *spec) { s.Label = func(penArgs, bool) string { return boom[string]() } },
		"Target": func(s *spec) { s.Target = func(penArgs) string { return boom[string]() } },
		"Ask": func(s *spec) {
			s.Run, s.Ask = nil, func(penArgs) approvals.Question { return boom[approvals.Question]() }
		},
		"Judge": func(s *spec) {
			s.Judge = func(context.Context, tools.Scope, penArgs) (tools.Judged, error) { return boom[tools.Judged](), nil }
		},
		"Run": func(s *spec) {
			s.Run = func(context.Context, tools.Call, penArgs) (tools.Output, error) { return boom[tools.Output](), nil }
		},
		"Run, by the runtime": func(s *spec) {
			s.Run = func(_ context.Context, _ tools.Call, in penArgs) (tools.Output, error) {
				return tools.Output{Text: in.Text[in.Times+9:]}, nil
			}
		},
		"Commit": func(s *spec) {
			s.Run = says(tools.Output{Commit: func(*store.Tx) error { return boom[error]() }})
		},
	}
	for name, edit := range tests {
		t.Run(name, func(t *testing.T) {
			p := &pen{}
			r := newRig(t, p.tool("free_broken", edit), p.tool("free_note"))
			var log bytes.Buffer
			r.executor = tools.NewExecutor(r.db, r.gate, slog.New(slog.NewTextHandler(&log, nil)))
			req := r.call("free_broken", `{"text":"a"}`)
			out := r.run(req)
			if out.State != tools.Failed || !strings.Contains(out.Text, "broke inside") || strings.Contains(out.Text, "SECRET") {
				t.Errorf("got %+v", out)
			}
			if got := r.record(req.ID); got.State != tools.Failed {
				t.Errorf("the record is %s", got.State)
			}
			if !strings.Contains(log.String(), "a tool panicked") || !strings.Contains(log.String(), string(req.ID)) {
				t.Errorf("the log says %q", log.String())
			}
			if out := r.run(r.call("free_note", `{"text":"a"}`)); out.State != tools.Completed {
				t.Errorf("the next call: %+v", out)
			}
		})
	}
}
