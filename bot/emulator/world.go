package emulator

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// General is the thread id of the General topic of a forum.
const General = 1

// world is the people, the chats and what was said.
type world struct {
	users   map[int64]*User
	chats   map[int64]*chat
	nextID  int   // message ids of private chats and basic groups are one sequence, as on Telegram
	nextGrp int64 // for chat ids
	links   map[string]*invite
}

func newWorld() world {
	return world{users: map[int64]*User{}, chats: map[int64]*chat{}, links: map[string]*invite{}, nextID: 1, nextGrp: 1}
}

// chat is one chat with its history. Server.mu guards it.
type chat struct {
	Chat
	messages  []*Message // by id
	marks     map[int]mark
	gone      []goneMark
	nextID    int // of a supergroup
	topics    map[int]string
	members   map[int64]string // status by user
	wait      map[int64]bool   // join requests
	byRequest bool             // people come in only on request
	state     string           // "" when the bot may write, else why not
	moved     int64            // the supergroup that it became
	noMedia   bool             // members may send no files, or the bot may not
	pinned    []int
	activity  activity
	draft     *Draft
	keyboards map[int]*Replies // the reply keyboard by topic
}

// mark is what a chat keeps of a message beside the message.
type mark struct {
	rev       uint64 // of the last change
	reactions map[int64][]string
}

type goneMark struct {
	id  int
	rev uint64
}

// activity is a chat action such as typing, and when it ends by itself.
type activity struct {
	kind   string
	thread int
	until  time.Time
}

// Draft is a preview of a message that is being written; it ends 30 s after its last change.
type Draft struct {
	ID       int64
	Thread   int
	Text     string
	Entities []Entity
	CanStop  bool
	until    time.Time
}

// Why the bot can't write to a chat.
const (
	stateBlocked     = "blocked"
	stateDeactivated = "deactivated"
	stateUnstarted   = "unstarted"
	stateKicked      = "kicked"
	stateLeft        = "left"
	stateDeleted     = "deleted"
)

func (s *Server) newChat(c Chat) *chat {
	made := &chat{
		Chat: c, marks: map[int]mark{}, nextID: 1, topics: map[int]string{}, members: map[int64]string{},
		wait: map[int64]bool{}, keyboards: map[int]*Replies{},
	}
	s.world.chats[c.ID] = made
	return made
}

// refusal says why the bot can't write to the chat, or nil.
func (c *chat) refusal() *apiError {
	if c.moved != 0 {
		err := badRequest("group chat was upgraded to a supergroup chat")
		err.migrateTo = c.moved
		return err
	}
	switch c.state {
	case stateBlocked:
		return forbidden("bot was blocked by the user")
	case stateDeactivated:
		return forbidden("user is deactivated")
	case stateUnstarted:
		return forbidden("bot can't initiate conversation with a user")
	case stateKicked:
		return forbidden("bot was kicked from the " + c.kind())
	case stateLeft:
		return forbidden("bot is not a member of the " + c.kind())
	case stateDeleted:
		return forbidden("the group chat was deleted")
	}
	return nil
}

func (c *chat) kind() string { return c.Type + " chat" }

// chatArg resolves chat_id: a number, or the @name of a supergroup or channel.
func (s *Server) chatArg(id string) (*chat, *apiError) {
	if id == "" {
		return nil, badRequest("Chat_id is empty")
	}
	if name, ok := strings.CutPrefix(id, "@"); ok {
		for _, c := range s.world.chats {
			if c.Username != "" && c.Type != "private" && strings.EqualFold(c.Username, name) {
				return c, nil
			}
		}
		return nil, badRequest("Chat not found")
	}
	n, err := strconv.ParseInt(strings.TrimSpace(id), 10, 64)
	if err != nil {
		return nil, badRequest("Chat not found")
	}
	if c := s.world.chats[n]; c != nil {
		return c, nil
	}
	if u := s.world.users[n]; u != nil && u.IsBot {
		return nil, forbidden("the bot can't send messages to the bot")
	}
	return nil, badRequest("Chat not found")
}

// target resolves where a message is to go.
func (s *Server) target(q *request) (*chat, int, *apiError) {
	c, err := s.chatArg(q.text("chat_id"))
	if err != nil {
		return nil, 0, err
	}
	if err := c.refusal(); err != nil {
		return nil, 0, err
	}
	thread := q.id("message_thread_id")
	if thread <= 0 {
		return c, 0, nil
	}
	if _, ok := c.topics[thread]; !ok || (thread == General && c.Type != "private") {
		return nil, 0, badRequest("Message thread not found") // also General: it is addressed by leaving the id out
	}
	return c, thread, nil
}

func (c *chat) index(id int) (int, bool) {
	return slices.BinarySearchFunc(c.messages, id, func(m *Message, id int) int { return cmp.Compare(m.ID, id) })
}

func (c *chat) find(id int) *Message {
	i, ok := c.index(id)
	if !ok {
		return nil
	}
	return c.messages[i]
}

// post adds m to the chat with an id and a date; s.mu is held.
func (s *Server) post(c *chat, m *Message) *Message {
	next := &s.world.nextID
	if c.Type == "supergroup" || c.Type == "channel" {
		next = &c.nextID
	}
	m.ID = *next
	*next++
	m.Chat = c.Chat
	if m.Date == 0 {
		m.Date = now()
	}
	c.messages = append(c.messages, m)
	s.touch(c, m.ID)
	if m.From != nil && m.From.ID == s.bot.ID {
		c.activity = activity{}
		if c.draft != nil && c.draft.Thread == m.Thread {
			c.draft = nil
		}
	}
	return m
}

// touch marks the message as changed; s.mu is held.
func (s *Server) touch(c *chat, id int) {
	s.note()
	k := c.marks[id]
	k.rev = s.rev
	c.marks[id] = k
}

// replace puts the changed copy of a message in its place; s.mu is held.
func (s *Server) replace(c *chat, m *Message) {
	i, _ := c.index(m.ID) // it was found before
	c.messages[i] = m
	s.touch(c, m.ID)
}

// drop deletes a message; s.mu is held.
func (s *Server) drop(c *chat, id int) {
	i, ok := c.index(id)
	if !ok {
		return
	}
	c.messages = slices.Delete(c.messages, i, i+1)
	delete(c.marks, id)
	c.pinned = slices.DeleteFunc(c.pinned, func(p int) bool { return p == id })
	s.note()
	c.gone = append(c.gone, goneMark{id, s.rev})
}

// shown is how a message looks inside another one: without what it replied to itself.
func shown(m *Message) *Message {
	short := *m
	short.ReplyTo = nil
	return &short
}

func (s *Server) userArg(q *request) (*User, *apiError) {
	id, err := strconv.ParseInt(q.text("user_id"), 10, 64)
	if err != nil || id <= 0 {
		return nil, badRequest("Invalid user_id specified")
	}
	if u := s.world.users[id]; u != nil {
		return u, nil
	}
	return nil, badRequest("user not found")
}
