// Package groups is the tools that bring people together: group_list, group_member_candidates and group_member_add.
//
// Groups and people reach the model by name and by sealed references (tools/refs), which are bound to the person who asks;
// raw ids never do. It leaves to others what nod knows of groups and how a link is made and sent (tools.GroupPort).
package groups

import (
	"slices"
	"strconv"
	"strings"

	"nod/store"
	"nod/tools"
	"nod/tools/refs"
)

// Tools are the tools of this package.
func Tools(db *store.DB, box *refs.Box) []tools.Tool {
	d := &desk{db: db, box: box}
	return []tools.Tool{d.groupList(), d.groupMemberCandidates(), d.groupMemberAdd()}
}

type desk struct {
	db  *store.DB
	box *refs.Box
}

// traits are those of a tool that acts for the person who is there.
func traits(effect tools.Effect) tools.Traits {
	return tools.Traits{Category: tools.Chat, Effect: effect, Interactive: true, Needs: tools.GroupsPort}
}

// asker is whom references are bound to.
func asker(s tools.Scope) string { return strconv.FormatInt(int64(s.By), 10) }

func (d *desk) groupRef(s tools.Scope, id store.ChatID) string {
	return d.box.Seal(refs.Group, asker(s), strconv.FormatInt(int64(id), 10))
}

func (d *desk) personRef(s tools.Scope, id store.UserID) string {
	return d.box.Seal(refs.Person, asker(s), strconv.FormatInt(int64(id), 10))
}

// group finds the group of a reference among those that the person may use now.
func (d *desk) group(tx *store.Tx, s tools.Scope, ref string) (tools.GroupInfo, error) {
	groups, err := s.Ports.Groups.Groups(tx, s.By)
	if err != nil {
		return tools.GroupInfo{}, err
	}
	return behind(d, s, refs.Group, ref, groups, func(g tools.GroupInfo) int64 { return int64(g.ID) })
}

// person finds the person of a reference among those who may be named now.
func (d *desk) person(tx *store.Tx, s tools.Scope, ref string) (tools.PersonInfo, error) {
	people, err := s.Ports.Groups.People(tx, s.By)
	if err != nil {
		return tools.PersonInfo{}, err
	}
	return behind(d, s, refs.Person, ref, people, func(p tools.PersonInfo) int64 { return int64(p.ID) })
}

// behind is what a reference stands for, of all that it may stand for.
func behind[T any](d *desk, s tools.Scope, kind refs.Kind, ref string, all []T, id func(T) int64) (found T, err error) {
	opened, err := d.box.Open(kind, asker(s), ref)
	if err != nil {
		return found, err
	}
	i := slices.IndexFunc(all, func(v T) bool { return strconv.FormatInt(id(v), 10) == opened })
	if i < 0 {
		return found, refs.ErrBad
	}
	return all[i], nil
}

// holds says whether a name holds the words of a query, in any case.
func holds(name, query string) bool {
	return strings.Contains(strings.ToLower(name), strings.ToLower(strings.TrimSpace(query)))
}

// line makes a name that somebody chose fit on a line of a list.
func line(name string) string { return tools.Sanitise(strings.Join(strings.Fields(name), " ")) }
