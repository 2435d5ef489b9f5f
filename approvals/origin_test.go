package approvals

import (
	"testing"

	"nod/store"
)

// TestSA11_WritesNeedAnOwnersOwnWords: whatever would spare a write its card does so only in turns that an owner's own
// typed words opened; nod's own defaults, the context of a job and rules that say so go for every turn.
func TestSA11_WritesNeedAnOwnersOwnWords(t *testing.T) {
	guest := store.UserID(33)
	turns := map[string]func(*Request){
		"typed by a guest": func(q *Request) { q.By = guest },
		"not known":        func(q *Request) { q.Origin = Origin{} },
		"forward":          func(q *Request) { q.Origin = Origin{Kind: FromForward, Name: "Eve"} },
		"wordless":         func(q *Request) { q.Origin = Origin{Kind: FromWordless} },
		"job":              func(q *Request) { q.Origin, q.Source, q.By = Origin{Kind: FromJob, Name: "News"}, Cron, 0 },
		"task":             func(q *Request) { q.Origin = Origin{Kind: FromTask, Name: "Look it up"} },
		"notification":     func(q *Request) { q.Origin, q.By = Origin{Kind: FromNotification, Name: "News"}, 0 },
	}
	ways := map[string]func(*rig, Request){
		"a rule": func(r *rig, q Request) {
			r.add(Rule{Priority: PriorityPerson, Tool: q.Tool, Agent: "main", Action: ActionAllow})
		},
		"an exact rule": func(r *rig, q Request) {
			rule, err := exactly(q, owner)
			if err != nil {
				r.Fatal(err)
			}
			r.add(rule)
		},
		"a rule for jobs": func(r *rig, q Request) {
			r.add(Rule{Priority: PriorityPerson, Tool: q.Tool, Agent: "main", Source: q.Source, Action: ActionAllow})
		},
		"a bypass": func(r *rig, q Request) {
			grant := Grant{ID: newID(), Session: q.Session, Category: q.Category, Source: q.Source, For: q.By, By: owner, Created: wallNow()}
			r.update(func(tx *store.Tx) error { return putGrant(tx, grant) })
		},
	}
	for name, turn := range turns {
		for way, give := range ways {
			t.Run(name+"/"+way, func(t *testing.T) {
				r := newRig(t)
				typed := file("write_file", "/w/notes", true)
				give(r, typed)
				if got := r.judge(typed); way != "a rule for jobs" && got.Verdict != Allow {
					t.Fatalf("not even the owner's own turn: %s (%s)", got.Verdict, got.Reason)
				}
				req := file("write_file", "/w/notes", true)
				turn(&req)
				if way == "a rule for jobs" || way == "a bypass" {
					give(r, req)
				}
				if got := r.judge(req); got.Verdict != Ask {
					t.Errorf("got %s (%s)", got.Verdict, got.Reason)
				}
				if req.Lasting() || req.Bypassable() {
					t.Error("the card offers what would not hold")
				}
				p := r.ask(req)
				for _, verb := range []Verb{VerbAlways, VerbGrant15, VerbGrantSession} {
					_, err := r.gate.Decide(p.ID, owner, Decision{Verb: verb})
					wantErr(t, err, ErrUnfit)
				}
			})
		}
		t.Run(name+"/free", func(t *testing.T) {
			r := newRig(t)
			r.add(Rule{Priority: PriorityPerson, Tool: "write_file", Path: "/w/inbox", Unattended: true, Action: ActionAllow})
			for path, want := range map[string]Verdict{"/w/memory/a": Allow, "/w/inbox/a": Allow, "/w/a": Ask} {
				req := file("write_file", path, true)
				turn(&req)
				if got := r.judge(req); got.Verdict != want {
					t.Errorf("writing %s: %s (%s), want %s", path, got.Verdict, got.Reason, want)
				}
			}
			read := file("read_file", "/w/a", false)
			turn(&read)
			if got := r.judge(read); got.Verdict != Allow {
				t.Errorf("reading: %s (%s)", got.Verdict, got.Reason)
			}
			inContext := file("write_file", "/scratch/a", true)
			inContext.Context.Writes = []string{"/scratch"}
			turn(&inContext)
			if got, want := r.judge(inContext).Verdict, map[bool]Verdict{true: Allow, false: Ask}[name == "job"]; got != want {
				t.Errorf("what the run context opens: %s, want %s", got, want)
			}
		})
	}
}
