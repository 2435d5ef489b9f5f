package emulator

import (
	"fmt"
	"maps"
	"slices"
	"time"
	"unicode/utf8"
)

// What a member of a chat can be.
const (
	statusOwner  = "creator"
	statusAdmin  = "administrator"
	statusMember = "member"
	statusLimits = "restricted"
	statusLeft   = "left"
	statusKicked = "kicked"
)

func isAdmin(status string) bool { return status == statusOwner || status == statusAdmin }

func isIn(status string) bool {
	return isAdmin(status) || status == statusMember || status == statusLimits
}

type chatMember struct {
	Status        string `json:"status"`
	User          User   `json:"user"`
	IsAnonymous   bool   `json:"is_anonymous"`
	CanInvite     bool   `json:"can_invite_users,omitempty"`
	CanPin        bool   `json:"can_pin_messages,omitempty"`
	CanDelete     bool   `json:"can_delete_messages,omitempty"`
	CanManage     bool   `json:"can_manage_chat,omitempty"`
	CanManageTopc bool   `json:"can_manage_topics,omitempty"`
	UntilDate     int64  `json:"until_date,omitempty"`
	*limits
}

// limits are what a restricted member may do.
type limits struct {
	IsMember  bool `json:"is_member"`
	Messages  bool `json:"can_send_messages"`
	Audios    bool `json:"can_send_audios"`
	Documents bool `json:"can_send_documents"`
	Photos    bool `json:"can_send_photos"`
	Videos    bool `json:"can_send_videos"`
	Notes     bool `json:"can_send_video_notes"`
	Voices    bool `json:"can_send_voice_notes"`
	Until     int  `json:"until_date"`
}

// mayNot refuses a kind of file in a chat whose permissions keep the bot from sending any; administrators may.
func (s *Server) mayNot(c *chat, kind string) *apiError {
	if !c.noMedia || isAdmin(c.members[s.bot.ID]) {
		return nil
	}
	what := kind + "s"
	if kind == kindVoice {
		what = "voice notes"
	}
	return badRequest("not enough rights to send " + what + " to the chat")
}

func (s *Server) member(c *chat, id int64) chatMember {
	m := chatMember{Status: c.members[id], User: *s.world.users[id]}
	switch {
	case m.Status == "":
		m.Status = statusLeft
	case m.Status == statusLimits:
		may := !c.noMedia
		m.limits = &limits{IsMember: true, Messages: true, Audios: may, Documents: may, Photos: may, Videos: may, Notes: may, Voices: may}
	case isAdmin(m.Status):
		m.CanInvite, m.CanPin, m.CanDelete, m.CanManage, m.CanManageTopc = true, true, true, true, c.IsForum
	}
	return m
}

func (s *Server) readable(q *request) (*chat, *apiError) {
	c, err := s.chatArg(q.text("chat_id"))
	if err != nil {
		return nil, err
	}
	if c.state == stateKicked || c.state == stateLeft || c.state == stateDeleted || c.moved != 0 {
		return nil, c.refusal()
	}
	return c, nil
}

func (s *Server) getChat(q *request) (any, *apiError) {
	c, err := s.readable(q)
	if err != nil {
		return nil, err
	}
	full := struct {
		Chat
		AccentColor  int      `json:"accent_color_id"`
		MaxReactions int      `json:"max_reaction_count"`
		Pinned       *Message `json:"pinned_message,omitempty"`
		ByRequest    bool     `json:"join_by_request,omitempty"`
	}{c.Chat, 0, 11, nil, c.byRequest}
	if n := len(c.pinned); n > 0 {
		full.Pinned = c.find(c.pinned[n-1])
	}
	return full, nil
}

func (s *Server) getChatMember(q *request) (any, *apiError) {
	c, err := s.readable(q)
	if err != nil {
		return nil, err
	}
	u, err := s.userArg(q)
	if err != nil {
		return nil, err
	}
	return s.member(c, u.ID), nil
}

func (s *Server) getChatMemberCount(q *request) (any, *apiError) {
	c, err := s.readable(q)
	if err != nil {
		return nil, err
	}
	n := 0
	for _, status := range c.members {
		if isIn(status) {
			n++
		}
	}
	return n, nil
}

func (s *Server) getChatAdministrators(q *request) (any, *apiError) {
	c, err := s.readable(q)
	if err != nil {
		return nil, err
	}
	if c.Type == "private" {
		return nil, badRequest("there are no administrators in the private chat")
	}
	admins := []chatMember{}
	for _, id := range slices.Sorted(maps.Keys(c.members)) {
		if isAdmin(c.members[id]) && id != s.bot.ID {
			admins = append(admins, s.member(c, id))
		}
	}
	return admins, nil
}

func (s *Server) leaveChat(q *request) (any, *apiError) {
	c, err := s.readable(q)
	if err != nil {
		return nil, err
	}
	if c.Type == "private" {
		return nil, badRequest("chat member status can't be changed in private chats")
	}
	s.botStatus(c, s.bot, statusLeft)
	return true, nil
}

