package llm

import (
	"fmt"
	"strings"
	"time"
)

// Kind says what a caller can do about an Error.
type Kind int

// The kinds of error. Client.Stream has already waited, retried and fallen back when it returns one of them.
const (
	KindUnavailable Kind = iota // the service is down, overloaded, silent or speaks nonsense: try later
	KindBadRequest              // the service refuses this request: a fault of ours or of the configuration
	KindOverflow                // the context is too long: shorten it and ask again; see Error.Window
	KindAuth                    // the key is wrong or may not use this model
	KindQuota                   // the account has no credit left
	KindNotFound                // no such model or address
	KindRateLimited             // too many requests: see Error.After
	KindTruncated               // the stream broke off before the answer was complete
	KindCanceled                // the caller's context ended
)

var kindText = map[Kind]string{
	KindUnavailable: "the model service is unavailable",
	KindBadRequest:  "the model service refused the request",
	KindOverflow:    "the conversation is too long for the model",
	KindAuth:        "the model service refused the API key",
	KindQuota:       "the account at the model service has no credit left",
	KindNotFound:    "the model or its address does not exist",
	KindRateLimited: "the model service limits the rate of requests",
	KindTruncated:   "the answer broke off",
	KindCanceled:    "stopped",
}

func (k Kind) String() string { return kindText[k] }

// Error is every error of this package's client. It never holds a key or an address with a query.
type Error struct {
	Kind    Kind
	Model   string        // Model.Name
	Status  int           // HTTP status, or the one stated inside a stream; 0 if none
	Message string        // the service's own words: one line, redacted, at most 400 characters; may be empty
	Window  int           // KindOverflow: the window in tokens if the service told it
	After   time.Duration // KindRateLimited, KindUnavailable: when to try again if the service told it

	cause error // for KindCanceled only: context.Canceled or DeadlineExceeded
	final bool  // the same request would fail again, also at another model's
	fix   quirk // what to change in the next request, when the refusal says so
}

// Error is one line for a log: model, kind, status and the service's words.
func (e *Error) Error() string {
	var b strings.Builder
	if e.Model != "" {
		b.WriteString(e.Model + ": ")
	}
	b.WriteString(e.Kind.String())
	if e.Status != 0 {
		fmt.Fprintf(&b, " (HTTP %d)", e.Status)
	}
	if e.Message != "" {
		b.WriteString(": " + e.Message)
	}
	return b.String()
}

// Unwrap gives context.Canceled or context.DeadlineExceeded for KindCanceled, else nil.
func (e *Error) Unwrap() error { return e.cause }

// Runaway says that nod ended the answer because it outgrew every bound.
func (e *Error) Runaway() bool { return e.Kind == KindTruncated && e.final }

// retryable says whether the same request may succeed after a while.
func (e *Error) retryable() bool {
	return !e.final && (e.Kind == KindUnavailable || e.Kind == KindRateLimited || e.Kind == KindTruncated)
}

// elsewhere says whether another model may succeed where this one cannot.
func (e *Error) elsewhere() bool {
	return e.retryable() || e.Kind == KindAuth || e.Kind == KindQuota || e.Kind == KindNotFound
}

// Notice tells that an answer takes longer because the client waits for a service or changes to another model, or its
// caller asks again.
type Notice struct {
	Model string        // the model that failed
	Next  string        // the model that takes over; "" while waiting for the same one
	Wait  time.Duration // before the next try of the same model
	Err   *Error
}

// String is a line for the person who waits.
func (n Notice) String() string {
	what := n.Err.Kind.String()
	if n.Next != "" {
		return fmt.Sprintf("%s: %s; going on with %s", n.Model, what, n.Next)
	}
	return fmt.Sprintf("%s: %s; trying again in %s", n.Model, what, n.Wait.Round(100*time.Millisecond))
}
