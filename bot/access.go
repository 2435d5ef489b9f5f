package bot

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"nod/store"
)

// Role says what a person may do.
type Role string

const (
	Owner    Role = "owner"    // everything
	Guest    Role = "guest"    // chats; owners decide
	Ignored  Role = "ignored"  // an owner pressed Ignore
	Stranger Role = "stranger" // nobody has decided yet
)

// Person is someone who has written to the bot. People are told apart by their numeric id alone: names can change hands.
type Person struct {
	ID      store.UserID `json:"id"`
	Name    string       `json:"name"` // as Telegram showed it last; for people to read only
	Role    Role         `json:"role"`
	Private store.ChatID `json:"private,omitempty"` // their private chat with the bot, once they have written there
	Since   time.Time    `json:"since"`
	// Told is when a stranger was last answered; Asked says that an owner was asked about this one.
	Told  time.Time `json:"told,omitzero"`
	Asked bool      `json:"asked,omitempty"`
}

// invitation is an open pairing code, kept as a hash.
type invitation struct {
	Hash    string    `json:"hash"`
	Role    Role      `json:"role"`
	Expires time.Time `json:"expires"`
	Wrong   int       `json:"wrong"` // tries with a wrong code while this one was open
}

const (
	peopleBucket   = "people"
	invitesBucket  = "invitations"
	settingsBucket = "settings"

	// A code lives ten minutes and dies of five wrong tries, whoever makes them.
	inviteTime  = 10 * time.Minute
	inviteTries = 5
	// strangerPause is how long a stranger gets no second answer.
	strangerPause = 24 * time.Hour
	// maxStrangers bounds what strangers can make us remember.
	maxStrangers = 200
	// maxAsks is about how many strangers an owner is asked in askPause, so that a flood of them leaves the chat usable.
	maxAsks  = 5
	askPause = time.Hour
)

var (
	people      = store.NewTable[store.UserID, Person](peopleBucket, store.ParseUserID)
	invitations = store.NewTable[store.Text, invitation](invitesBucket, store.ParseText[store.Text])
	settings    = store.NewTable[store.Text, store.Address](settingsBucket, store.ParseText[store.Text])
)

// errNoOwner says that nobody owns this bot yet.
var errNoOwner = errors.New("nobody has paired with this bot yet, so there is no chat to report to")

// Access knows who may do what. The zero value is ready.
type Access struct{}

// Person reads who someone is; whom nobody has seen is a stranger.
func (Access) Person(tx *store.Tx, id store.UserID) (Person, error) {
	p, ok, err := people.Get(tx, id)
	if err != nil {
		return Person{}, err
	}
	if !ok {
		p = Person{ID: id, Role: Stranger}
	}
	return p, nil
}

// Put keeps a person's record.
func (Access) Put(tx *store.Tx, p Person) error { return people.Put(tx, p.ID, p) }

// Meet notes a known person's name and private chat, when they have changed. Strangers leave no trace here.
func (a Access) Meet(tx *store.Tx, id store.UserID, name string, private store.ChatID) (Person, error) {
	p, err := a.Person(tx, id)
	if err != nil {
		return p, err
	}
	if p.Role == Stranger || p.Name == name && (private == 0 || p.Private == private) {
		return p, nil
	}
	p.Name = name
	if private != 0 {
		p.Private = private
	}
	return p, a.Put(tx, p)
}

// Owners are all owners, by id.
func (Access) Owners(tx *store.Tx) (owners []Person, err error) {
	err = people.Scan(tx, nil, func(_ store.UserID, p Person) (bool, error) {
		if p.Role == Owner {
			owners = append(owners, p)
		}
		return true, nil
	})
	return owners, err
}

// Adopt makes these users owners, as the configuration says. Their private chat has the same number as they have.
func (a Access) Adopt(tx *store.Tx, ids []store.UserID) error {
	for _, id := range ids {
		p, err := a.Person(tx, id)
		if err != nil {
			return err
		}
		if p.Role == Owner {
			continue
		}
		p.Role, p.Since, p.Private = Owner, time.Now(), store.ChatID(id)
		if err := a.Put(tx, p); err != nil {
			return err
		}
	}
	return nil
}

