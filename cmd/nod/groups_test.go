package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"nod/agent/llm/scripted"
	"nod/bot"
	"nod/bot/emulator"
	"nod/store"
)

var carl = emulator.User{ID: 303, FirstName: "Carl"}

// circle is a world with a group of Ann's, and Bob and Carl as guests who may be invited to it.
type circle struct {
	*world
	group *emulator.Group
	bob   *emulator.Person
	carl  *emulator.Person
}

func newCircle(t *testing.T) *circle {
	t.Helper()
	c := &circle{world: newWorld(t)}
	c.bob, c.carl = c.telegram.Private(bob), c.telegram.Private(carl)
	c.start()
	for _, p := range []*emulator.Person{c.bob, c.carl} {
		c.end()
		code := c.invite(bot.Guest)
		c.start()
		p.SendText("/start " + code)
		c.sees(p, "You may chat with me")
	}
	c.group = c.telegram.NewGroup(emulator.GroupOptions{Title: "Chess *club*", Admin: true}, ann)
	c.group.Person(ann).SendText("/enroll")
	c.sees(c.group.Person(ann), "I listen here")
	return c
}

var refForm = regexp.MustCompile(`(group|person)_[A-Za-z0-9_-]{20,}`)

// refsIn finds the references that the last result of a request holds.
func refsIn(r scripted.Request) []string {
	results := r.Results()
	return refForm.FindAllString(results[len(results)-1], -1)
}

// adds has the model list the group and its candidates and then invite those who are picked.
func (c *circle) adds(pick func(candidates []string) []string) {
	group := ""
	c.model.push(scripted.Call("group_list", map[string]any{}))
	c.model.answer(func(r scripted.Request) scripted.Reply {
		group = refsIn(r)[0]
		return scripted.Call("group_member_candidates", map[string]any{"group_ref": group})
	})
	c.model.answer(func(r scripted.Request) scripted.Reply {
		return scripted.Call("group_member_add", map[string]any{"group_ref": group, "candidate_refs": pick(refsIn(r))})
	})
	c.model.answer(func(r scripted.Request) scripted.Reply {
		results := r.Results()
		return scripted.Say("It says: " + results[len(results)-1])
	})
	c.ann.SendText("Invite them to the chess club.")
}

func all(candidates []string) []string { return candidates }

// linkTo is the link that a person was sent.
func (c *circle) linkTo(p *emulator.Person) string {
	c.t.Helper()
	text := c.sees(p, "You are invited to the group Chess *club*").Text
	return regexp.MustCompile(`https://\S+`).FindString(text)
}

func (c *circle) noIdsIn(requests []scripted.Request) {
	c.t.Helper()
	for _, r := range requests {
		for _, result := range r.Results() {
			for _, id := range []string{"202", "303", strings.TrimPrefix(fmt.Sprint(c.group.ID()), "-")} {
				if strings.Contains(refForm.ReplaceAllString(result, ""), id) {
					c.t.Errorf("the model reads the id %s: %s", id, result)
				}
			}
		}
	}
}

func TestGroupMembersByRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCircle(t)
		c.group.JoinByRequest()
		c.adds(all)
		card := c.sees(c.ann, "Invite to the group Chess *club*")
		if !strings.Contains(card.Text, "• Bob\n• Carl") {
			t.Errorf("the card reads %s", card.Text)
		}
		c.press(c.ann, "✅ Approve")
		c.sees(c.ann, "Bob: got a private link to ask to join")
		link := c.linkTo(c.bob)
		if !c.group.JoinBy(carl, link) { // who got hold of Bob's link
			t.Fatal("the link is dead")
		}
		c.group.AskToJoin(emulator.User{ID: 404, FirstName: "Dora"}) // who came by another way: for a person to decide
		time.Sleep(time.Minute)
		if s := c.group.Status(carl.ID); s != "left" {
			t.Errorf("Carl is %s by the link for Bob", s)
		}
		c.group.JoinBy(bob, link)
		c.group.JoinBy(carl, c.linkTo(c.carl))
		time.Sleep(time.Minute)
		for _, u := range []emulator.User{bob, carl} {
			if s := c.group.Status(u.ID); s != "member" {
				t.Errorf("%s is %s", u.FirstName, s)
			}
		}
		if n := len(c.telegram.Calls("declineChatJoinRequest")); n != 1 {
			t.Errorf("%d requests were declined", n)
		}
		c.noIdsIn(c.service.Requests())
	})
}

