package bot

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"nod/agent"
	"nod/bot/keyboard"
	"nod/bot/render"
	"nod/store"
	"nod/tools"
)

const profileHelp = "A run context gives a chat, and the jobs that are made in it, the rules of a group, a folder to work in, folders that are " +
	"open, and words of yours.  \n/profile NAME chooses one here.  \n/profile set NAME FIELD VALUE makes or changes one; the fields are " +
	"group, dir, reads, writes (folders, with commas between) and prompt, and without VALUE a field is emptied.  \n/profile delete NAME deletes one."

// profile shows the run context of this conversation, chooses another, or changes one.
func (q *request) profile(tx *store.Tx, args string) error {
	words := strings.Fields(args)
	switch verb := strings.ToLower(append(words, "")[0]); {
	case len(words) == 0:
		return q.View.profileCard(tx, q.at, q.Driver, true)
	case len(words) == 1 && verb == "help":
		return q.say(tx, profileHelp)
	case len(words) == 1:
		return q.profileChanged(tx, q.Driver.UseContext(tx, q.at, verb))
	case verb == "delete" && len(words) == 2:
		return q.profileChanged(tx, q.Driver.DropContext(tx, words[1]))
	case verb == "set" && len(words) >= 3:
		return q.setProfile(tx, words[1], strings.ToLower(words[2]), afterWords(args, 3))
	}
	return q.say(tx, profileHelp)
}

// profileChanged shows the panel after a change, or says why there was none.
func (q *request) profileChanged(tx *store.Tx, err error) error {
	if err != nil {
		return &refusedError{text: escapeMarkdown(sentence(clean(err.Error())))}
	}
	return q.View.profileCard(tx, q.at, q.Driver, true)
}

// setProfile changes one field of a run context, which it makes if need be.
func (q *request) setProfile(tx *store.Tx, name, field, value string) error {
	all, err := q.Driver.RunContexts(tx)
	if err != nil {
		return err
	}
	c := agent.RunContext{Name: name}
	if i := slices.IndexFunc(all, func(c agent.RunContext) bool { return c.Name == name }); i >= 0 {
		c = all[i]
	}
	switch field {
	case "group":
		c.Group = value
	case "dir":
		c.Dir = value
	case "reads":
		c.Reads = folderList(value)
	case "writes":
		c.Writes = folderList(value)
	case "prompt":
		if c.Prompt = nil; value != "" {
			c.Prompt = []string{value}
		}
	default:
		return &refusedError{text: "There is no field " + escapeMarkdown(field) + ".\n\n" + profileHelp}
	}
	if _, err := q.Driver.SaveContext(tx, c); err != nil {
		return q.profileChanged(tx, err)
	}
	return q.View.profileCard(tx, q.at, q.Driver, true)
}

// folderList parts folders at commas.
func folderList(value string) (folders []string) {
	for part := range strings.SplitSeq(value, ",") {
		if part = strings.TrimSpace(part); part != "" {
			folders = append(folders, part)
		}
	}
	return folders
}

// afterWords is a text without its first n words.
func afterWords(text string, n int) string {
	text = strings.TrimSpace(text)
	for range n {
		at := strings.IndexAny(text, " \t\n")
		if at < 0 {
			return ""
		}
		text = strings.TrimSpace(text[at:])
	}
	return text
}

func profileSlot(at store.Address) string { return "profile/" + at.String() }

// profileCard shows the run contexts that there are, with a button that chooses each.
func (v *View) profileCard(tx *store.Tx, to store.Address, driver *agent.Driver, fresh bool) error {
	all, err := driver.RunContexts(tx)
	if err != nil {
		return err
	}
	current, err := agent.Profile(tx, to)
	if err != nil {
		return err
	}
	lines := []string{"**Run context of this chat: " + escapeMarkdown(cmp.Or(current, agent.NoContext)) + "**"}
	if len(all) == 0 {
		lines = append(lines, "There are none yet. /profile help tells how one is made.")
	}
	known := current == ""
	var names []string
	for _, c := range all {
		names = append(names, c.Name)
		known = known || c.Name == current
		lines = append(lines, "", "**"+escapeMarkdown(c.Name)+"**"+map[bool]string{true: " (of nod.yaml)"}[c.FromFile])
		lines = append(lines, contextLines(driver.Workspace, c)...)
	}
	if !known {
		lines = append(lines, "", "It is not defined any more, so nothing runs here until you choose another.")
	}
	return v.panel(tx, to, profileSlot(to), strings.Join(lines, "  \n"), keyboard.Contexts(names, cmp.Or(current, agent.NoContext), agent.NoContext), fresh)
}

// contextLines tell what a run context gives.
func contextLines(w *tools.Workspace, c agent.RunContext) (lines []string) {
	shown := func(folders []string) string {
		var all []string
		for _, f := range folders {
			all = append(all, w.Shown(f))
		}
		return strings.Join(all, ", ")
	}
	tell := func(what, value string) {
		if value != "" {
			value, _ = render.Visible(value)
			lines = append(lines, fmt.Sprintf("%s: %s", what, escapeMarkdown(value)))
		}
	}
	tell("Rules of the group", c.Group)
	tell("Works in", c.Dir)
	tell("Read freely", shown(c.Reads))
	tell("Written freely", shown(c.Writes))
	tell("Words", firstLine(strings.Join(c.Prompt, " · ")))
	if len(lines) == 0 {
		lines = append(lines, "Nothing beside what every chat has.")
	}
	return lines
}

// useContext takes the press on a run context to its effect.
func (b *buttonPress) useContext(tx *store.Tx, name string) (string, error) {
	if err := b.Driver.UseContext(tx, b.at(), name); err != nil {
		return "", err
	}
	return "From the next message on", b.View.profileCard(tx, b.at(), b.Driver, false)
}
