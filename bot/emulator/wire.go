package emulator

import "encoding/json"

// User is a person or a bot, as the Bot API shows one.
type User struct {
	ID        int64  `json:"id"`
	IsBot     bool   `json:"is_bot"`
	FirstName string `json:"first_name"`
	LastName  string `json:"last_name,omitempty"`
	Username  string `json:"username,omitempty"`
	Language  string `json:"language_code,omitempty"`
}

// Chat is a private chat, group, supergroup or channel, as the Bot API shows one.
type Chat struct {
	ID        int64  `json:"id"`
	Type      string `json:"type"` // private, group, supergroup or channel
	Title     string `json:"title,omitempty"`
	Username  string `json:"username,omitempty"`
	FirstName string `json:"first_name,omitempty"`
	LastName  string `json:"last_name,omitempty"`
	IsForum   bool   `json:"is_forum,omitempty"`
}

// Entity marks a range of a text. Offset and Length count UTF-16 code units.
type Entity struct {
	Type       string `json:"type"`
	Offset     int    `json:"offset"`
	Length     int    `json:"length"`
	URL        string `json:"url,omitempty"`
	User       *User  `json:"user,omitempty"`
	Language   string `json:"language,omitempty"`
	EmojiID    string `json:"custom_emoji_id,omitempty"`
	UnixTime   int64  `json:"unix_time,omitempty"`
	TimeFormat string `json:"date_time_format,omitempty"`
}

// Message is one message of a chat as the Bot API shows it. The copies handed out by this package are never changed later;
// an edit makes a new one.
type Message struct {
	ID       int      `json:"message_id"`
	Thread   int      `json:"message_thread_id,omitempty"` // forum topic, 0 outside topics
	InTopic  bool     `json:"is_topic_message,omitempty"`
	From     *User    `json:"from,omitempty"`
	Chat     Chat     `json:"chat"`
	Date     int64    `json:"date"` // Unix seconds
	EditDate int64    `json:"edit_date,omitempty"`
	Forward  *Origin  `json:"forward_origin,omitempty"`
	ReplyTo  *Message `json:"reply_to_message,omitempty"`
	Quote    *Quote   `json:"quote,omitempty"`
	AlbumID  string   `json:"media_group_id,omitempty"`
	Content
	*Service
	Delivery
	Keyboard *Keyboard `json:"reply_markup,omitempty"`
}

// Content is what a message says or carries; at most one of text, rich text and the media kinds is set.
type Content struct {
	Text            string      `json:"text,omitempty"`
	Entities        []Entity    `json:"entities,omitempty"`
	Rich            *Rich       `json:"rich_message,omitempty"`
	Caption         string      `json:"caption,omitempty"`
	CaptionEntities []Entity    `json:"caption_entities,omitempty"`
	Photo           []PhotoSize `json:"photo,omitempty"` // smallest first
	Media
	Location *Location `json:"location,omitempty"`
	Contact  *Contact  `json:"contact,omitempty"`
	Poll     *Poll     `json:"poll,omitempty"`
}

// Rich is a rich message. Telegram turns its source into blocks of its own; here the whole source is one paragraph.
type Rich struct {
	Blocks []RichBlock `json:"blocks"`
	Source string      `json:"-"` // the Markdown or HTML as the bot sent it
}

// RichBlock is a paragraph of a rich message.
type RichBlock struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// Media holds the file of a message by its kind. An animation sets Document as well, as Telegram does.
type Media struct {
	Animation *Attachment `json:"animation,omitempty"`
	Document  *Attachment `json:"document,omitempty"`
	Video     *Attachment `json:"video,omitempty"`
	Audio     *Attachment `json:"audio,omitempty"`
	Voice     *Attachment `json:"voice,omitempty"`
	Sticker   *Attachment `json:"sticker,omitempty"`
}

// Service is what happened in a chat rather than what somebody wrote.
type Service struct {
	TopicCreated *TopicCreated `json:"forum_topic_created,omitempty"`
	Pinned       *Message      `json:"pinned_message,omitempty"`
	Joined       []User        `json:"new_chat_members,omitempty"`
	Left         *User         `json:"left_chat_member,omitempty"`
	MigrateTo    int64         `json:"migrate_to_chat_id,omitempty"`
	MigrateFrom  int64         `json:"migrate_from_chat_id,omitempty"`
}

