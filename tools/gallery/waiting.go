package gallery

import (
	"fmt"
	"time"

	"nod/store"
)

// waiting is an addition that was prepared and waits for a person's yes.
type waiting struct {
	Gallery string       `json:"gallery"`
	Source  source       `json:"source"`
	Prints  []string     `json:"prints"`
	Turn    store.TurnID `json:"turn"` // that prepared it
	Expires time.Time    `json:"expires"`
	// Asked is set once the turn has ended with an answer, which put the question. Answer is what the next message said.
	Asked  bool   `json:"asked,omitempty"`
	Answer answer `json:"answer,omitempty"`
}

type answer string

const (
	open   answer = ""
	yes    answer = "yes"
	denied answer = "no"
)

func (w waiting) expired() bool { return time.Now().After(w.Expires) }

// latest is what came with the newest message of a person that is the person's own.
type latest struct {
	Message store.MessageID `json:"message"`
	Files   []string        `json:"files"` // within the workspace
}

var (
	waitings = store.NewTable[store.Text, waiting]("gallery_waiting", store.ParseText[store.Text])
	latests  = store.NewTable[store.Text, latest]("gallery_latest", store.ParseText[store.Text])
)

// talk files what passes between a person and the bot in a chat.
func talk(at store.Address, by store.UserID) store.Text {
	return store.Join(at.String(), fmt.Sprint(by))
}

// Received notes the files that came with a message, within the commit of the message. direct says that it is the person's
// own, not a forwarded one; only such files can be named by their place in the message.
func Received(tx *store.Tx, at store.Address, by store.UserID, message store.MessageID, files []string, direct bool) error {
	if !direct {
		return nil
	}
	if len(files) > 0 {
		return latests.Put(tx, talk(at, by), latest{Message: message, Files: files})
	}
	had, err := latests.Has(tx, talk(at, by))
	if err != nil || !had {
		return err
	}
	return latests.Delete(tx, talk(at, by))
}

// Asked notes that a turn has ended with an answer, within its commit: from here on the person's next message decides on
// what the turn prepared.
func Asked(tx *store.Tx, at store.Address, by store.UserID, turn store.TurnID) error {
	w, ok, err := waitings.Get(tx, talk(at, by))
	if err != nil || !ok || w.Turn != turn || w.Asked {
		return err
	}
	w.Asked = true
	return waitings.Put(tx, talk(at, by), w)
}

// Answered takes a message that begins a turn, within the commit of the message: the first one after the question decides.
// direct says that it is what the person has typed, neither forwarded nor an edit.
func Answered(tx *store.Tx, at store.Address, by store.UserID, text string, direct bool) error {
	w, ok, err := waitings.Get(tx, talk(at, by))
	if err != nil || !ok || w.Answer != open {
		return err
	}
	w.Answer = denied
	if w.Asked && direct && PlainYes(text) && !w.expired() {
		w.Answer = yes
	}
	return waitings.Put(tx, talk(at, by), w)
}
