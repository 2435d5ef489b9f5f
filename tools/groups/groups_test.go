package groups

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"nod/approvals"
	"nod/store"
	"nod/tools"
	"nod/tools/refs"
	"nod/tools/tooltest"
)

const (
	bob  store.UserID = 202
	carl store.UserID = 303

	chess store.ChatID = -100404
	go_   store.ChatID = -100505
)

// town is a rig and what the bot knows: its groups, people, and who is where.
type town struct {
	*tooltest.Rig
	desk    *desk
	groups  []tools.GroupInfo
	people  []tools.PersonInfo
	members map[store.ChatID][]store.UserID
	closed  map[store.UserID]bool // no link can be made for them
	sent    []store.UserID
}

func newTown(t *testing.T) *town {
	t.Helper()
	db := store.OpenTest(t)
	box, err := refs.New(db)
	if err != nil {
		t.Fatal(err)
	}
	w := &town{
		desk:   &desk{db: db, box: box},
		groups: []tools.GroupInfo{{ID: chess, Title: "Chess\nclub\a"}, {ID: go_, Title: "Go"}},
		people: []tools.PersonInfo{{ID: bob, Name: "Bob"}, {ID: carl, Name: "Carl"}},
	}
	w.Rig = tooltest.NewOn(t, db, func(*tools.Workspace) []tools.Tool { return Tools(db, box) })
	w.Scope.Ports.Groups = w
	w.OnCard = tooltest.Approve
	return w
}

func (w *town) Groups(_ *store.Tx, by store.UserID) ([]tools.GroupInfo, error) {
	if by != tooltest.Owner {
		return nil, nil
	}
	return w.groups, nil
}

func (w *town) People(*store.Tx, store.UserID) ([]tools.PersonInfo, error) { return w.people, nil }

func (w *town) IsMember(_ context.Context, group store.ChatID, person store.UserID) (bool, error) {
	for _, id := range w.members[group] {
		if id == person {
			return true, nil
		}
	}
	return false, nil
}

func (w *town) Link(_ context.Context, group store.ChatID, person store.UserID) (tools.JoinLink, error) {
	if w.closed[person] {
		return tools.JoinLink{}, errors.New("no rights")
	}
	return tools.JoinLink{Group: group, Person: person, Expires: time.Now().Add(time.Hour)}, nil
}

func (w *town) Send(_ *store.Tx, link tools.JoinLink) error {
	w.sent = append(w.sent, link.Person)
	return nil
}

// add invites people to a group and gives the outcome.
func (w *town) add(group string, people ...string) tools.Outcome {
	w.T.Helper()
	return w.Call(tools.GroupMemberAdd, addIn{GroupRef: group, CandidateRefs: people})
}

func TestOnlyReferencesThatWereGivenAreTaken(t *testing.T) {
	foreign := tools.Scope{By: bob}
	tests := map[string]func(w *town) (group, person string){
		"forged": func(*town) (string, string) {
			return "group_" + strings.Repeat("A", 60), "person_" + strings.Repeat("A", 60)
		},
		"bare ids":            func(*town) (string, string) { return fmt.Sprint(chess), fmt.Sprint(bob) },
		"names":               func(*town) (string, string) { return "Go", "Bob" },
		"given to another":    func(w *town) (string, string) { return w.desk.groupRef(foreign, chess), w.desk.personRef(foreign, bob) },
		"of the other kind":   func(w *town) (string, string) { return w.desk.personRef(w.Scope, bob), w.desk.groupRef(w.Scope, chess) },
		"never known":         func(w *town) (string, string) { return w.desk.groupRef(w.Scope, 1), w.desk.personRef(w.Scope, 1) },
		"gone since":          func(w *town) (string, string) { g, p := w.refs(); w.groups, w.people = nil, nil; return g, p },
		"of a previous order": func(w *town) (string, string) { g, p := w.refs(); time.Sleep(refs.Life + time.Second); return g, p },
	}
	for name, made := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newTown(t)
				badGroup, badPerson := made(w)
				w.groups = append(w.groups, tools.GroupInfo{ID: 9, Title: "Ours"}) // whose reference is good
				w.people = append(w.people, tools.PersonInfo{ID: 9, Name: "Ann"})
				group, person := w.desk.groupRef(w.Scope, 9), w.desk.personRef(w.Scope, 9)
				for what, out := range map[string]tools.Outcome{
					"group_ref":         w.add(badGroup, person),
					"candidate_refs[1]": w.add(group, person, badPerson),
					"group_ref ":        w.Call(tools.GroupMemberCandidates, candidatesIn{GroupRef: badGroup}),
					"from_group_refs":   w.Call(tools.GroupMemberCandidates, candidatesIn{GroupRef: group, FromGroupRefs: []string{badGroup}}),
				} {
					if out.State != tools.Failed || !strings.Contains(out.Text, strings.TrimSpace(what)+": "+refs.ErrBad.Error()) {
						t.Errorf("%s: %s, %s", what, out.State, out.Text)
					}
				}
				if len(w.sent) > 0 || len(w.Cards()) > 0 {
					t.Errorf("sent to %v, asked %d times", w.sent, len(w.Cards()))
				}
			})
		})
	}
}

