package outbox

import (
	"errors"
	"strings"

	tg "github.com/go-telegram/bot"
)

// Passing says whether a call failed in a way that may be over the next time.
func Passing(err error) bool {
	c := classify(err).class
	return c == later || c == unknown
}

// Plain is the error of a call in Telegram's own words, for a person or a model to read; nil stays nil.
func Plain(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, tg.ErrorBadRequest), errors.Is(err, tg.ErrorForbidden), errors.Is(err, tg.ErrorConflict):
		_, said, _ := strings.Cut(err.Error(), ", ")
		_, what, ok := strings.Cut(said, ": ")
		if !ok {
			what = said
		}
		return errors.New("Telegram refuses: " + what)
	case Passing(err):
		return errors.New("no answer from Telegram now")
	}
	return err
}
