package outbox

import (
	"errors"
	"strings"
	"time"

	tg "github.com/go-telegram/bot"

	"nod/store"
)

// class is what an API call's error means for the item that was sent. This file is the only place that reads the
// texts of API errors.
type class int

const (
	done       class = iota // it worked, or what it asks for is so already
	later                   // nothing happened; the same call may work later
	unknown                 // the connection was lost: it may have worked
	badMarkup               // the formatting is refused: send plain text
	noReply                 // the message to reply to is gone: send without reply
	noThread                // the topic is gone or closed: send without it
	gone                    // the message to edit is gone or can't be edited: send anew
	tooLong                 // the text or caption is too long
	badMedia                // not sendable as this kind of file: send it as a document
	mayNot                  // the bot has no right to send this kind of thing here
	migrated                // the group has a new id
	forbidden               // this chat can't be written to any more
	refused                 // anything else that repeating won't change
	classCount = iota
)

func (c class) String() string {
	return [classCount]string{
		"done", "later", "unknown", "bad markup", "no reply", "no thread", "gone", "too long", "bad media", "may not", "migrated", "forbidden", "refused",
	}[c]
}

// verdict is a class with what the server said about it.
type verdict struct {
	class    class
	wait     time.Duration // later: how long the server asks to wait, or 0
	chat     store.ChatID  // migrated: the new id
	harmless bool          // unknown: repeating the call changes nothing
	err      error
}

// classify judges the error of an API call.
func classify(err error) verdict {
	v := verdict{err: err}
	if err == nil {
		return v
	}
	if limit, ok := errors.AsType[*tg.TooManyRequestsError](err); ok {
		v.class, v.wait = later, time.Duration(max(limit.RetryAfter, 1))*time.Second
		return v
	}
	if m, ok := errors.AsType[*tg.MigrateError](err); ok {
		v.class, v.chat = migrated, store.ChatID(m.MigrateToChatID)
		return v
	}
	if call, ok := errors.AsType[*CallError](err); ok {
		v.class = [...]class{Unsent: refused, Unserved: later, Unknown: unknown}[call.Fate]
		return v
	}
	v.class = classifyAnswer(err)
	return v
}

// classifyAnswer judges what the server answered.
func classifyAnswer(err error) class {
	text := strings.ToLower(err.Error())
	for _, t := range refusals {
		if strings.Contains(text, t.text) {
			return t.class
		}
	}
	switch {
	case errors.Is(err, tg.ErrorUnauthorized), errors.Is(err, tg.ErrorNotFound), errors.Is(err, tg.ErrorConflict):
		return later // the trouble of the token or the server's address, not of the item: the poller makes it known
	case errors.Is(err, tg.ErrorForbidden):
		return forbidden
	}
	return refused
}

// refusals are the texts that decide, in lower case; the first that occurs wins.
var refusals = []struct {
	text  string
	class class
}{
	{"method not found", refused},
	{"message is not modified", done},
	{"query is too old", done},
	{"message to delete not found", done},
	{"message can't be deleted", done},
	{"can't parse entities", badMarkup},
	{"entities_too_long", badMarkup},
	{"can't find end of the entity", badMarkup},
	{"entity_bounds_invalid", badMarkup},
	{"message to be replied not found", noReply},
	{"message to reply not found", noReply},
	{"replied message not found", noReply},
	{"reply_message_id_invalid", noReply},
	{"message thread not found", noThread},
	{"topic_deleted", noThread},
	{"topic_closed", noThread},
	{"message to edit not found", gone},
	{"message can't be edited", gone},
	{"message_id_invalid", gone},
	{"there is no text in the message to edit", gone},
	{"message_too_long", tooLong},
	{"message is too long", tooLong},
	{"text is too long", tooLong},
	{"caption is too long", tooLong},
	{"media_caption_too_long", tooLong},
	{"photo_invalid_dimensions", badMedia},
	{"photo_ext_invalid", badMedia},
	{"photo_save_file_invalid", badMedia},
	{"image_process_failed", badMedia},
	{"voice_messages_forbidden", badMedia},
	{"video_messages_forbidden", badMedia},
	{"chat not found", forbidden},
	{"group chat was deactivated", forbidden},
	{"peer_id_invalid", forbidden},
	{"have no rights to send a message", forbidden},
	{"not enough rights to send text messages", forbidden},
	{"not enough rights", mayNot},
	{"chat_write_forbidden", forbidden},
	{"chat_send_plain_forbidden", forbidden},
	{"chat_send_", mayNot}, // CHAT_SEND_MEDIA_FORBIDDEN, …_DOCS_…, …_PHOTOS_… and their like
	{"user_is_blocked", forbidden},
	{"input_user_deactivated", forbidden},
}
