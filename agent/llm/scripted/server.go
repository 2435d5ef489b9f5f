package scripted

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// Server is the model service; it is an http.Handler for any base address (…/chat/completions, …/responses, …/models,
// and those for speech and pictures: see Media).
type Server struct {
	mu         sync.Mutex
	script     func(Request) Reply
	requests   []Request
	n          int // requests so far
	calls      int // ids given out
	quirks     Quirks
	media      Media
	mediaAsked []MediaRequest
	mediaLeft  int
	lane       func(Request) string
	last       map[string]chan struct{} // of each lane: closed when the script has answered the request before
}

// New makes a server that asks script for each reply. Requests that are refused do not reach the script.
func New(script func(Request) Reply) *Server {
	return &Server{script: script, last: map[string]chan struct{}{}, lane: func(Request) string { return "" }}
}

// Lanes parts conversations from each other: the script is asked in the order in which requests arrive within one lane, and
// those of another don't wait for it. It is called before the first request.
func (s *Server) Lanes(of func(Request) string) *Server {
	s.lane = of
	return s
}

// Sequence is a script of one reply for each request. Requests beyond the last get a 500 that says so.
func Sequence(replies ...Reply) func(Request) Reply {
	var q Queue
	q.Push(replies...)
	return q.Next
}

// Queue is a script that can grow while the server runs. The zero Queue is empty and ready.
type Queue struct {
	mu      sync.Mutex
	replies []Reply
}

// Push adds replies to the end.
func (q *Queue) Push(r ...Reply) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.replies = append(q.replies, r...)
}

// Len is the number of replies that no request has taken yet.
func (q *Queue) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.replies)
}

// Next is the script: it takes the first reply, or refuses when there is none.
func (q *Queue) Next(r Request) Reply {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.replies) == 0 {
		return Fail(http.StatusInternalServerError, "script_over",
			fmt.Sprintf("the script has no reply for request %d, whose last words of the user are %q", r.N, r.LastUser()))
	}
	next := q.replies[0]
	q.replies = q.replies[1:]
	return next
}

// keptRequests bounds what a server that runs for long remembers.
const keptRequests = 1000

// Requests gives the requests so far that were legal, in order of arrival; the last 1000 if there were more.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

const maxBody = 64 << 20

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := strings.TrimRight(r.URL.Path, "/")
	if endpoint := mediaPath(r); endpoint != "" {
		s.serveMedia(w, r, endpoint)
		return
	}
	var decode func([]byte) (Request, *refusal)
	switch {
	case r.Method == http.MethodGet && strings.HasSuffix(path, "/models"):
		writeJSON(w, http.StatusOK, map[string]any{"object": "list", "data": []any{s.quirks.about()}})
		return
	case r.Method == http.MethodPost && strings.HasSuffix(path, "/chat/completions"):
		decode = decodeChat
	case r.Method == http.MethodPost && strings.HasSuffix(path, "/responses"):
		decode = decodeResponses
	default:
		Fail(http.StatusNotFound, "unknown_url", fmt.Sprintf("Unknown request URL: %s %s", r.Method, r.URL.Path)).refuse(w)
		return
	}
	raw, err := io.ReadAll(io.LimitReader(r.Body, maxBody))
	if err != nil {
		return // the client has gone
	}
	req, ref := decode(raw)
	if ref == nil {
		ref = validate(req, s.quirks.AnyToolName)
	}
	if ref == nil {
		ref = s.quirks.judge(req)
	}
	if ref != nil {
		writeJSON(w, http.StatusBadRequest, map[string]any{"error": map[string]any{
			"message": ref.message, "type": "invalid_request_error", "param": ref.param, "code": nil,
		}})
		return
	}
	req.Header, req.Gone = r.Header.Clone(), r.Context().Done()
	reply := s.reply(&req)
	if reply.fault != nil {
		reply.refuse(w)
		return
	}
	p := player{w: w, done: r.Context().Done(), req: req, reply: reply, quirks: s.quirks}
	p.play()
}

// reply records the request, asks the script when its turn has come, and gives ids to calls.
func (s *Server) reply(req *Request) Reply {
	before, answered := s.record(req)
	defer close(answered)
	if before != nil {
		<-before
	}
	reply := s.script(*req)
	s.mu.Lock()
	defer s.mu.Unlock()
	reply.steps = slices.Clone(reply.steps)
	for i, st := range reply.steps {
		if st.kind == stepCall && st.id == "" {
			s.calls++
			reply.steps[i].id = fmt.Sprintf("call_%d", s.calls)
		}
	}
	return reply
}

// record keeps the request and queues it behind those before it.
func (s *Server) record(req *Request) (before, answered chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	req.N = s.n
	s.n++
	if len(s.requests) == keptRequests {
		s.requests = slices.Delete(s.requests, 0, 1)
	}
	s.requests = append(s.requests, *req)
	lane := s.lane(*req)
	before, answered = s.last[lane], make(chan struct{})
	s.last[lane] = answered
	return before, answered
}

func (r Reply) refuse(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	if !json.Valid([]byte(r.fault.body)) {
		h.Set("Content-Type", "text/html")
	}
	for k, v := range r.fault.header {
		h[k] = v
	}
	w.WriteHeader(r.fault.status)
	_, _ = io.WriteString(w, r.fault.body)
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		panic("scripted: encoding a reply: " + err.Error())
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(b)
}
