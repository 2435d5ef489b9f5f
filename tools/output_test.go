package tools_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"nod/store"
	"nod/tools"
)

func says(out tools.Output) func(context.Context, tools.Call, penArgs) (tools.Output, error) {
	return func(context.Context, tools.Call, penArgs) (tools.Output, error) { return out, nil }
}

// outputs lists what is kept of long outputs.
func (r *rig) outputs() (names []string) {
	r.Helper()
	entries, err := os.ReadDir(filepath.Join(r.scope.Workspace.Dir(), "data", "outputs"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		r.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func (r *rig) output(id store.CallID) string {
	r.Helper()
	data, err := os.ReadFile(filepath.Join(r.scope.Workspace.Dir(), "data", "outputs", string(id)+".txt"))
	if err != nil {
		r.Fatal(err)
	}
	return string(data)
}

func TestLongOutputIsClippedAndKeptWhole(t *testing.T) {
	text := strings.Repeat("ein Text mit ü und 漢字 😀\n", 8000)
	for _, kind := range []string{"text", "error"} {
		t.Run(kind, func(t *testing.T) {
			p := &pen{do: says(tools.Output{Text: text})}
			if kind == "error" {
				p.do = func(context.Context, tools.Call, penArgs) (tools.Output, error) {
					return tools.Output{}, errors.New(text)
				}
			}
			r := newRig(t, kit(p)...)
			req := r.call("free_note", `{"text":"a"}`)
			out := r.run(req)
			if len(out.Text) > tools.OutcomeLimit+300 || !utf8.ValidString(out.Text) {
				t.Errorf("the model is given %d bytes", len(out.Text))
			}
			head, rest, _ := strings.Cut(out.Text, "\n[… ")
			note, tail, _ := strings.Cut(rest, " …]\n")
			if !strings.HasPrefix(text, head) || !strings.HasSuffix(text, tail) || len(head) < len(tail) || len(tail) < 30_000 {
				t.Errorf("%d bytes of head, %d of tail", len(head), len(tail))
			}
			if want := "data/outputs/" + string(req.ID) + ".txt, which read_file can page"; !strings.Contains(note, want) {
				t.Errorf("the note is %q", note)
			}
			if r.output(req.ID) != text {
				t.Error("the file holds something else")
			}
		})
	}
}

func TestOutputFile(t *testing.T) {
	tests := []struct {
		name string
		do   func(context.Context, tools.Call, penArgs) (tools.Output, error)
		kept bool
	}{
		{"named", func(_ context.Context, call tools.Call, _ penArgs) (tools.Output, error) {
			f, shown, err := call.OutputFile()
			if err != nil {
				return tools.Output{}, err
			}
			again, _, err := call.OutputFile()
			if again != f {
				err = errors.Join(err, errors.New("there are two files"))
			}
			_, writeErr := f.WriteString("the whole")
			return tools.Output{Text: "a part; the rest is in " + shown}, errors.Join(err, writeErr)
		}, true},
		{"not named", func(_ context.Context, call tools.Call, _ penArgs) (tools.Output, error) {
			_, _, err := call.OutputFile()
			return tools.Output{Text: "short after all"}, err
		}, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var late tools.Call
			p := &pen{do: func(ctx context.Context, call tools.Call, in penArgs) (tools.Output, error) {
				late = call
				return test.do(ctx, call, in)
			}}
			r := newRig(t, kit(p)...)
			req := r.call("free_note", `{"text":"a"}`)
			if out := r.run(req); out.State != tools.Completed {
				t.Fatalf("got %+v", out)
			}
			if got := len(r.outputs()) == 1; got != test.kept {
				t.Errorf("kept: %q", r.outputs())
			}
			if test.kept && r.output(req.ID) != "the whole" {
				t.Error("the file holds something else")
			}
			if _, _, err := late.OutputFile(); err == nil {
				t.Error("a call that is over was given a file")
			}
		})
	}
}

func TestOutputFileThatCannotBeMade(t *testing.T) {
	p := &pen{do: says(tools.Output{Text: strings.Repeat("x", 2*tools.OutcomeLimit)})}
	r := newRig(t, kit(p)...)
	if err := os.WriteFile(filepath.Join(r.scope.Workspace.Dir(), "data"), []byte("a file"), 0o600); err != nil {
		t.Fatal(err)
	}
	out := r.run(r.call("free_note", `{"text":"a"}`))
	if out.State != tools.Completed || strings.Contains(out.Text, "data/outputs") || !strings.Contains(out.Text, "bytes left out …]") {
		t.Errorf("got %s, %d bytes", out.State, len(out.Text))
	}
}

// committing is work whose output makes a further fact true, which the test sees in committed.
func committing(committed *bool, err error) func(context.Context, tools.Call, penArgs) (tools.Output, error) {
	return says(tools.Output{Text: "sent", Commit: func(tx *store.Tx) error {
		tx.OnCommit(func() { *committed = true })
		return err
	}})
}

func TestCommitIsOneWithTheOutcome(t *testing.T) {
	var committed bool
	r := newRig(t, kit(&pen{do: committing(&committed, nil)})...)
	out := r.run(r.call("free_note", `{"text":"a"}`))
	if diff := cmp.Diff(tools.Outcome{State: tools.Completed, Text: "sent"}, out); diff != "" || !committed {
		t.Errorf("committed: %v, %s", committed, diff)
	}
}

func TestCommitThatFails(t *testing.T) {
	var committed bool
	r := newRig(t, kit(&pen{do: committing(&committed, errors.New("the outbox is full"))})...)
	req := r.call("free_note", `{"text":"a"}`)
	want := tools.Outcome{State: tools.Failed, Text: "It ran, but its result could not be kept: the outbox is full"}
	if diff := cmp.Diff(want, r.run(req)); diff != "" || committed {
		t.Errorf("committed: %v, %s", committed, diff)
	}
	if diff := cmp.Diff(want, r.record(req.ID).Outcome); diff != "" {
		t.Errorf("on disk %s", diff)
	}
}

// An observer's error takes back the change that it was told of, with all that was in its commit.
func TestObserverErrorRollsBack(t *testing.T) {
	fault := errors.New("the transcript can't be written")
	tests := []struct {
		name, tool string
		at         tools.State
		left       tools.State // on disk; "" when there is no record
		runs       int
	}{
		{"asking", "write_note", tools.AwaitingApproval, "", 0},
		{"beginning", "free_note", tools.Running, "", 0},
		{"ending", "free_note", tools.Completed, tools.Running, 1},
		{"refusing", "never_note", tools.Rejected, "", 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var committed bool
			p := &pen{do: committing(&committed, nil)}
			r := newRig(t, kit(p)...)
			req := r.call(test.tool, `{"text":"a"}`)
			_, err := r.executor.Run(t.Context(), req, func(_ *store.Tx, e tools.Execution) error {
				if e.State == test.at {
					return fault
				}
				return nil
			})
			if !errors.Is(err, fault) {
				t.Errorf("got %v", err)
			}
			var got tools.Execution
			err = r.db.View(func(tx *store.Tx) (err error) {
				got, _, err = tools.FindExecution(tx, req.ID)
				return err
			})
			if err != nil || got.State != test.left || len(p.runs()) != test.runs || committed || r.waiting() != 0 {
				t.Errorf("it is %q, ran %d times, committed %v, %d wait, %v", got.State, len(p.runs()), committed, r.waiting(), err)
			}
			r.noCard()
		})
	}
}

func TestSTOP4_Sanitise(t *testing.T) {
	tests := map[string]string{
		"plain\n\ttext\n":         "plain\n\ttext\n",
		"nul\x00bell\x07":         "nulbell",
		"\x1b[31mred\x1b[0m":      "[31mred[0m",
		"dos\r\n":                 "dos\n",
		"\xff\xfebroken\xc3":      "�broken�",
		"c1\u0085\u009b, del\x7f": "c1, del",
		"ü漢😀":                     "ü漢😀",
		"":                        "",
	}
	for in, want := range tests {
		if got := tools.Sanitise(in); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
}

func TestClip(t *testing.T) {
	tests := []struct {
		name, in string
		limit    int
		want     string
	}{
		{"fits", "abcdef", 6, "abcdef"},
		{"two thirds and one third", "abcdefghij", 6, "abcd\n[… 4 bytes left out; see f …]\nij"},
		{"not inside a character", "äääääääääää", 9, "äää\n[… 14 bytes left out; see f …]\nä"},
		{"nothing fits", "😀😀😀", 3, "\n[… 12 bytes left out; see f …]\n"},
	}
	for _, test := range tests {
		if got := tools.Clip(test.in, test.limit, "; see f"); got != test.want {
			t.Errorf("%s: got %q, want %q", test.name, got, test.want)
		}
	}
}
