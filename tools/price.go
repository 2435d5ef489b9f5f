package tools

import (
	"errors"
	"strconv"
	"strings"

	"nod/store"
)

// Till pays for calls that cost something beside the model. Implemented by agent, whose caps and books it has.
type Till interface {
	// Refuses says why nothing more may be spent now, or "".
	Refuses(tx *store.Tx) (why string, err error)
	// Pay books what a call has cost, in USD, within the commit of its outcome.
	Pay(tx *store.Tx, tool string, usd float64) error
}

// Fee is what one request to a service costs, in USD. Whoever embeds it has it as Price.
type Fee float64

// Price is the fee as a plain sum.
func (f Fee) Price() float64 { return float64(f) }

// Unpaid marks the error of a call for which nothing was delivered, such as a service's refusal. Whatever else becomes of
// a call that had begun, its price counts: what came may be of no use, and what was cut off may have been made.
func Unpaid(err error) error { return &unpaidError{err} }

type unpaidError struct{ err error }

func (e *unpaidError) Error() string { return e.err.Error() }
func (e *unpaidError) Unwrap() error { return e.err }

func unpaid(err error) bool {
	_, is := errors.AsType[*unpaidError](err)
	return is
}

// cappedError says that a call was not begun because of its price.
type cappedError struct{ why string }

func (e *cappedError) Error() string { return e.why }

func capped(err error) (*cappedError, bool) { return errors.AsType[*cappedError](err) }

// afford looks whether a call with a price may be paid for. Its error is a *cappedError where it may not.
func (r *run) afford(tx *store.Tx) error {
	if r.price == 0 || r.req.Till == nil {
		return nil
	}
	why, err := r.req.Till.Refuses(tx)
	if err == nil && why != "" {
		err = &cappedError{why}
	}
	return err
}

// tooDear ends a call that may not be paid for.
func (r *run) tooDear(e *cappedError) (Outcome, error) {
	return r.finish(Outcome{State: Rejected, Text: "Not run: " + e.why + "."}, nil)
}

// pay books what a call has cost that is over.
func (r *run) pay(tx *store.Tx, e Execution) error {
	if e.Cost == 0 || r.req.Till == nil {
		return nil
	}
	return r.req.Till.Pay(tx, e.Tool, e.Cost)
}

// free takes back what the intent says of the price: nothing was delivered.
func (r *run) free() *run {
	r.exec.Cost = 0
	return r
}

// priceNote is what a card says of a call's price.
func priceNote(usd float64) string { return "Costs about $" + dollars(usd) + "." }

// dollars writes a sum with two decimals, or as many as a small one needs.
func dollars(usd float64) string {
	text := strconv.FormatFloat(usd, 'f', -1, 64)
	_, decimals, _ := strings.Cut(text, ".")
	if len(decimals) < 2 {
		return strconv.FormatFloat(usd, 'f', 2, 64)
	}
	return text
}
