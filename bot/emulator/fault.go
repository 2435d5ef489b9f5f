package emulator

import (
	"net/http"
	"slices"
	"strings"
	"time"
)

// Fault is something that goes wrong with an API call.
type Fault struct {
	early func(w http.ResponseWriter, r *http.Request) (goOn bool, err *apiError) // before the call takes effect
	late  bool                                                                    // cut the connection after it took effect
}

type armed struct {
	method string
	match  func(Call) bool
	left   int
	fault  Fault
}

// DropBefore cuts the connection before the call takes effect.
func DropBefore() Fault {
	return Fault{early: func(http.ResponseWriter, *http.Request) (bool, *apiError) { return false, nil }}
}

// DropAfter cuts the connection after the call took effect: the bot can't know that it did.
func DropAfter() Fault { return Fault{late: true} }

// BadGateway answers with a proxy's 502 page instead of JSON.
func BadGateway() Fault {
	return Fault{early: func(w http.ResponseWriter, _ *http.Request) (bool, *apiError) {
		const page = "<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body>\r\n<center><h1>502 Bad Gateway</h1></center>\r\n</body>\r\n</html>\r\n"
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(http.StatusBadGateway)
		_, _ = w.Write([]byte(page)) // the client is gone: nobody is left to tell
		return false, &apiError{code: http.StatusBadGateway, description: "Bad Gateway"}
	}}
}

// Fail refuses the call with an error code and its whole description, such as "Bad Request: chat not found".
func Fail(code int, description string) Fault {
	return failWith(&apiError{code: code, description: description})
}

// ServerError answers 500.
func ServerError() Fault {
	return Fail(http.StatusInternalServerError, "Internal Server Error: restart")
}

// RetryAfter answers 429 with that many seconds.
func RetryAfter(seconds int) Fault { return failWith(tooManyRequests(seconds)) }

func failWith(err *apiError) Fault {
	return Fault{early: func(w http.ResponseWriter, _ *http.Request) (bool, *apiError) {
		writeError(w, err)
		return false, err
	}}
}

// Slow delays the call, then lets it go on; a client that gives up first gets no effect.
func Slow(d time.Duration) Fault {
	return Fault{early: func(_ http.ResponseWriter, r *http.Request) (bool, *apiError) {
		sleep(r.Context(), d)
		return r.Context().Err() == nil, nil
	}}
}

// Hang holds the call, without effect, until the client gives up.
func Hang() Fault {
	return Fault{early: func(_ http.ResponseWriter, r *http.Request) (bool, *apiError) {
		<-r.Context().Done()
		return false, nil
	}}
}

// Inject applies f to the next n calls of method, or of every method when it is "". Faults of one method apply in the
// order of injection.
func (s *Server) Inject(method string, n int, f Fault) { s.InjectWhen(method, n, nil, f) }

// InjectWhen is Inject for the calls that match.
func (s *Server) InjectWhen(method string, n int, match func(Call) bool, f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, &armed{method, match, n, f})
}

// ClearFaults forgets the faults that were not met yet and returns how many calls they were meant for.
func (s *Server) ClearFaults() (left int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range s.faults {
		left += a.left
	}
	s.faults = nil
	return left
}

// takeFault returns the fault that the call meets, or nil.
func (s *Server) takeFault(c Call) *Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.faults, func(a *armed) bool {
		return (a.method == "" || strings.EqualFold(a.method, c.Method)) && (a.match == nil || a.match(c))
	})
	if i < 0 {
		return nil
	}
	a := s.faults[i]
	if a.left--; a.left <= 0 {
		s.faults = slices.Delete(s.faults, i, i+1)
	}
	f := a.fault
	return &f
}

// before does what happens ahead of the call's effect; false means that the call is over.
func (f *Fault) before(w http.ResponseWriter, r *http.Request, s *Server, e *entry) bool {
	if f.early == nil {
		return true
	}
	goOn, err := f.early(w, r)
	switch {
	case goOn:
		return true
	case err != nil:
		s.end(e, nil, err)
		return false
	}
	s.cutOff(e)
	panic(http.ErrAbortHandler) // net/http's way to drop a connection without an answer
}

// after does what happens between the effect and the answer.
func (f *Fault) after() {
	if f.late {
		panic(http.ErrAbortHandler)
	}
}