func TestGroupMembersByOneUseLink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCircle(t)
		c.adds(all)
		c.press(c.ann, "✅ Approve")
		c.sees(c.ann, "Carl: got a private link that works once")
		link := c.linkTo(c.carl)
		if !c.group.JoinBy(carl, link) || c.group.JoinBy(emulator.User{ID: 404, FirstName: "Dora"}, link) {
			t.Error("the link does not work exactly once")
		}
		time.Sleep(25 * time.Hour)
		if c.group.JoinBy(bob, c.linkTo(c.bob)) {
			t.Error("a day later the link still works")
		}
		c.adds(all) // Carl is in, so Bob alone is offered
		c.press(c.ann, "❌ Reject")
		if card := c.sees(c.ann, "❌ Rejected by Ann"); strings.Contains(card.Text, "Carl") || !strings.Contains(card.Text, "• Bob") {
			t.Errorf("the card reads %s", card.Text)
		}
		c.sees(c.ann, "User rejected this tool call.")
	})
}

// TestGroupRefsAreNotForged: what was changed, what another person got, and what names nobody is refused before a card.
func TestGroupRefsAreNotForged(t *testing.T) {
	const bad = "this reference is not valid here"
	for name, test := range map[string]struct {
		pick func([]string) []string
		want string
	}{
		"a changed letter": {func(refs []string) []string { return []string{refs[0][:len(refs[0])-2] + "AA"} }, bad},
		"a raw id":         {func([]string) []string { return []string{"202"} }, bad},
		"a group's":        {func(refs []string) []string { return []string{strings.Replace(refs[0], "person_", "group_", 1)} }, bad},
		"one twice":        {func(refs []string) []string { return []string{refs[0], refs[0]} }, "names somebody twice"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCircle(t)
				c.adds(test.pick)
				if m := c.sees(c.ann, "It says: "); !strings.Contains(m.Text, test.want) {
					t.Errorf("the model was told: %s", m.Text)
				}
				if strings.Contains(c.ann.Transcript(), "Invite to the group") {
					t.Error("a person was asked")
				}
				if n := len(c.telegram.Calls("createChatInviteLink")); n != 0 {
					t.Errorf("%d links were made", n)
				}
			})
		})
	}
	t.Run("a guest has no groups", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c := newCircle(t)
			c.model.push(scripted.Call("group_list", map[string]any{}))
			c.model.answer(func(r scripted.Request) scripted.Reply { return scripted.Say("It says: " + r.Results()[0]) })
			c.bob.SendText("Which groups are there?")
			c.sees(c.bob, "There is no such group")
		})
	})
}

// TestGroupWithoutTheRight: each person's outcome stands by itself, with what to do.
func TestGroupWithoutTheRight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCircle(t)
		c.adds(all)
		c.sees(c.ann, "Invite to the group")
		c.group.Return(ann)
		c.press(c.ann, "✅ Approve")
		c.sees(c.ann, "Bob: not invited: Telegram refuses: not enough rights to manage chat invite link; an administrator who may invite people is needed")
	})
}

// TestGroupLinkOfSomebodyTurnedAway: who is not listened to any more gets in by no earlier link.
func TestGroupLinkOfSomebodyTurnedAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCircle(t)
		c.group.JoinByRequest()
		c.adds(all)
		c.press(c.ann, "✅ Approve")
		link := c.linkTo(c.bob)
		c.end()
		db, err := store.Open(filepath.Join(c.home, databaseName))
		if err != nil {
			t.Fatal(err)
		}
		err = db.Update(func(tx *store.Tx) error {
			p, err := bot.Access{}.Person(tx, store.UserID(bob.ID))
			p.Role = bot.Ignored
			return errors.Join(err, bot.Access{}.Put(tx, p))
		})
		if err := errors.Join(err, db.Close()); err != nil {
			t.Fatal(err)
		}
		c.start()
		c.group.JoinBy(bob, link)
		time.Sleep(time.Minute)
		if s := c.group.Status(bob.ID); s != "left" || len(c.telegram.Calls("declineChatJoinRequest")) != 1 {
			t.Errorf("Bob is %s", s)
		}
	})
}
