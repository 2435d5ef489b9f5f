package main

import (
	"strings"

	"nod/bot/emulator"
	"nod/scheduler"
	"nod/store"
	"nod/tools"
	"nod/tools/gallery"
)

// proof is what shows one tool at work, as a conversation: what is asked for, what must be there before, and what comes of
// it. In its texts $DIR stands for a folder of the workspace that is the proof's own, $MCP for the address of an MCP
// server, and other words for what finds has found in earlier results.
type proof struct {
	tool string
	way  string // tells proofs of one tool from each other; "" for the first
	args string
	says string // a part of the outcome, as the model reads it
	// asks says that a card asks first. What does not ask is refused by a rule.
	asks bool
	// question says that the tool only asks a person, who answers with the text.
	question string
	// soon says that the effect comes while the call runs, not with the commit of its outcome: then a stop that comes
	// after it can't undo it.
	soon bool
	// effect counts what the tool has brought about; nil for one that brings nothing about that lasts.
	effect func(a *act, tx *store.Tx) int

	config bool     // it is in the group config
	inside bool     // it is offered to a task in the background
	forum  bool     // it is asked for in a topic
	word   string   // what is said instead of naming the call
	before []string // what is done before, call by call, with the nods that it needs
	finds  map[string]string
}

// proofs are at least one for each tool of the catalogue.
var proofs = []proof{
	{tool: tools.ListFiles, args: `{"path":"$DIR"}`, says: "a.txt"},
	{tool: tools.ReadFile, args: `{"path":"$DIR/a.txt"}`, says: "two"},
	{tool: tools.SearchFile, args: `{"path":"$DIR/a.txt","query":"two"}`, says: "two"},
	{tool: tools.GrepFiles, args: `{"path":"$DIR","pattern":"t.o"}`, says: "a.txt"},
	{tool: tools.GetASTOutline, args: `{"path":"$DIR/a.go"}`, says: "Hello"},
	{tool: tools.WriteFile, args: `{"path":"$DIR/new.txt","content":"new\n"}`, says: "new.txt", asks: true, soon: true, effect: holds("new.txt", "new\n")},
	{tool: tools.EditFile, args: `{"path":"$DIR/a.txt","old":"two","new":"2"}`, says: "a.txt", asks: true, soon: true, effect: holds("a.txt", "one\n2\n")},
	{
		tool: tools.InsertAtLine, args: `{"path":"$DIR/a.txt","line":2,"content":"three"}`, says: "a.txt", asks: true, soon: true,
		effect: holds("a.txt", "one\ntwo\nthree\n"),
	},
	{
		tool: tools.ReplaceLines, args: `{"path":"$DIR/a.txt","from_line":2,"to_line":2,"new":"2"}`, says: "a.txt", asks: true, soon: true,
		effect: holds("a.txt", "one\n2\n"),
	},

	{tool: tools.ExecuteCmd, args: `{"command":"echo ran >> $DIR/ran.log; echo well"}`, says: "well", asks: true, soon: true, effect: lines("ran.log")},
	{tool: tools.Restart, args: `{}`, says: "nod was restarted", asks: true, effect: func(a *act, _ *store.Tx) int { return len(a.telegram.Calls("getMe")) - a.lives() }},

	{
		tool: tools.ExecuteTask, way: "_cron", asks: true, says: "Scheduled", effect: jobsTitled("Water the plants", ""),
		args: `{"mode":"cron","title":"Water the plants","prompt":"Water them.","agent_id":"main","cron":"0 9 1 1 *"}`,
	},
	{
		tool: tools.ExecuteTask, way: "_sync", says: "Nothing to do", soon: true, effect: began,
		args: `{"mode":"sync","title":"Count to three","prompt":"Count.","agent_id":"generalist"}`,
	},
	{
		tool: tools.ExecuteTask, way: "_async", says: "Started in the background", effect: began,
		args: `{"mode":"async","title":"Count to four","prompt":"Count.","agent_id":"generalist"}`,
	},
	{
		tool: tools.ExecuteSubtask, inside: true, says: "Nothing to do", soon: true, effect: began,
		args: `{"title":"Count to five","prompt":"Count.","agent_id":"generalist"}`,
	},
	{tool: tools.ReadAgentResult, args: `{"task_id":"x"}`, says: "not_ready"},

	{
		tool: tools.AskUserClarification, args: `{"title":"Colour","question":"Which colour?"}`, says: "The user answered: blue",
		question: "blue",
	},
	{tool: tools.WriteTodos, args: `{"todos":[{"content":"Sweep","status":"pending"}]}`, says: "Sweep"},
	{tool: tools.UpdateScratchpad, args: `{"content":"a note to self"}`, says: "14 bytes", effect: ofSession("scratchpads", "a note to self")},
	{tool: tools.ActivateTools, args: `{"groups":["config"]}`, says: "Active from the next step on", effect: ofSession("active_groups", "config")},
	{
		tool: tools.Notify, inside: true, args: `{"source":"bell","summary":"The bell has rung."}`, says: "will be told",
		effect: func(a *act, _ *store.Tx) int { return a.shown("Told: ", "The bell has rung.") },
	},
	{tool: tools.ReadNotification, args: `{}`, says: "[]"},

	{tool: tools.ListItems, args: `{"type":"agents"}`, says: "generalist"},
	{
		tool: tools.ToggleItem, config: true, asks: true, args: `{"kind":"cron","id":"$JOB","enabled":false}`, says: "Paused", effect: jobsTitled("Feed the cat", "paused"),
		before: []string{
			`do execute_task {"mode":"cron","title":"Feed the cat","prompt":"Feed it.","agent_id":"main","cron":"0 9 1 1 *"}`, `do list_items {"type":"cron"}`,
		},
		finds: map[string]string{"JOB": `([0-9a-v]{6}): Feed the cat`},
	},
	{
		tool: tools.DeleteCronJob, config: true, asks: true, args: `{"id":"$JOB"}`, says: "Deleted", effect: gone(jobsTitled("Ring the bell", "")),
		before: []string{
			`do execute_task {"mode":"cron","title":"Ring the bell","prompt":"Ring it.","agent_id":"main","cron":"0 9 1 1 *"}`, `do list_items {"type":"cron"}`,
		},
		finds: map[string]string{"JOB": `([0-9a-v]{6}): Ring the bell`},
	},
	{
		tool: tools.RegisterMCP, config: true, asks: true, args: `{"name":"near","transport":"http","url":"$MCP"}`, says: "Registered the MCP server near",
		effect: row("mcp_servers", "near"),
	},
	{
		tool: tools.DeleteMCP, config: true, asks: true, args: `{"name":"far"}`, says: "Deleted the MCP server far", effect: gone(row("mcp_servers", "far")),
		before: []string{`do register_mcp {"name":"far","transport":"http","url":"$MCP"}`},
	},
	{
		tool: tools.ConfigurePlugin, config: true, asks: true, args: `{"id":"telegram","config":{"rich":false}}`, says: "The plugin telegram is now",
		effect: row("plugins", "telegram"),
	},
	{
		tool: tools.SetSecret, config: true, args: `{"key":"mail"}`, says: "It is kept as mail", question: "hunter2-hunter2", effect: row("secrets", "mail"),
	},
	{tool: tools.ListSecrets, config: true, args: `{"pattern":"none*"}`, says: "There are no such secrets."},

	{tool: tools.SendAttachment, args: `{"file_path":"$DIR/a.txt"}`, says: "a.txt", effect: sent("sendDocument")},
	{tool: tools.SendVoiceMessage, args: `{"text":"Good morning."}`, says: "Sent as a voice message", effect: sent("sendVoice")},
	{tool: tools.ImageGenerate, args: `{"provider_id":"openai","prompt":"a grey cat"}`, says: "640 × 480 pixels", effect: sent("sendPhoto")},
	{tool: tools.ImageGenerateProvidersList, args: `{}`, says: "gpt-image-1"},

	{tool: tools.GalleryList, args: `{}`, says: "picture_", before: twoInTheGallery},
	{tool: tools.GalleryAdd, word: "yes", args: `{"action":"confirm"}`, says: "Added 2 pictures", effect: inGallery("ab"), before: twoInTheGallery[:1]},
	{
		tool: tools.GalleryDelete, asks: true, args: `{"image_refs":["$PICTURE"]}`, says: "1 picture", effect: inGallery("b"),
		before: append(twoInTheGallery, `do gallery_list {}`), finds: map[string]string{"PICTURE": `(picture_[\w-]{20,})`},
	},
	{
		tool: tools.GalleryReorder, asks: true, args: `{"image_refs":["$PICTURE2","$PICTURE"]}`, says: "2 pictures", effect: inGallery("ba"),
		before: append(twoInTheGallery, `do gallery_list {}`), finds: map[string]string{"PICTURE": `(picture_[\w-]{20,})`},
	},
	{tool: tools.GallerySend, args: `{}`, says: "Sent the gallery main", effect: sent("sendMediaGroup"), before: twoInTheGallery},

	{tool: tools.GroupList, args: `{}`, says: "The club of group_list"},
	{tool: tools.GroupMemberCandidates, args: `{"group_ref":"$GROUP","query":"Zoe"}`, says: "Zoe", before: []string{listClub}, finds: refsFound},
	{
		tool: tools.GroupMemberAdd, asks: true, args: `{"group_ref":"$GROUP","candidate_refs":["$PERSON"]}`, says: "Zoe: got a private link",
		before: []string{listClub, `do group_member_candidates {"group_ref":"$GROUP","query":"Zoe"}`}, finds: refsFound,
		effect: func(a *act, _ *store.Tx) int { return shownTo(a.zoe, "The club of group_member_add") },
	},

	{tool: tools.TelegramSendMessage, args: `{"text":"A line from me."}`, says: "Sent to", effect: line("A line from me.")},
	{tool: tools.TelegramReact, asks: true, args: `{"emoji":"👍"}`, says: "Reacted with 👍", effect: sent("setMessageReaction")},
	{tool: tools.TelegramPin, asks: true, args: `{}`, says: "Pinned", effect: sent("pinChatMessage")},
	{tool: tools.TelegramSendPoll, asks: true, args: `{"question":"Tea?","options":["Yes","No"]}`, says: "Sent the poll", effect: sent("sendPoll")},
	{tool: tools.TelegramSendLocation, asks: true, args: `{"latitude":41.9,"longitude":12.5}`, says: "Sent the location", effect: sent("sendLocation")},
	{tool: tools.TelegramCreateTopic, forum: true, asks: true, args: `{"name":"Plans"}`, says: "The topic Plans", effect: sent("createForumTopic")},
}