// Delivery is how a message was sent.
type Delivery struct {
	Silent    bool `json:"-"` // disable_notification; the real API does not return it
	Protected bool `json:"has_protected_content,omitempty"`
	NoPreview bool `json:"-"` // link_preview_options.is_disabled
}

// TopicCreated names a new forum topic.
type TopicCreated struct {
	Name      string `json:"name"`
	IconColor int    `json:"icon_color"`
}

// Origin says whose message was forwarded.
type Origin struct {
	Type       string `json:"type"` // user, hidden_user or chat
	Date       int64  `json:"date"`
	SenderUser *User  `json:"sender_user,omitempty"`
	SenderName string `json:"sender_user_name,omitempty"`
	SenderChat *Chat  `json:"sender_chat,omitempty"`
}

// Quote is the part of the replied-to message that the sender picked. Position counts UTF-16 code units.
type Quote struct {
	Text     string   `json:"text"`
	Entities []Entity `json:"entities,omitempty"`
	Position int      `json:"position"`
	IsManual bool     `json:"is_manual,omitempty"`
}

// PhotoSize is one of the sizes that a photo is kept in.
type PhotoSize struct {
	FileID   string `json:"file_id"`
	UniqueID string `json:"file_unique_id"`
	Width    int    `json:"width"`
	Height   int    `json:"height"`
	Size     int64  `json:"file_size,omitempty"`
}

// Attachment is a document, video, audio, voice note, animation or sticker; fields that its kind lacks are empty.
type Attachment struct {
	FileID    string `json:"file_id"`
	UniqueID  string `json:"file_unique_id"`
	Name      string `json:"file_name,omitempty"`
	MimeType  string `json:"mime_type,omitempty"`
	Size      int64  `json:"file_size,omitempty"`
	Width     int    `json:"width,omitempty"`
	Height    int    `json:"height,omitempty"`
	Duration  int    `json:"duration,omitempty"` // seconds
	Title     string `json:"title,omitempty"`
	Performer string `json:"performer,omitempty"`
	Emoji     string `json:"emoji,omitempty"`
	Type      string `json:"type,omitempty"` // of a sticker: regular
}

// Location is a point on the map, in degrees.
type Location struct {
	Latitude  float64 `json:"latitude"`
	Longitude float64 `json:"longitude"`
}

// Contact is a shared address-book entry.
type Contact struct {
	Phone     string `json:"phone_number"`
	FirstName string `json:"first_name"`
	LastName  string `json:"last_name,omitempty"`
	UserID    int64  `json:"user_id,omitempty"`
}

// Poll is a poll and its votes.
type Poll struct {
	ID          string       `json:"id"`
	Question    string       `json:"question"`
	Options     []PollOption `json:"options"`
	Voters      int          `json:"total_voter_count"`
	IsClosed    bool         `json:"is_closed"`
	IsAnonymous bool         `json:"is_anonymous"`
	Type        string       `json:"type"` // regular or quiz
	Multiple    bool         `json:"allows_multiple_answers"`
}

// PollOption is one answer of a poll.
type PollOption struct {
	Text   string `json:"text"`
	Voters int    `json:"voter_count"`
}

// Keyboard is an inline keyboard: rows of buttons under a message.
type Keyboard struct {
	Rows [][]Button `json:"inline_keyboard"`
}

// Button is one button of an inline keyboard.
type Button struct {
	Text         string          `json:"text"`
	URL          string          `json:"url,omitempty"`
	Data         string          `json:"callback_data,omitempty"`
	CopyText     *CopyText       `json:"copy_text,omitempty"`
	Style        string          `json:"style,omitempty"` // danger, success or primary
	Icon         string          `json:"icon_custom_emoji_id,omitempty"`
	WebApp       json.RawMessage `json:"web_app,omitempty"`
	Login        json.RawMessage `json:"login_url,omitempty"`
	Inline       *string         `json:"switch_inline_query,omitempty"`
	InlineHere   *string         `json:"switch_inline_query_current_chat,omitempty"`
	InlineChosen json.RawMessage `json:"switch_inline_query_chosen_chat,omitempty"`
	Disabled     json.RawMessage `json:"disabled,omitempty"`
	Pay          bool            `json:"pay,omitempty"`
}

// CopyText is what a button puts on the clipboard.
type CopyText struct {
	Text string `json:"text"`
}

// Command is one line of the command menu.
type Command struct {
	Name        string `json:"command"`
	Description string `json:"description"`
}
