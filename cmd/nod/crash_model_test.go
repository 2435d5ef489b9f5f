package main

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"nod/agent/llm/scripted"
	"nod/tools"
)

// An errand is what a person asks for: its kind, who asked, and a number, such as "cmd-p1-7x". It stands in the message,
// in the arguments of the call that it leads to, and in the answer.
var errandForm = regexp.MustCompile(`\b[a-z]+-p\d+-\d+x\b`)

const (
	errandSay  = "say"  // an answer without a call
	errandCmd  = "cmd"  // a command, which asks
	errandSlow = "slow" // one that takes a while
	errandTree = "tree" // one that leaves processes behind
	errandRead = "read" // a call that only reads
	errandNote = "note" // a file written where that is free
	errandAsk  = "ask"  // a question
	errandStop = "stop" // a command that only /stop ends
	errandPack = "pack" // not the model's: /compact
	errandJob  = "job"  // a job that is due every second
	errandWait = "wait" // a command of a second
	errandMull = "mull" // an answer that takes a second
	errandHang = "hang" // an answer that the first request for it does not get in time
	errandBoot = "boot" // a restart of nod
	errandHelp = "help" // a sub-agent that runs a command
	errandTask = "task" // a task in the background that reads
	errandNews = "news" // not a person's: what a job notifies of

	// runsFile is where each command leaves its errand.
	runsFile = "runs.log"
	// answerMark begins what people write to questions; the model must never see it as a message.
	answerMark = "my-answer-is"
)

// crashModel is the model service. It answers by the words of the conversation alone, so that it may be asked the same
// again after a kill.
type crashModel struct {
	service *scripted.Server
	mu      sync.Mutex
	runs    int      // of the job
	refused []string // answers of the strict validation: the transcript was not legal
	misread []string // answers to questions that came as messages
	asked   map[string]int
	changed chan struct{} // closed and replaced when asked changes
}

func newCrashModel() *crashModel {
	m := &crashModel{asked: map[string]int{}, changed: make(chan struct{})}
	m.service = scripted.New(m.reply)
	return m
}

// ServeHTTP passes on to the scripted service and notes what it refuses.
func (m *crashModel) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	noted := &refusalWriter{ResponseWriter: w}
	m.service.ServeHTTP(noted, r)
	if noted.code >= http.StatusBadRequest {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.refused = append(m.refused, fmt.Sprint(noted.code, " ", noted.body.String()))
	}
}

// refusalWriter keeps the body of a refusal.
type refusalWriter struct {
	http.ResponseWriter
	code int
	body strings.Builder
}

func (w *refusalWriter) WriteHeader(code int) {
	w.code = code
	w.ResponseWriter.WriteHeader(code)
}

func (w *refusalWriter) Write(p []byte) (int, error) {
	if w.code >= http.StatusBadRequest {
		w.body.Write(p)
	}
	return w.ResponseWriter.Write(p)
}

// Flush lets answers stream.
func (w *refusalWriter) Flush() {
	if f, ok := w.ResponseWriter.(http.Flusher); ok {
		f.Flush()
	}
}

// lag is how long the model thinks: long enough for kills to land in it.
const lag = 15 * time.Millisecond

func (m *crashModel) reply(r scripted.Request) scripted.Reply {
	if len(r.Tools) == 0 {
		return scripted.Reply{}.Sleep(lag).Say("A summary.")
	}
	turn := openTurn(r.Messages)
	var asked, called, told []string
	for _, msg := range turn {
		switch msg.Role {
		case "user":
			switch {
			case strings.HasPrefix(msg.Text, "[A scheduled job is due"):
				return m.job(turn)
			case subAgent(msg.Text):
				return helpOut(turn)
			}
			m.checkMisread(msg.Text)
			asked = append(asked, errandForm.FindAllString(msg.Text, -1)...)
		case "assistant":
			for _, call := range msg.Calls {
				called = append(called, errandForm.FindAllString(call.Args, -1)...)
				switch call.Name {
				case tools.Restart: // its arguments name nothing
					called = append(called, asked...)
				case tools.TaskCompleted:
					told = append(told, errandForm.FindAllString(call.Args, -1)...)
				}
			}
		case "tool":
			told = append(told, newsForm.FindAllString(msg.Text, -1)...)
		}
	}
	reply := scripted.Reply{}.Sleep(lag)
	calls := false
	for i, errand := range asked {
		kind, _, _ := strings.Cut(errand, "-")
		if slices.Contains(called, errand) {
			continue
		}
		switch kind {
		case errandSay:
		case errandMull:
			m.first(errand)
			reply = reply.Sleep(time.Second)
		case errandHang:
			if m.first(errand) {
				reply = reply.Sleep(time.Minute)
			}
		case errandStop: // one that was stopped is not taken up again with the next message
			if i == len(asked)-1 {
				reply, calls = errandCall(reply, kind, errand), true
			}
		default:
			reply, calls = errandCall(reply, kind, errand), true
		}
	}
	if calls {
		return reply
	}
	if len(asked) > 0 || len(told) == 0 {
		reply = reply.Say("done: ").Sleep(lag).Say(strings.Join(asked, " "), ".")
	}
	if len(told) > 0 {
		reply = reply.Say(" told: ").Say(strings.Join(told, " "), ".")
	}
	return reply
}