var (
	twoInTheGallery = []string{`do gallery_add {"action":"prepare","workspace_paths":["$DIR/a.png","$DIR/b.png"]}`, "yes"}
	refsFound       = map[string]string{"GROUP": `(group_[\w-]{20,})`, "PERSON": `(person_[\w-]{20,})`}
)

// listClub finds the one group that the proof has made for itself.
const listClub = `do group_list {"query":"The club of $KEY"}`

// holds is 1 when a file of the proof's folder has that content.
func holds(name, content string) func(*act, *store.Tx) int {
	return func(a *act, _ *store.Tx) int { return map[bool]int{true: 1}[a.readFile(name) == content] }
}

func lines(name string) func(*act, *store.Tx) int {
	return func(a *act, _ *store.Tx) int { return strings.Count(a.readFile(name), "\n") }
}

// sent counts the calls of a method that Telegram has done in the proof's chat.
func sent(method string) func(*act, *store.Tx) int {
	return func(a *act, _ *store.Tx) (n int) {
		for _, c := range a.telegram.Calls(method) {
			if c.Code == 200 && c.Params["chat_id"] == a.chatID() {
				n++
			}
		}
		return n
	}
}

// began counts the turns of agents that the tool's calls began: they go by the call's id.
func began(a *act, tx *store.Tx) (n int) {
	for _, e := range a.calls(tx) {
		ok, err := rawTable("turns").Has(tx, store.Text(e.Call))
		if err != nil {
			a.t.Error(err)
		}
		if ok {
			n++
		}
	}
	return n
}