// botStatus changes what the bot is in a chat and tells it; s.mu is held.
func (s *Server) botStatus(c *chat, by User, status string) {
	old := s.member(c, s.bot.ID)
	c.members[s.bot.ID] = status
	c.state = map[string]string{statusLeft: stateLeft, statusKicked: stateKicked}[status]
	if c.Type == "private" && status == statusKicked {
		c.state = stateBlocked
	}
	s.push("my_chat_member", struct {
		Chat Chat       `json:"chat"`
		From User       `json:"from"`
		Date int64      `json:"date"`
		Old  chatMember `json:"old_chat_member"`
		New  chatMember `json:"new_chat_member"`
	}{c.Chat, by, now(), old, s.member(c, s.bot.ID)}, time.Now(), updateLife)
	s.note()
}

const maxTopicName = 128 // characters

func (s *Server) createForumTopic(q *request) (any, *apiError) {
	c, err := s.readable(q)
	if err == nil {
		err = c.refusal()
	}
	name := q.text("name")
	switch n := utf8.RuneCountInString(name); {
	case err != nil:
		return nil, err
	case !c.IsForum && (c.Type != "private" || !s.opts.PrivateTopics):
		return nil, badRequest("the chat is not a forum")
	case c.Type != "private" && !isAdmin(c.members[s.bot.ID]):
		return nil, badRequest("not enough rights to create a topic")
	case n == 0:
		return nil, badRequest("Topic name must be non-empty")
	case n > maxTopicName:
		return nil, badRequestf("Topic name length must not exceed %d", maxTopicName)
	}
	m := s.addTopic(c, &s.bot, name)
	return struct {
		Thread int    `json:"message_thread_id"`
		Name   string `json:"name"`
		Color  int    `json:"icon_color"`
	}{m.ID, name, topicColor}, nil
}

const topicColor = 0x6FB9F0

// addTopic opens a topic, whose id is that of the message that says so; s.mu is held.
func (s *Server) addTopic(c *chat, by *User, name string) *Message {
	m := s.post(c, &Message{From: by, InTopic: true, Service: &Service{TopicCreated: &TopicCreated{name, topicColor}}})
	m.Thread = m.ID
	c.topics[m.ID] = name
	s.push("message", m, time.Now(), updateLife)
	return m
}

// invite is a link into a chat.
type invite struct {
	Link     string `json:"invite_link"`
	Creator  User   `json:"creator"`
	ByAsking bool   `json:"creates_join_request"`
	Primary  bool   `json:"is_primary"`
	Revoked  bool   `json:"is_revoked"`
	Name     string `json:"name,omitempty"`
	Expires  int64  `json:"expire_date,omitempty"`
	Limit    int    `json:"member_limit,omitempty"`
	chat     int64
	used     int
}

func (s *Server) inviter(q *request) (*chat, *apiError) {
	c, err := s.readable(q)
	switch {
	case err != nil:
		return nil, err
	case c.Type == "private":
		return nil, badRequest("can't invite members to a private chat")
	case !isAdmin(c.members[s.bot.ID]):
		return nil, badRequest("not enough rights to manage chat invite link")
	}
	return c, nil
}

func (s *Server) createChatInviteLink(q *request) (any, *apiError) {
	c, err := s.inviter(q)
	if err != nil {
		return nil, err
	}
	limit := q.id("member_limit")
	if limit > 0 && q.flag("creates_join_request") {
		return nil, badRequest("member limit can't be specified for links requiring administrator approval")
	}
	link := &invite{
		Link: fmt.Sprintf("https://t.me/+emulator%04d", len(s.world.links)+1), Creator: s.bot, ByAsking: q.flag("creates_join_request"),
		Name: q.text("name"), Expires: q.number("expire_date", 0, 1<<40), Limit: limit, chat: c.ID,
	}
	s.world.links[link.Link] = link
	return *link, nil
}

func (s *Server) revokeChatInviteLink(q *request) (any, *apiError) {
	c, err := s.inviter(q)
	if err != nil {
		return nil, err
	}
	link := s.world.links[q.text("invite_link")]
	if link == nil || link.chat != c.ID {
		return nil, badRequest("INVITE_HASH_EXPIRED")
	}
	link.Revoked = true
	return *link, nil
}

func (s *Server) approveChatJoinRequest(q *request) (any, *apiError) { return s.decideJoin(q, true) }

func (s *Server) declineChatJoinRequest(q *request) (any, *apiError) { return s.decideJoin(q, false) }

func (s *Server) decideJoin(q *request, let bool) (any, *apiError) {
	c, err := s.inviter(q)
	if err != nil {
		return nil, err
	}
	u, err := s.userArg(q)
	if err != nil {
		return nil, err
	}
	if !c.wait[u.ID] {
		if isIn(c.members[u.ID]) {
			return nil, badRequest("USER_ALREADY_PARTICIPANT")
		}
		return nil, badRequest("HIDE_REQUESTER_MISSING")
	}
	delete(c.wait, u.ID)
	if let {
		s.join(c, *u)
	}
	s.note()
	return true, nil
}

// join adds a user to the chat and says so in it; s.mu is held.
func (s *Server) join(c *chat, u User) {
	c.members[u.ID] = statusMember
	m := s.post(c, &Message{From: &u, Service: &Service{Joined: []User{u}}})
	s.push("message", m, time.Now(), updateLife)
}
