package emulator

import (
	"encoding/json"
	"maps"
	"slices"
	"time"
)

// reactions that a bot may set (https://core.telegram.org/bots/api#reactiontypeemoji).
var reactions = []string{
	"❤", "👍", "👎", "🔥", "🥰", "👏", "😁", "🤔", "🤯", "😱", "🤬", "😢", "🎉", "🤩", "🤮", "💩", "🙏", "👌", "🕊", "🤡", "🥱", "🥴", "😍", "🐳",
	"❤‍🔥", "🌚", "🌭", "💯", "🤣", "⚡", "🍌", "🏆", "💔", "🤨", "😐", "🍓", "🍾", "💋", "🖕", "😈", "😴", "😭", "🤓", "👻", "👨‍💻", "👀", "🎃", "🙈",
	"😇", "😨", "🤝", "✍", "🤗", "🫡", "🎅", "🎄", "☃", "💅", "🤪", "🗿", "🆒", "💘", "🙉", "🦄", "😘", "💊", "🙊", "😎", "👾", "🤷‍♂", "🤷",
	"🤷‍♀", "😡",
}

type reactionType struct {
	Type  string `json:"type"`
	Emoji string `json:"emoji"`
}

func (s *Server) setMessageReaction(q *request) (any, *apiError) {
	var list []reactionType
	if raw := q.text("reaction"); raw != "" {
		if !json.Valid([]byte(raw)) {
			return nil, badRequest("Can't parse reaction types JSON object")
		}
		if json.Unmarshal([]byte(raw), &list) != nil {
			return nil, badRequest("Expected an Array of ReactionType")
		}
	}
	c, m, err := s.messageArg(q, "message to react not found")
	if err != nil {
		return nil, err
	}
	var emoji []string
	for _, r := range list {
		if r.Type != "emoji" && r.Type != "custom_emoji" {
			return nil, badRequest("Can't parse ReactionType: invalid reaction type specified")
		}
		if !slices.Contains(reactions, r.Emoji) {
			return nil, badRequest("REACTION_INVALID")
		}
		emoji = append(emoji, r.Emoji)
	}
	if len(emoji) > 1 {
		return nil, badRequest("REACTIONS_TOO_MANY")
	}
	s.react(c, m.ID, s.bot.ID, emoji)
	return true, nil
}

// react sets what one user or the bot thinks of a message; s.mu is held.
func (s *Server) react(c *chat, id int, user int64, emoji []string) {
	k := c.marks[id]
	all := maps.Clone(k.reactions) // states that were handed out keep theirs
	if all == nil {
		all = map[int64][]string{}
	}
	all[user] = emoji
	if len(emoji) == 0 {
		delete(all, user)
	}
	k.reactions = all
	c.marks[id] = k
	s.touch(c, id)
}

func (s *Server) pinChatMessage(q *request) (any, *apiError) {
	c, m, err := s.messageArg(q, "message to pin not found")
	if err != nil {
		return nil, err
	}
	if c.Type != "private" && !isAdmin(c.members[s.bot.ID]) {
		return nil, badRequest("not enough rights to manage pinned messages in the chat")
	}
	if !slices.Contains(c.pinned, m.ID) {
		c.pinned = append(c.pinned, m.ID)
		note := s.post(c, &Message{From: &s.bot, Service: &Service{Pinned: shown(m)}})
		s.push("message", note, time.Now(), updateLife)
	}
	return true, nil
}

func (s *Server) unpinChatMessage(q *request) (any, *apiError) {
	c, err := s.chatArg(q.text("chat_id"))
	if err != nil {
		return nil, err
	}
	id := q.id("message_id")
	if id == 0 && len(c.pinned) > 0 {
		id = c.pinned[len(c.pinned)-1]
	}
	if !slices.Contains(c.pinned, id) {
		return nil, badRequest("Message to unpin not found")
	}
	c.pinned = slices.DeleteFunc(c.pinned, func(p int) bool { return p == id })
	s.note()
	return true, nil
}

func (s *Server) unpinAllChatMessages(q *request) (any, *apiError) {
	c, err := s.chatArg(q.text("chat_id"))
	if err != nil {
		return nil, err
	}
	c.pinned = nil
	s.note()
	return true, nil
}