// line counts the messages that are just that.
func line(text string) func(*act, *store.Tx) int {
	return func(a *act, _ *store.Tx) (n int) {
		for _, m := range a.me.Messages() {
			if m.From != nil && m.From.IsBot && m.Shown() == text {
				n++
			}
		}
		return n
	}
}

// shownTo counts the messages of the bot that contain all parts.
func shownTo(p *emulator.Person, parts ...string) (n int) {
	for _, m := range p.Messages() {
		all := m.From != nil && m.From.IsBot
		for _, part := range parts {
			all = all && strings.Contains(m.Shown(), part)
		}
		if all {
			n++
		}
	}
	return n
}

func (a *act) shown(parts ...string) int { return shownTo(a.me, parts...) }

// gone is 1 when there is none of something.
func gone(count func(*act, *store.Tx) int) func(*act, *store.Tx) int {
	return func(a *act, tx *store.Tx) int { return map[int]int{0: 1}[count(a, tx)] }
}

func jobsTitled(title, state string) func(*act, *store.Tx) int {
	return func(a *act, tx *store.Tx) (n int) {
		jobs, err := store.NewTable[store.JobID, scheduler.Job]("jobs", store.ParseJobID).All(tx, nil)
		if err != nil {
			a.t.Error(err)
		}
		for _, j := range jobs {
			if j.Title == title && (state == "" || string(j.State) == state) {
				n++
			}
		}
		return n
	}
}

// row is 1 when a table has a row of that name.
func row(table, name string) func(*act, *store.Tx) int {
	return func(a *act, tx *store.Tx) int {
		_, ok, err := rawTable(table).Get(tx, store.Text(name))
		if err != nil {
			a.t.Error(err)
		}
		return map[bool]int{true: 1}[ok]
	}
}

// ofSession is 1 when what a table keeps of the proof's conversation holds a text.
func ofSession(table, part string) func(*act, *store.Tx) int {
	return func(a *act, tx *store.Tx) int {
		raw, _, err := rawTable(table).Get(tx, store.Text(a.session(tx)))
		if err != nil {
			a.t.Error(err)
		}
		return map[bool]int{true: 1}[strings.Contains(string(raw), part)]
	}
}

// inGallery is 1 when the gallery holds the pictures with these titles of one letter, in this order.
func inGallery(titles string) func(*act, *store.Tx) int {
	table := store.NewTable[store.Text, gallery.Gallery]("galleries", store.ParseText[store.Text])
	return func(a *act, tx *store.Tx) int {
		g, _, err := table.Get(tx, store.Join(a.chatID(), "main"))
		if err != nil {
			a.t.Error(err)
		}
		got := ""
		for _, p := range g.Pictures {
			got += p.Title[:1]
		}
		return map[bool]int{true: 1}[got == titles]
	}
}
