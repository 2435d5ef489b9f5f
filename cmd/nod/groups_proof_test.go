package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"nod/bot"
	"nod/bot/emulator"
	"nod/tools"
)

var dora = emulator.User{ID: 404, FirstName: "Dora"}

// inCircle holds a test in a circle with three guests: Bob, Carl and Dora.
func inCircle(t *testing.T, hold func(t *testing.T, c *circle, e exhibition)) {
	synctest.Test(t, func(t *testing.T) {
		c := newCircle(t)
		c.end()
		code := c.invite(bot.Guest)
		c.config = func(cfg *Config) { cfg.Owners = append(cfg.Owners, zoeID) }
		c.start()
		p := c.telegram.Private(dora)
		p.SendText("/start " + code)
		c.sees(p, "You may chat with me")
		hold(t, c, exhibition{c.world})
	})
}

// refsOf are the references that a result holds, by the names before them.
func refsOf(result string) map[string]string {
	found := map[string]string{}
	for line := range strings.Lines(result) {
		if name, rest, ok := strings.Cut(line, ": "); ok {
			found[name] = refForm.FindString(rest)
		}
	}
	return found
}

// named are the people that a call of group_member_candidates gives, in order.
func (e exhibition) named(args map[string]any) (names []string, result string) {
	e.t.Helper()
	result = e.call("Who could come?", tools.GroupMemberCandidates, args)
	for line := range strings.Lines(result) {
		if name, _, ok := strings.Cut(line, ": candidate_ref "); ok {
			names = append(names, name)
		}
	}
	return names, result
}

// TestGroupCandidatesAreChosen by a part of the name, up to a limit of 1 to 50, and from among the members of other groups.
func TestGroupCandidatesAreChosen(t *testing.T) {
	inCircle(t, func(t *testing.T, c *circle, e exhibition) {
		choir := c.telegram.NewGroup(emulator.GroupOptions{Title: "Choir", Admin: true}, ann, bob)
		hikers := c.telegram.NewGroup(emulator.GroupOptions{Title: "Hikers", Admin: true}, ann, dora)
		for _, g := range []*emulator.Group{choir, hikers} {
			g.Person(ann).SendText("/enroll")
			c.sees(g.Person(ann), "I listen here")
		}
		groups := refsOf(e.call("Which groups are there?", tools.GroupList, map[string]any{}))
		chess, from := groups["Chess *club*"], []string{groups["Choir"]}
		for _, test := range []struct {
			args map[string]any
			want []string
			more bool
		}{
			{args: map[string]any{}, want: []string{"Bob", "Carl", "Dora"}},
			{args: map[string]any{"query": " OR"}, want: []string{"Dora"}},
			{args: map[string]any{"limit": 1}, want: []string{"Bob"}, more: true},
			{args: map[string]any{"limit": 3}, want: []string{"Bob", "Carl", "Dora"}},
			{args: map[string]any{"limit": 50}, want: []string{"Bob", "Carl", "Dora"}},
			{args: map[string]any{"from_group_refs": from}, want: []string{"Bob"}},
			{args: map[string]any{"from_group_refs": []string{groups["Hikers"]}}, want: []string{"Dora"}},
			{args: map[string]any{"from_group_refs": append(from, groups["Hikers"])}, want: []string{"Bob", "Dora"}},
			{args: map[string]any{"from_group_refs": append(from, groups["Hikers"]), "limit": 1}, want: []string{"Bob"}, more: true},
			{args: map[string]any{"from_group_refs": append(from, groups["Hikers"]), "query": "car"}},
		} {
			test.args["group_ref"] = chess
			names, result := e.named(test.args)
			if !slices.Equal(names, test.want) || strings.Contains(result, "There are more") != test.more {
				t.Errorf("%v gives %q", test.args, result)
			}
			if len(test.want) == 0 && !strings.Contains(result, "Nobody") {
				t.Errorf("%v gives %q", test.args, result)
			}
		}
		for _, limit := range []int{0, 51, -1} {
			e.says("limit: ", "Who could come?", tools.GroupMemberCandidates, map[string]any{"group_ref": chess, "limit": limit})
		}
		e.says("from_group_refs: this reference is not valid here", "Who could come?", tools.GroupMemberCandidates, map[string]any{"group_ref": chess, "from_group_refs": []string{altered(from[0])}})
		c.noIdsIn(c.service.Requests())
	})
}