// refs are good references to the chess club and to Bob.
func (w *town) refs() (group, person string) {
	return w.desk.groupRef(w.Scope, chess), w.desk.personRef(w.Scope, bob)
}

func TestListsNameWithoutIDs(t *testing.T) {
	w := newTown(t)
	w.members = map[store.ChatID][]store.UserID{chess: {bob}, go_: {carl}}
	group, _ := w.refs()
	other := w.desk.groupRef(w.Scope, go_)
	tests := map[string]struct {
		out        tools.Outcome
		holds, not string
	}{
		"groups":           {w.Call(tools.GroupList, listIn{}), "Chess club: group_ref group_", "\a"},
		"groups by name":   {w.Call(tools.GroupList, listIn{Query: " GO"}), "Go: group_ref", "Chess"},
		"no such group":    {w.Call(tools.GroupList, listIn{Query: "bridge"}), "no such group", "Go"},
		"who could come":   {w.Call(tools.GroupMemberCandidates, candidatesIn{GroupRef: group}), "Carl: candidate_ref person_", "Bob"},
		"out of a group":   {w.Call(tools.GroupMemberCandidates, candidatesIn{GroupRef: group, FromGroupRefs: []string{other}}), "Carl", "Bob"},
		"not out of it":    {w.Call(tools.GroupMemberCandidates, candidatesIn{GroupRef: other, FromGroupRefs: []string{other}}), "Nobody", "Carl"},
		"by name":          {w.Call(tools.GroupMemberCandidates, candidatesIn{GroupRef: group, Query: "bo"}), "Nobody", "Carl"},
		"more than wanted": {w.Call(tools.GroupMemberCandidates, candidatesIn{GroupRef: w.desk.groupRef(w.Scope, w.found("Bridge")), Limit: 1}), "There are more", "Carl"},
	}
	for name, test := range tests {
		if test.out.State != tools.Completed || !strings.Contains(test.out.Text, test.holds) || strings.Contains(test.out.Text, test.not) {
			t.Errorf("%s: %s, %s", name, test.out.State, test.out.Text)
		}
		for _, id := range []int64{int64(-chess), int64(-go_)} {
			if strings.Contains(test.out.Text, fmt.Sprint(id)) {
				t.Errorf("%s: an id is told: %s", name, test.out.Text)
			}
		}
	}
}

// found founds a group in which nobody is.
func (w *town) found(title string) store.ChatID {
	const id store.ChatID = -100606
	w.groups = append(w.groups, tools.GroupInfo{ID: id, Title: title})
	return id
}

func TestEachIsToldTheOutcome(t *testing.T) {
	w := newTown(t)
	w.members, w.closed = map[store.ChatID][]store.UserID{chess: {bob}}, map[store.UserID]bool{carl: true}
	w.people = append(w.people, tools.PersonInfo{ID: 9, Name: "Ann"})
	group, person := w.refs()
	out := w.add(group, person, w.desk.personRef(w.Scope, carl), w.desk.personRef(w.Scope, 9))
	for _, want := range []string{"Bob: is in the group already", "Carl: not invited: no rights", "Ann: got a private link that works once"} {
		if !strings.Contains(out.Text, want) {
			t.Errorf("%q is not in %s", want, out.Text)
		}
	}
	if len(w.sent) != 1 || w.sent[0] != 9 {
		t.Errorf("sent to %v", w.sent)
	}
	cards := w.Cards()
	if len(cards) != 1 || cards[0].Request.Subject.Text != "Invite to the group Chess club:\n• Bob\n• Carl\n• Ann" {
		t.Errorf("the cards are %+v", cards)
	}
	if out := w.add(group, person, person); out.State != tools.Failed || !strings.Contains(out.Text, "twice") {
		t.Errorf("twice: %s, %s", out.State, out.Text)
	}
}

// A nod is bound to who was shown: another person behind the same reference is another call.
func TestNothingIsSentWhenTheGroupIsGoneByTheTimeOfTheNod(t *testing.T) {
	w := newTown(t)
	group, person := w.refs()
	w.OnCard = func(p approvals.Pending) approvals.Decision {
		w.groups = w.groups[1:]
		return tooltest.Approve(p)
	}
	if out := w.add(group, person); out.State == tools.Completed || len(w.sent) > 0 {
		t.Errorf("%s, %s; sent to %v", out.State, out.Text, w.sent)
	}
}
