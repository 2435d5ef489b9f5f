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

// Said is a message of a person, as far as it may answer a question.
type Said struct {
	Text string
	// Plain says that the person typed it as it is, and to no other message: it is not forwarded, no edit, no words beside
	// a file and no reply to something else.
	Plain bool
	// Below says that it was written when the question was there to be read.
	Below bool
	// Begins says that it begins a turn, so that none is under way which may put the question yet.
	Begins bool
}

// Question is the turn that put the question which waits for a person's answer, if there is one.
func Question(tx *store.Tx, at store.Address, by store.UserID) (turn store.TurnID, ok bool, err error) {
	w, ok, err := waitings.Get(tx, talk(at, by))
	return w.Turn, ok && w.Asked && w.Answer == open, err
}

// Answered takes a message within its commit: the first one below the question decides, whatever else is under way. What was
// prepared by a turn that put no question in the end is void.
func Answered(tx *store.Tx, at store.Address, by store.UserID, said Said) error {
	w, ok, err := waitings.Get(tx, talk(at, by))
	if err != nil || !ok || w.Answer != open || w.Asked && !said.Below || !w.Asked && !said.Begins {
		return err
	}
	w.Answer = denied
	if w.Asked && said.Plain && PlainYes(said.Text) && !w.expired() {
		w.Answer = yes
	}
	return waitings.Put(tx, talk(at, by), w)
}