// TestGroupEachHasTheirOwnOutcome: in one call Bob is invited, Carl has come by himself meanwhile, and Telegram does not know
// Dora any more.
func TestGroupEachHasTheirOwnOutcome(t *testing.T) {
	inCircle(t, func(t *testing.T, c *circle, _ exhibition) {
		c.adds(all)
		c.sees(c.ann, "• Bob\n• Carl\n• Dora")
		c.group.Person(carl)
		c.telegram.InjectWhen("getChatMember", 1, func(call emulator.Call) bool { return call.Params["user_id"] == fmt.Sprint(dora.ID) }, emulator.Fail(400, "Bad Request: PARTICIPANT_ID_INVALID"))
		c.press(c.ann, approveButton)
		c.sees(c.ann, "It says: ")
		requests := c.service.Requests()
		results := requests[len(requests)-1].Results()
		lines := strings.Split(strings.TrimSpace(results[len(results)-1]), "\n")
		forms := []string{
			`^Bob: got a private link that works once, until \d+ Jan, \d\d:\d\d$`, `^Carl: is in the group already$`,
			`^Dora: not invited: Telegram refuses: .*PARTICIPANT_ID_INVALID`,
		}
		if len(lines) != len(forms) {
			t.Fatalf("the outcome reads %q", lines)
		}
		for i, form := range forms {
			if !regexp.MustCompile(form).MatchString(lines[i]) {
				t.Errorf("%q is not like %s", lines[i], form)
			}
		}
		c.linkTo(c.bob)
		time.Sleep(time.Minute)
		for name, p := range map[string]*emulator.Person{"Carl": c.carl, "Dora": c.telegram.Private(dora)} {
			if strings.Contains(p.Transcript(), "You are invited") {
				t.Errorf("%s got a link", name)
			}
		}
		if n := len(c.telegram.Calls("createChatInviteLink")); n != 1 {
			t.Errorf("%d links were made", n)
		}
	})
}

// TestGroupRefsAreOfOnePersonForOneDay: what another owner was given and what is 25 hours old is refused by each tool that
// takes it, before anybody is asked.
func TestGroupRefsAreOfOnePersonForOneDay(t *testing.T) {
	const bad = "this reference is not valid here"
	inCircle(t, func(t *testing.T, c *circle, e exhibition) {
		zoe := exhibition{&world{}}
		*zoe.world = *e.world // the same nod, spoken to by Zoe
		zoe.ann = c.telegram.Private(emulator.User{ID: zoeID, FirstName: "Zoe"})
		refs := func(e exhibition) (group, person string) {
			group = refsOf(e.call("Which groups are there?", tools.GroupList, map[string]any{}))["Chess *club*"]
			person = refsOf(e.call("Who could come?", tools.GroupMemberCandidates, map[string]any{"group_ref": group}))["Bob"]
			if group == "" || person == "" {
				e.t.Fatalf("no references for %d", e.ann.ChatID())
			}
			return group, person
		}
		group, person := refs(e)
		others, someone := refs(zoe)
		refused := func(group, person, where string) {
			t.Helper()
			e.says(where+": "+bad, "Let him in.", tools.GroupMemberAdd, map[string]any{"group_ref": group, "candidate_refs": []string{person}})
		}
		refused(others, person, "group_ref")
		refused(group, someone, "candidate_refs[0]")
		e.says("group_ref: "+bad, "Who could come?", tools.GroupMemberCandidates, map[string]any{"group_ref": others})
		e.says("from_group_refs: "+bad, "Who could come?", tools.GroupMemberCandidates, map[string]any{"group_ref": group, "from_group_refs": []string{others}})
		time.Sleep(25 * time.Hour)
		refused(group, person, "group_ref")
		fresh, _ := refs(e)
		refused(fresh, person, "candidate_refs[0]")
		e.says("group_ref: "+bad, "Who could come?", tools.GroupMemberCandidates, map[string]any{"group_ref": group})
		if cards := e.ann.Transcript(); strings.Contains(cards, "Invite to the group") || len(c.telegram.Calls("createChatInviteLink")) != 0 {
			t.Errorf("a person was asked, or a link made:\n%s", cards)
		}
	})
}
