package emulator

import (
	"fmt"
	"time"
)

// Person is somebody in one chat and, in a forum, one topic: it writes, presses and reads there.
type Person struct {
	s      *Server
	chat   *chat
	user   User
	thread int
}

// AddUser makes a user known to Telegram, who has not written to the bot yet.
func (s *Server) AddUser(u User) User {
	s.mu.Lock()
	defer s.mu.Unlock()
	return *s.know(u)
}

func (s *Server) know(u User) *User {
	if u.FirstName == "" {
		u.FirstName = fmt.Sprint("User ", u.ID)
	}
	s.world.users[u.ID] = &u
	if s.world.chats[u.ID] == nil && !u.IsBot {
		c := s.newChat(Chat{ID: u.ID, Type: "private", FirstName: u.FirstName, LastName: u.LastName, Username: u.Username})
		c.state = stateUnstarted
		c.members[u.ID], c.members[s.bot.ID] = statusMember, statusMember
	}
	return &u
}

// Private opens the private chat between the user and the bot, as if the user had pressed Start before.
func (s *Server) Private(u User) *Person {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.know(u)
	c := s.world.chats[u.ID]
	if c.state == stateUnstarted {
		c.state = ""
	}
	return &Person{s: s, chat: c, user: *s.world.users[u.ID]}
}

// Group is a group or supergroup with the bot in it.
type Group struct {
	s    *Server
	chat *chat
}

// GroupOptions describes a new group.
type GroupOptions struct {
	Title    string
	Username string // a public supergroup's @name
	Basic    bool   // a basic group, which can become a supergroup
	Forum    bool   // with topics; General exists from the start
	Admin    bool   // the bot is an administrator
	Channel  bool   // a channel
}

// NewGroup makes a group of the bot and the users, the first of whom owns it.
func (s *Server) NewGroup(o GroupOptions, users ...User) *Group {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.world.nextGrp
	s.world.nextGrp++
	c := Chat{ID: -1_000_000_000_000 - n, Type: "supergroup", Title: o.Title, Username: o.Username, IsForum: o.Forum}
	if o.Basic {
		c.ID, c.Type = -1000-n, "group"
	}
	if o.Channel {
		c.Type = "channel"
	}
	made := s.newChat(c)
	if o.Forum {
		made.topics[General] = "General"
		made.nextID = General + 1 // a topic's id is that of its first message
	}
	for i, u := range users {
		if s.world.users[u.ID] == nil {
			s.know(u)
		}
		made.members[u.ID] = statusMember
		if i == 0 {
			made.members[u.ID] = statusOwner
		}
	}
	made.members[s.bot.ID] = statusMember
	if o.Admin {
		made.members[s.bot.ID] = statusAdmin
	}
	s.note()
	return &Group{s, made}
}

// ID is the chat id, as the bot sees it.
func (g *Group) ID() int64 { return g.chat.ID }

// Person lets a user act in the group; who is no member becomes one.
func (g *Group) Person(u User) *Person {
	g.s.mu.Lock()
	defer g.s.mu.Unlock()
	if g.s.world.users[u.ID] == nil {
		g.s.know(u)
	}
	if !isIn(g.chat.members[u.ID]) {
		g.chat.members[u.ID] = statusMember
	}
	return &Person{s: g.s, chat: g.chat, user: *g.s.world.users[u.ID]}
}

// Promote makes a member, or the bot, an administrator.
func (g *Group) Promote(user int64) {
	g.s.mu.Lock()
	defer g.s.mu.Unlock()
	g.chat.members[user] = statusAdmin
	g.s.note()
}

// NewTopic opens a forum topic and returns its thread id.
func (g *Group) NewTopic(by User, name string) int {
	g.s.mu.Lock()
	defer g.s.mu.Unlock()
	return g.s.addTopic(g.chat, &by, name).ID
}

// Kick removes the bot from the group; Return takes it back in.
func (g *Group) Kick(by User) { g.setBot(by, statusKicked) }

// Remove ends the bot's membership without a ban.
func (g *Group) Remove(by User) { g.setBot(by, statusLeft) }

// Return takes the bot back in as a member.
func (g *Group) Return(by User) {
	g.Permit(true)
	g.setBot(by, statusMember)
}

// Restrict makes the bot a restricted member, which may send files or not, and tells it. Return lifts the restriction.
func (g *Group) Restrict(by User, files bool) {
	g.s.mu.Lock()
	defer g.s.mu.Unlock()
	g.chat.noMedia = !files
	g.s.botStatus(g.chat, by, statusLimits)
}

