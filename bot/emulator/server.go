package emulator

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Token is the bot's token unless Options name another; it has the shape of a real one and opens nothing.
const Token = "4242424242:EMULATOR-emulator-EMULATOR-emulato0"

// Options of a Server; the zero value suits tests.
type Options struct {
	Token         string // of the bot; default Token
	Bot           User   // how the bot shows itself; default "nod", @nod_bot; the id always comes from the token
	Flood         *Flood // pace limits; nil leaves sending unlimited
	Privacy       bool   // privacy mode: in groups only commands, replies to the bot and mentions of it are delivered
	PrivateTopics bool   // topics in private chats (has_topics_enabled)
	KeepCalls     int    // how many finished API calls are remembered; default 20000
}

// Server is the Bot API of one bot, with the people and chats around it. It is an http.Handler; all methods may be
// called at the same time.
type Server struct {
	token   string
	bot     User
	opts    Options
	mu      sync.Mutex
	changed chan struct{} // closed and replaced at each change
	rev     uint64        // counts the changes
	world   world
	queue   queue
	journal journal
	faults  []*armed
	flood   flood
	files   fileStore
	presses map[string]*press
	pressN  int
	menu    menu
}

// New returns a server with no people and no chats.
func New(o Options) *Server {
	if o.Token == "" {
		o.Token = Token
	}
	if o.KeepCalls <= 0 {
		o.KeepCalls = 20_000
	}
	bot := o.Bot
	if bot.FirstName == "" {
		bot.FirstName = "nod"
	}
	if bot.Username == "" {
		bot.Username = "nod_bot"
	}
	bot.IsBot = true
	id, _, _ := strings.Cut(o.Token, ":")
	bot.ID, _ = strconv.ParseInt(id, 10, 64)
	s := &Server{
		token:   o.Token,
		bot:     bot,
		opts:    o,
		changed: make(chan struct{}),
		world:   newWorld(),
		queue:   queue{next: firstUpdateID},
		journal: journal{keep: o.KeepCalls},
		files:   fileStore{byID: map[string]*file{}, byPath: map[string]*file{}},
		presses: map[string]*press{},
		menu:    menu{commands: map[menuKey][]Command{}},
	}
	s.flood.limits = o.Flood
	s.world.users[bot.ID] = &bot
	return s
}

// Bot tells how the bot shows itself.
func (s *Server) Bot() User { return s.bot }

// note wakes everybody who waits for a change; s.mu is held.
func (s *Server) note() {
	s.rev++
	close(s.changed)
	s.changed = make(chan struct{})
}

// Changed returns a channel that is closed at the next change of anything: a message, an edit, a call, an update taken.
// Get the channel before looking at the state, so that no change is missed.
func (s *Server) Changed() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changed
}

// wait calls ok, with s.mu held, now and after each change until it says true or ctx ends.
func (s *Server) wait(ctx context.Context, ok func() bool) error {
	for {
		s.mu.Lock()
		done, ch := ok(), s.changed
		s.mu.Unlock()
		if done {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ch:
		}
	}
}

// ServeHTTP answers /bot<token>/<method>, /bot<token>/test/<method> and /file/bot<token>/<path>.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if rest, ok := strings.CutPrefix(r.URL.Path, "/file/bot"); ok {
		token, path, _ := strings.Cut(rest, "/")
		if err := s.checkToken(token); err != nil {
			writeError(w, err)
			return
		}
		s.serveFile(w, r, path)
		return
	}
	rest, ok := strings.CutPrefix(r.URL.Path, "/bot")
	token, method, found := strings.Cut(rest, "/")
	if !ok || !found {
		writeError(w, &apiError{code: http.StatusNotFound, description: "Not Found"})
		return
	}
	if err := s.checkToken(token); err != nil {
		writeError(w, err)
		return
	}
	s.serveMethod(w, r, strings.TrimPrefix(method, "test/"))
}

func (s *Server) checkToken(token string) *apiError {
	if token == s.token {
		return nil
	}
	if !strings.Contains(token, ":") || strings.HasPrefix(token, "0") || len(token) > 80 {
		return &apiError{code: http.StatusUnauthorized, description: "Unauthorized: invalid token specified"}
	}
	return &apiError{code: http.StatusUnauthorized, description: "Unauthorized"}
}

// serveMethod runs one API call: read, record, apply faults, execute, answer.
func (s *Server) serveMethod(w http.ResponseWriter, r *http.Request, name string) {
	m, known := methods[strings.ToLower(name)]
	q, err := readRequest(r)
	if err != nil {
		writeError(w, err)
		return
	}
	q.method = name
	if known {
		q.method = m.name
	}
	call := s.begin(q)
	fault := s.takeFault(call.snapshot())
	if fault != nil && !fault.before(w, r, s, call) {
		return
	}
	var result any
	switch {
	case !known:
		err = &apiError{code: http.StatusNotFound, description: "Not Found: method not found"}
	case m.waits != nil:
		result, err = m.waits(s, r.Context(), q)
	default:
		s.mu.Lock()
		result, err = m.run(s, q)
		s.mu.Unlock()
	}
	body := s.end(call, result, err)
	if fault != nil {
		fault.after()
	}
	if err != nil {
		writeError(w, err)
		return
	}
	writeJSON(w, http.StatusOK, body)
}

// method is one row of the method table; run is called with s.mu held, waits without.
type method struct {
	name  string
	run   func(*Server, *request) (any, *apiError)
	waits func(*Server, context.Context, *request) (any, *apiError)
}

func now() int64 { return time.Now().Unix() }
