package store

import (
	"crypto/rand"
	"encoding/base32"
	"encoding/binary"
	"fmt"
	"strings"
	"time"
)

// Ids are distinct types, so that one can't be taken for another. Text ids are made of [a-z0-9] and never hold a NUL,
// which ends them inside a composite key; numeric ones are kept big-endian with the sign flipped, so that bytes sort as numbers.
type (
	ChatID     int64  // a Telegram chat; negative for groups
	UserID     int64  // a Telegram user
	UpdateID   int64  // a Bot API update
	MessageID  int    // a message within its chat
	SessionID  string // one transcript
	TurnID     string // one answer to a person or a job, with all its rounds
	CallID     string // one tool call
	ApprovalID string // one request to a person; it is its nonce (128 random bits)
	JobID      string // a scheduled job; short, since people and models type it
	RunID      string // one run of a job
)

func (id ChatID) Bytes() []byte     { return number(int64(id)) }
func (id UserID) Bytes() []byte     { return number(int64(id)) }
func (id UpdateID) Bytes() []byte   { return number(int64(id)) }
func (id SessionID) Bytes() []byte  { return []byte(id) }
func (id TurnID) Bytes() []byte     { return []byte(id) }
func (id CallID) Bytes() []byte     { return []byte(id) }
func (id ApprovalID) Bytes() []byte { return []byte(id) }
func (id JobID) Bytes() []byte      { return []byte(id) }
func (id RunID) Bytes() []byte      { return []byte(id) }

func ParseChatID(b []byte) (ChatID, error)     { n, err := parseNumber(b); return ChatID(n), err }
func ParseUserID(b []byte) (UserID, error)     { n, err := parseNumber(b); return UserID(n), err }
func ParseUpdateID(b []byte) (UpdateID, error) { n, err := parseNumber(b); return UpdateID(n), err }

// ParseText reads back a text id.
func ParseText[T ~string](b []byte) (T, error) { return T(b), nil }

func ParseSessionID(b []byte) (SessionID, error)   { return ParseText[SessionID](b) }
func ParseTurnID(b []byte) (TurnID, error)         { return ParseText[TurnID](b) }
func ParseCallID(b []byte) (CallID, error)         { return ParseText[CallID](b) }
func ParseApprovalID(b []byte) (ApprovalID, error) { return ParseText[ApprovalID](b) }
func ParseJobID(b []byte) (JobID, error)           { return ParseText[JobID](b) }

func NewSessionID() SessionID { return SessionID(timedID()) }
func NewTurnID() TurnID       { return TurnID(timedID()) }
func NewCallID() CallID       { return CallID(timedID()) }
func NewRunID() RunID         { return RunID(timedID()) }

// NewApprovalID is 128 random bits: whoever can name it was shown it.
func NewApprovalID() ApprovalID { return ApprovalID(encode(random(16))) }

// NewJobID is 30 random bits in six characters; the book refuses a clash.
func NewJobID() JobID { return JobID(encode(random(4))[:6]) }

var idEncoding = base32.NewEncoding("0123456789abcdefghijklmnopqrstuv").WithPadding(base32.NoPadding)

func encode(b []byte) string { return idEncoding.EncodeToString(b) }

func random(n int) []byte {
	b := make([]byte, n)
	rand.Read(b) // never fails: crypto/rand ends the program instead
	return b
}

// timedID sorts by the millisecond it was made in: 48 bits of time and 48 random ones.
func timedID() string {
	b := binary.BigEndian.AppendUint64(nil, uint64(time.Now().UnixMilli())<<16)[:6]
	return encode(append(b, random(6)...))
}

func number(n int64) []byte { return binary.BigEndian.AppendUint64(nil, uint64(n)^1<<63) }

func parseNumber(b []byte) (int64, error) {
	if len(b) != 8 {
		return 0, fmt.Errorf("a number's key has %d bytes instead of 8", len(b))
	}
	return int64(binary.BigEndian.Uint64(b) ^ 1<<63), nil
}

// Text is a key that is a plain name.
type Text string

// Bytes makes Text a Key.
func (t Text) Bytes() []byte { return []byte(t) }

// Seq numbers the records of one owner in order.
type Seq[K Key] struct {
	Of K
	N  uint64
}

// Bytes is the owner's key, a NUL and the number, big-endian.
func (s Seq[K]) Bytes() []byte { return binary.BigEndian.AppendUint64(Prefix(s.Of), s.N) }

// Prefix begins the key of every record of one owner.
func Prefix[K Key](of K) []byte { return append(of.Bytes(), 0) }

// ParseSeq reads back Seq keys whose owner parse reads.
func ParseSeq[K Key](parse func([]byte) (K, error)) func([]byte) (Seq[K], error) {
	return func(b []byte) (Seq[K], error) {
		if len(b) < 9 || b[len(b)-9] != 0 {
			return Seq[K]{}, fmt.Errorf("%x is not the key of a numbered record", b)
		}
		of, err := parse(b[:len(b)-9])
		return Seq[K]{Of: of, N: binary.BigEndian.Uint64(b[len(b)-8:])}, err
	}
}

// Address is where a conversation takes place: a chat, and in a forum one of its topics (0 outside of forums, 1 for
// the General topic).
type Address struct {
	Chat  ChatID `json:"chat"`
	Topic int    `json:"topic,omitempty"`
}

// Bytes makes Address a Key that sorts by chat, then topic.
func (a Address) Bytes() []byte { return append(a.Chat.Bytes(), number(int64(a.Topic))...) }

// String is the form used in logs: the chat, and the topic after a slash.
func (a Address) String() string {
	if a.Topic == 0 {
		return fmt.Sprint(int64(a.Chat))
	}
	return fmt.Sprintf("%d/%d", a.Chat, a.Topic)
}

// ParseAddress reads back an Address.
func ParseAddress(b []byte) (Address, error) {
	if len(b) != 16 {
		return Address{}, fmt.Errorf("an address's key has %d bytes instead of 16", len(b))
	}
	chat, err := ParseChatID(b[:8])
	if err != nil {
		return Address{}, err
	}
	topic, err := parseNumber(b[8:])
	return Address{Chat: chat, Topic: int(topic)}, err
}

// Join makes one key of several texts, none of which may hold a NUL.
func Join(parts ...string) Text { return Text(strings.Join(parts, "\x00")) }