// Permit changes what all members of the group may do, of which no bot is told.
func (g *Group) Permit(files bool) {
	g.s.mu.Lock()
	defer g.s.mu.Unlock()
	g.chat.noMedia = !files
	g.s.note()
}

func (g *Group) setBot(by User, status string) {
	g.s.mu.Lock()
	defer g.s.mu.Unlock()
	g.s.botStatus(g.chat, by, status)
}

// Delete deletes the group for everybody.
func (g *Group) Delete() {
	g.s.mu.Lock()
	defer g.s.mu.Unlock()
	g.chat.state = stateDeleted
	g.s.note()
}

// Migrate turns a basic group into a supergroup with a new id, which it returns as a new Group: both chats get a service
// message about it, and sending to the old id is refused with migrate_to_chat_id.
func (g *Group) Migrate() *Group {
	g.s.mu.Lock()
	defer g.s.mu.Unlock()
	n := g.s.world.nextGrp
	g.s.world.nextGrp++
	c := g.chat.Chat
	c.ID, c.Type = -1_000_000_000_000-n, "supergroup"
	to := g.s.newChat(c)
	for id, status := range g.chat.members {
		to.members[id] = status
	}
	from := &User{ID: 1087968824, IsBot: true, FirstName: "Group", Username: "GroupAnonymousBot"}
	out := g.s.post(g.chat, &Message{From: from, Service: &Service{MigrateTo: c.ID}})
	g.s.push("message", out, time.Now(), updateLife)
	in := g.s.post(to, &Message{From: from, Service: &Service{MigrateFrom: g.chat.ID}})
	g.s.push("message", in, time.Now(), updateLife)
	g.chat.moved = c.ID
	return &Group{g.s, to}
}

// JoinByRequest makes the group let people in only on request.
func (g *Group) JoinByRequest() {
	g.s.mu.Lock()
	defer g.s.mu.Unlock()
	g.chat.byRequest = true
}

// AskToJoin makes a user who is no member ask to be let in, not by a link of the bot.
func (g *Group) AskToJoin(u User) {
	g.s.mu.Lock()
	defer g.s.mu.Unlock()
	g.s.askToJoin(g.chat, u, nil)
}

// JoinBy makes a user follow a link: to the group, or to a request to join it. It says whether the link is good.
func (g *Group) JoinBy(u User, url string) bool {
	g.s.mu.Lock()
	defer g.s.mu.Unlock()
	link := g.s.world.links[url]
	switch {
	case link == nil || link.Revoked || link.chat != g.chat.ID || link.Expires > 0 && link.Expires < now():
		return false
	case link.ByAsking:
		g.s.askToJoin(g.chat, u, link)
		return true
	case link.Limit > 0 && link.used >= link.Limit:
		return false
	}
	link.used++
	g.s.know(u)
	g.s.join(g.chat, u)
	return true
}

// askToJoin files a request and tells the bot of it; s.mu is held.
func (s *Server) askToJoin(c *chat, u User, link *invite) {
	s.know(u)
	c.wait[u.ID] = true
	s.push("chat_join_request", struct {
		Chat       Chat    `json:"chat"`
		From       User    `json:"from"`
		UserChatID int64   `json:"user_chat_id"`
		Date       int64   `json:"date"`
		Link       *invite `json:"invite_link,omitempty"`
	}{c.Chat, u, u.ID, now(), link}, time.Now(), updateLife)
	s.note()
}

// Status tells what a user is in the group: creator, administrator, member, left or kicked.
func (g *Group) Status(user int64) string {
	g.s.mu.Lock()
	defer g.s.mu.Unlock()
	if status := g.chat.members[user]; status != "" {
		return status
	}
	return statusLeft
}

// ChatID is the id of the chat that the person acts in.
func (p *Person) ChatID() int64 { return p.chat.ID }

// User is who acts.
func (p *Person) User() User { return p.user }

// In returns the same person in a topic of the chat, General being 1. In(0) leaves the topic.
func (p *Person) In(thread int) *Person {
	q := *p
	q.thread = thread
	return &q
}

// NewTopic opens a topic in the person's chat and returns the person in it.
func (p *Person) NewTopic(name string) *Person {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	return p.In(p.s.addTopic(p.chat, &p.user, name).ID)
}

// Block makes the user block the bot; Unblock lets it write again.
func (p *Person) Block() { p.setBot(statusKicked) }

// Unblock ends Block.
func (p *Person) Unblock() { p.setBot(statusMember) }

func (p *Person) setBot(status string) {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	p.s.botStatus(p.chat, p.user, status)
}

// Deactivate deletes the user's account.
func (p *Person) Deactivate() {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	p.chat.state = stateDeactivated
	p.s.note()
}
