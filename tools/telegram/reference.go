package telegram

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"nod/store"
	"nod/tools"
)

// maxBack is how far back a message can be named.
const maxBack = 20

const (
	referenceHelp = "the latest (default) is the user's newest message in this chat, 2 the one before it, and so on up to 20; " +
		"sent is the newest that you sent with a telegram tool, sent 2 the one before it"
	latestWord = "latest"
	sentWord   = "sent"
)

// parseReference reads the name of a message.
func parseReference(text string) (ref tools.MessageRef, err error) {
	words := strings.Fields(strings.ToLower(text))
	if len(words) > 0 && words[0] == "the" {
		words = words[1:]
	}
	if len(words) > 0 && words[0] == sentWord {
		ref.Own, words = true, words[1:]
	}
	switch {
	case len(words) == 0, len(words) == 1 && words[0] == latestWord:
		return ref, nil
	case len(words) == 1:
		n, err := strconv.Atoi(words[0])
		if err == nil && n >= 1 && n <= maxBack {
			ref.Back = n - 1
			return ref, nil
		}
	}
	return ref, fmt.Errorf("message %q is not understood: %s", text, referenceHelp)
}

// inWords names a message for a person.
func inWords(ref tools.MessageRef) string {
	whose := "your"
	if ref.Own {
		whose = "my"
	}
	if ref.Back == 0 {
		return whose + " latest message"
	}
	return fmt.Sprintf("%s message %d back", whose, ref.Back)
}

// known refuses a message that is not there to act on.
func known(db *store.DB, scope tools.Scope, ref tools.MessageRef) error {
	return db.View(func(tx *store.Tx) error {
		ok, err := scope.Ports.Messages.Find(tx, scope.Address, ref)
		if err == nil && !ok {
			err = errors.New("that message is not known in this chat; name another: " + referenceHelp)
		}
		return err
	})
}