// newsForm is what a job notifies of.
var newsForm = regexp.MustCompile(`\bnews-p\d+-\d+x\b`)

// everyThird run of the job has something to tell.
const everyThird = 3

// job is a run of the job, which asks once a second.
func (m *crashModel) job(turn []scripted.Message) scripted.Reply {
	for _, msg := range turn {
		if msg.Role == "tool" {
			return scripted.Reply{}.Sleep(lag).Say("NOTHING TO REPORT")
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.runs++; m.runs%everyThird != 1 {
		return scripted.Reply{}.Sleep(10 * lag).Say("NOTHING TO REPORT")
	}
	news := fmt.Sprintf("%s-p0-%dx", errandNews, m.runs)
	return scripted.Reply{}.Sleep(lag).Call(tools.Notify, map[string]any{"source": "job", "summary": news})
}

// helpOut is an agent that works for another: it does its errand with one call.
func helpOut(turn []scripted.Message) scripted.Reply {
	errand := errandForm.FindString(turn[0].Text)
	switch {
	case len(turn) > 1:
		return scripted.Reply{}.Sleep(lag).Say("helped with " + errand)
	case strings.HasPrefix(errand, errandTask):
		return errandCall(scripted.Reply{}.Sleep(lag), errandRead, errand)
	}
	return errandCall(scripted.Reply{}.Sleep(lag), errandSlow, errand)
}

// faults gives what must not have come.
func (m *crashModel) faults() (refused, misread []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.refused), slices.Clone(m.misread)
}

// awaitAsked waits until the model was asked for an errand.
func (m *crashModel) awaitAsked(ctx context.Context, errand string) error {
	for {
		m.mu.Lock()
		asked, changed := m.asked[errand] > 0, m.changed
		m.mu.Unlock()
		if asked {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// first notes that the errand came, and says whether it had not come before.
func (m *crashModel) first(errand string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked[errand]++
	close(m.changed)
	m.changed = make(chan struct{})
	return m.asked[errand] == 1
}

func (m *crashModel) checkMisread(text string) {
	if strings.Contains(text, answerMark) {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.misread = append(m.misread, text)
	}
}

// openTurn is what stands after the last answer that made no calls.
func openTurn(all []scripted.Message) []scripted.Message {
	for i, msg := range slices.Backward(all) {
		if msg.Role == "assistant" && len(msg.Calls) == 0 {
			return all[i+1:]
		}
	}
	return all
}

func errandCall(r scripted.Reply, kind, errand string) scripted.Reply {
	trace := "echo " + errand + " >> " + runsFile
	switch kind {
	case errandRead:
		return r.Call(tools.SearchFile, map[string]any{"path": "facts.md", "query": errand})
	case errandNote:
		return r.Call(tools.WriteFile, map[string]any{"path": "data/" + errand + ".txt", "content": errand})
	case errandAsk:
		return r.Call(tools.AskUserClarification, map[string]any{"title": "About " + errand, "question": "Shall I?", "suggested_answers": []string{"yes", "no"}})
	case errandJob:
		return r.Call(tools.ExecuteTask, map[string]any{"mode": "cron", "title": errand, "prompt": "tick", "agent_id": "main", "cron": "* * * * * *"})
	case errandHelp:
		return r.Call(tools.ExecuteTask, map[string]any{"mode": "sync", "title": errand, "prompt": "Do it.", "agent_id": "generalist"})
	case errandTask:
		return r.Call(tools.ExecuteTask, map[string]any{"mode": "async", "title": errand, "prompt": "Do it.", "agent_id": "generalist"})
	case errandSlow:
		trace = "sleep 0.03; " + trace + "; sleep 0.05"
	case errandTree:
		trace = "setsid sleep 60 & (nohup sleep 60 &); " + trace + "; sleep 0.1"
	case errandStop:
		trace += "; sleep 30"
	case errandWait:
		trace += "; sleep 1"
	case errandBoot:
		return r.Call(tools.Restart, map[string]any{})
	}
	return r.Call(tools.ExecuteCmd, map[string]any{"command": trace})
}