// Invite opens a pairing code for a role and gives it back with the time of its end. Only a hash of it is kept.
func (Access) Invite(tx *store.Tx, role Role) (code string, expires time.Time, err error) {
	code = rand.Text() // 130 bits of A-Z2-7
	expires = time.Now().Add(inviteTime)
	hash := hashCode(code)
	if err := sweepInvitations(tx); err != nil {
		return "", expires, err
	}
	return code, expires, invitations.Put(tx, store.Text(hash), invitation{Hash: hash, Role: role, Expires: expires})
}

// hashCode folds case, since a code may be typed by hand.
func hashCode(code string) string {
	sum := sha256.Sum256([]byte(strings.ToUpper(strings.TrimSpace(code))))
	return hex.EncodeToString(sum[:])
}

// sweepInvitations forgets codes that are out of time.
func sweepInvitations(tx *store.Tx) error {
	return invitations.DeleteFunc(tx, nil, func(_ store.Text, i invitation) bool { return time.Now().After(i.Expires) })
}

// Redeem uses up a pairing code. A wrong one counts against every code that is open, and burns those it was the fifth
// for; ok is then false.
func (a Access) Redeem(tx *store.Tx, p Person, code string) (paired Person, ok bool, err error) {
	if err := sweepInvitations(tx); err != nil {
		return p, false, err
	}
	open, err := invitations.All(tx, nil)
	if err != nil {
		return p, false, err
	}
	hash := hashCode(code)
	for _, i := range open {
		if subtle.ConstantTimeCompare([]byte(i.Hash), []byte(hash)) == 1 {
			if err := invitations.Delete(tx, store.Text(i.Hash)); err != nil {
				return p, false, err
			}
			return a.admit(tx, p, i.Role)
		}
	}
	for _, i := range open {
		i.Wrong++
		if i.Wrong >= inviteTries {
			err = errors.Join(err, invitations.Delete(tx, store.Text(i.Hash)))
		} else {
			err = errors.Join(err, invitations.Put(tx, store.Text(i.Hash), i))
		}
	}
	return p, false, err
}

// admit gives a role, never a lesser one than the person has by now.
func (a Access) admit(tx *store.Tx, p Person, role Role) (Person, bool, error) {
	now, err := a.Person(tx, p.ID)
	if err != nil {
		return p, false, err
	}
	p.Role, p.Since = now.Role, now.Since
	if p.Role != Owner {
		p.Role, p.Since = role, time.Now()
	}
	return p, true, a.Put(tx, p)
}

// FirstContact says whether a stranger may be answered, and whether an owner, if there is one, is to be asked; it notes
// that both happened. A stranger whom nobody was asked about, because there were many, is asked about when he writes on
// another day.
func (a Access) FirstContact(tx *store.Tx, id store.UserID, name string, owned bool) (answer, ask bool, err error) {
	p, answer, err := a.mayAnswer(tx, id)
	if err != nil || !answer {
		return false, false, err
	}
	if err := makeRoom(tx, p); err != nil {
		return false, false, err
	}
	if ask = owned && !p.Asked; ask {
		if ask, err = mayAsk(tx); err != nil {
			return false, false, err
		}
	}
	p.Name, p.Told, p.Asked = name, time.Now(), p.Asked || ask
	if p.Since.IsZero() {
		p.Since = p.Told
	}
	return true, ask, a.Put(tx, p)
}

// mayAnswer says whether a stranger may be answered now. Once as many as may be remembered have been, somebody new is
// only when the one who was answered longest ago could be answered again: so many answers a day at most.
func (a Access) mayAnswer(tx *store.Tx, id store.UserID) (p Person, ok bool, err error) {
	p, err = a.Person(tx, id)
	if err != nil || p.Role != Stranger || time.Since(p.Told) < strangerPause {
		return p, false, err
	}
	if !p.Told.IsZero() {
		return p, true, nil
	}
	count, oldest, err := strangers(tx)
	return p, count < maxStrangers || time.Since(oldest.Told) >= strangerPause, err
}

// mayAsk says whether an owner is asked about one more stranger now.
func mayAsk(tx *store.Tx) (bool, error) {
	lately := 0
	err := people.Scan(tx, nil, func(_ store.UserID, p Person) (bool, error) {
		if p.Role == Stranger && p.Asked && time.Since(p.Told) < askPause {
			lately++
		}
		return true, nil
	})
	return lately < maxAsks, err
}

