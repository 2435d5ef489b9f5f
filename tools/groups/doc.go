// Package groups is the tools that bring people together: group_list, group_member_candidates and group_member_add.
//
// Groups and people reach the model by name and by sealed references (tools/refs), which are bound to the person who asks;
// raw ids never do. It leaves to others what nod knows of groups and how a link is made and sent (tools.GroupPort).
package groups

import (
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
	id, err := d.box.Open(refs.Group, asker(s), ref)
	if err != nil {
		return tools.GroupInfo{}, err
	}
	groups, err := s.Ports.Groups.Groups(tx, s.By)
	for _, g := range groups {
		if strconv.FormatInt(int64(g.ID), 10) == id {
			return g, nil
		}
	}
	if err == nil {
		err = refs.ErrBad
	}
	return tools.GroupInfo{}, err
}

// person finds the person of a reference among those who may be named now.
func (d *desk) person(tx *store.Tx, s tools.Scope, ref string) (tools.PersonInfo, error) {
	id, err := d.box.Open(refs.Person, asker(s), ref)
	if err != nil {
		return tools.PersonInfo{}, err
	}
	people, err := s.Ports.Groups.People(tx, s.By)
	for _, p := range people {
		if strconv.FormatInt(int64(p.ID), 10) == id {
			return p, nil
		}
	}
	if err == nil {
		err = refs.ErrBad
	}
	return tools.PersonInfo{}, err
}

// holds says whether a name holds the words of a query, in any case.
func holds(name, query string) bool {
	return strings.Contains(strings.ToLower(name), strings.ToLower(strings.TrimSpace(query)))
}

// line makes a name that somebody chose fit on a line of a list.
func line(name string) string { return tools.Sanitise(strings.Join(strings.Fields(name), " ")) }
