package outbox

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-telegram/bot/models"

	"nod/store"
)

// Slot names a place in a chat that holds one message, such as "turn/<id>/answer" or "card/<nonce>". Slots are unique
// over all chats and are remembered for slotLife.
type Slot string

// Kind is what an item does.
type Kind string

const (
	Text   Kind = ""       // sends a message, or edits the one that the slot holds
	Edit   Kind = "edit"   // edits the slot's message, and does nothing when the slot is empty
	Delete Kind = "delete" // deletes the slot's message and empties the slot
	Upload Kind = "file"   // sends a file
	Album  Kind = "album"  // sends 2 to 10 photos as one
	Act    Kind = "act"    // does what its Action says
)

// FileKind is how a file is shown.
type FileKind string

const (
	Document FileKind = "" // also what a file that Telegram does not take as its kind is sent as
	Photo    FileKind = "photo"
	Video    FileKind = "video"
	Audio    FileKind = "audio"
	Voice    FileKind = "voice"
)

// File is a file to send.
type File struct {
	Handle string   `json:"handle"` // what Keep returned; the copy is deleted once the item is settled
	Name   string   `json:"name"`   // as the person sees it
	Kind   FileKind `json:"kind,omitempty"`
}

// Item is one message, edit, file or deletion that stays.
type Item struct {
	To   store.Address `json:"to"`
	Slot Slot          `json:"slot,omitempty"` // "" for a message that nothing refers to later
	Kind Kind          `json:"kind,omitempty"`

	// HTML and Plain are the text, or a file's caption, in Telegram's HTML and without formatting. Plain is sent when
	// Telegram refuses HTML, and must be there whenever HTML is. An Edit with neither changes the keyboard alone.
	HTML  string `json:"html,omitempty"`
	Plain string `json:"plain,omitempty"`
	// Rich is the same as the Markdown of a rich message (Bot API 10.1), which is sent where Telegram takes it.
	Rich string `json:"rich,omitempty"`

	Keyboard *models.InlineKeyboardMarkup `json:"keyboard,omitempty"` // nil: none, also after an edit of the text
	File     *File                        `json:"file,omitempty"`     // of an Upload
	Photos   []File                       `json:"photos,omitempty"`   // of an Album
	Action   *Action                      `json:"action,omitempty"`   // of an Act
	ReplyTo  store.MessageID              `json:"reply_to,omitempty"` // ignored by edits and when that message is gone
	Silent   bool                         `json:"silent,omitempty"`   // arrives without a sound; ignored by edits
	Fresh    bool                         `json:"fresh,omitempty"`    // sends a new message although the slot is filled
}

// Content is what a preview shows; its fields mean what those of Item mean. Silent and ReplyTo count for the first
// preview of a slot, which sends its message. Draft shows it as a draft instead, in private chats: no message stands there
// before the item that follows.
type Content struct {
	HTML, Plain string
	Keyboard    *models.InlineKeyboardMarkup
	ReplyTo     store.MessageID
	Silent      bool
	Draft       bool
}

var errNoText = errors.New("an item needs its text in plain form too")

func (it *Item) check() error {
	if it.To.Chat == 0 {
		return errors.New("an item needs a chat")
	}
	blank := strings.TrimSpace(it.Plain) == ""
	switch it.Kind {
	case Text:
		if blank {
			return errNoText
		}
	case Edit:
		if it.Slot == "" || blank && (it.HTML != "" || it.Keyboard == nil) {
			return errors.New("an edit needs a slot, and a text or a keyboard")
		}
	case Delete:
		if it.Slot == "" {
			return errors.New("a deletion needs a slot")
		}
	case Upload:
		if it.File == nil || it.File.Handle == "" {
			return errors.New("an upload needs a kept file")
		}
		if it.HTML != "" && blank {
			return errNoText
		}
	case Album:
		if len(it.Photos) < 2 || len(it.Photos) > maxAlbum {
			return fmt.Errorf("an album needs 2 to %d photos", maxAlbum)
		}
		if it.HTML != "" && blank {
			return errNoText
		}
	case Act:
		if it.Action == nil {
			return errors.New("an act needs an action")
		}
	default:
		return fmt.Errorf("unknown kind of item %q", it.Kind)
	}
	return nil
}

// handles are those of the kept files that the item sends.
func (it *Item) handles() (all []string) {
	if it.File != nil {
		all = append(all, it.File.Handle)
	}
	for _, f := range it.Photos {
		all = append(all, f.Handle)
	}
	return all
}

// edits says whether the item changes a message that is there, so that a later edit of the same slot makes it needless.
func (it *Item) edits() bool {
	return it.Slot != "" && !it.Fresh && (it.Kind == Edit || it.Kind == Text)
}

// keyboardOnly says whether the item leaves the text alone.
func (it *Item) keyboardOnly() bool { return it.Kind == Edit && it.Plain == "" }

// row is a queued item; its number orders all rows.
type row struct {
	key  rowKey
	item Item
}

type rowKey = store.Seq[store.ChatID]

// held is what a slot holds.
type held struct {
	Chat    store.ChatID    `json:"chat"`
	Message store.MessageID `json:"message"`
	At      time.Time       `json:"at"`
	// Again says that an earlier process had it queued too, and may have sent it without a record.
	Again bool `json:"again,omitempty"`
}

// place is a message within all chats, the key from a message back to its slot.
type place struct {
	chat    store.ChatID
	message store.MessageID
}

func (p place) Bytes() []byte {
	return binary.BigEndian.AppendUint64(p.chat.Bytes(), uint64(p.message))
}

func parsePlace(b []byte) (place, error) {
	if len(b) != 16 {
		return place{}, fmt.Errorf("a message's key has %d bytes instead of 16", len(b))
	}
	chat, err := store.ParseChatID(b[:8])
	return place{chat, store.MessageID(binary.BigEndian.Uint64(b[8:]))}, err
}

// Dead is an item that could not be delivered.
type Dead struct {
	Item      Item      `json:"item"`
	Reason    string    `json:"reason"`              // the error, for the log and the operator
	Forbidden bool      `json:"forbidden,omitempty"` // the chat as a whole can't be written to: blocked, kicked, deactivated
	MayNot    bool      `json:"may_not,omitempty"`   // the bot has no right to send this kind of thing there
	At        time.Time `json:"at"`
}

// number is the key of dead items: in the order of their deaths.
type number uint64

func (n number) Bytes() []byte { return binary.BigEndian.AppendUint64(nil, uint64(n)) }

func parseNumber(b []byte) (number, error) {
	if len(b) != 8 {
		return 0, fmt.Errorf("a number's key has %d bytes instead of 8", len(b))
	}
	return number(binary.BigEndian.Uint64(b)), nil
}

var (
	rows   = store.NewTable[rowKey, Item]("outbox", store.ParseSeq(store.ParseChatID))
	slots  = store.NewTable[store.Text, held]("outbox_slots", store.ParseText[store.Text])
	places = store.NewTable[place, Slot]("outbox_places", parsePlace)
	dead   = store.NewTable[number, Dead]("outbox_dead", parseNumber)
)