// makeRoom forgets the stranger who was answered longest ago, where there would be too many with somebody new.
func makeRoom(tx *store.Tx, p Person) error {
	if !p.Told.IsZero() {
		return nil
	}
	count, oldest, err := strangers(tx)
	if err != nil || count < maxStrangers {
		return err
	}
	return people.Delete(tx, oldest.ID)
}

// strangers counts the remembered ones and finds the one who was answered longest ago.
func strangers(tx *store.Tx) (count int, oldest Person, err error) {
	err = people.Scan(tx, nil, func(_ store.UserID, p Person) (bool, error) {
		if p.Role != Stranger {
			return true, nil
		}
		if count++; count == 1 || p.Told.Before(oldest.Told) {
			oldest = p
		}
		return true, nil
	})
	return count, oldest, err
}

// Unheard says whether nothing that someone writes in private can have an effect, be it a pairing code.
func (a Access) Unheard(tx *store.Tx, id store.UserID, code bool) (bool, error) {
	p, ok, err := a.mayAnswer(tx, id)
	if err != nil || ok || p.Role == Owner || p.Role == Guest {
		return false, err
	}
	if !code || p.Role == Ignored {
		return true, nil
	}
	open := false
	err = invitations.Scan(tx, nil, func(store.Text, invitation) (bool, error) {
		open = true
		return false, nil
	})
	return !open, err
}

const homeKey = store.Text("home")

// Home is where reports go: what /sethome said, else the private chat of the first owner.
func (a Access) Home(tx *store.Tx) (at store.Address, deciders []store.UserID, err error) {
	owners, err := a.Owners(tx)
	if err != nil {
		return at, nil, err
	}
	if len(owners) == 0 {
		return at, nil, errNoOwner
	}
	for _, p := range owners {
		deciders = append(deciders, p.ID)
	}
	at, ok, err := settings.Get(tx, homeKey)
	if err != nil || ok {
		return at, deciders, err
	}
	first := slices.MinFunc(owners, func(x, y Person) int { return x.Since.Compare(y.Since) })
	return store.Address{Chat: first.chat()}, deciders, nil
}

// chat is a person's private chat with the bot. It has the person's own number, also where the record does not say so: a run
// that reports to no chat could not end.
func (p Person) chat() store.ChatID { return cmp.Or(p.Private, store.ChatID(p.ID)) }

// SetHome moves the home chat.
func (Access) SetHome(tx *store.Tx, at store.Address) error { return settings.Put(tx, homeKey, at) }

// Judges says who may nod to calls of a turn that p begins, and where they are asked: owners decide on their own turns
// where they write; on a guest's turn every owner may, in an owner's private chat.
func (a Access) Judges(tx *store.Tx, p Person, at store.Address) (deciders []store.UserID, cards store.Address, err error) {
	if p.Role == Owner {
		return []store.UserID{p.ID}, at, nil
	}
	owners, err := a.Owners(tx)
	if err != nil {
		return nil, at, err
	}
	if len(owners) == 0 {
		return nil, at, errNoOwner
	}
	for _, o := range owners {
		deciders = append(deciders, o.ID)
	}
	return deciders, store.Address{Chat: owners[0].chat()}, nil
}

// enrolKey files the groups in which an owner said /enroll.
func enrolKey(chat store.ChatID) store.Text { return store.Text(fmt.Sprintf("enrolled/%d", chat)) }

// Enrol opens a group to the bot; Leave closes it.
func (Access) Enrol(tx *store.Tx, chat store.ChatID) error {
	return settings.Put(tx, enrolKey(chat), store.Address{Chat: chat})
}

func (Access) Leave(tx *store.Tx, chat store.ChatID) error {
	return settings.Delete(tx, enrolKey(chat))
}

// Enrolled says whether the bot speaks in a group.
func (Access) Enrolled(tx *store.Tx, chat store.ChatID) (bool, error) {
	return settings.Has(tx, enrolKey(chat))
}

// Migrate rewrites what is filed under a group that became a supergroup.
func (a Access) Migrate(tx *store.Tx, from, to store.ChatID) error {
	enrolled, err := a.Enrolled(tx, from)
	if err != nil {
		return err
	}
	if enrolled {
		if err := errors.Join(a.Leave(tx, from), a.Enrol(tx, to)); err != nil {
			return err
		}
	}
	home, ok, err := settings.Get(tx, homeKey)
	if err == nil && ok && home.Chat == from {
		home.Chat = to
		err = a.SetHome(tx, home)
	}
	return err
}
