package scripted

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// ParseReply reads a reply from text, one step a line; empty lines and those that begin with # are skipped:
//
//	say Good morning.           text, to the end of the line; in Go's quotes it may hold \n
//	think I should look first.  reasoning, likewise
//	call read_file {"path":"a"} a tool call; the arguments are sent as they stand, {} if there are none
//	sleep 2s                    silence
//	cut                         the stream ends here, without a finish reason
//	abort                       the connection breaks here
//	finish length               the finish reason
//	usage 1200 1000 40          prompt, cached and answer tokens
//	raw ": ping\n\n"            a piece of the stream, in Go's quotes
//	fail 429 Retry-After=7 Slow down.   a refusal instead of an answer, with headers and a message
func ParseReply(text string) (Reply, error) {
	var r Reply
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		verb, rest, _ := strings.Cut(line, " ")
		next, err := r.parse(verb, strings.TrimSpace(rest))
		if err != nil {
			return Reply{}, fmt.Errorf("reading line %d of a reply: %w", n, err)
		}
		r = next
	}
	return r, nil
}

func (r Reply) parse(verb, rest string) (Reply, error) {
	switch verb {
	case "say", "think", "raw":
		text, err := unquote(rest)
		if err != nil {
			return r, err
		}
		return r.with(step{kind: map[string]stepKind{"say": stepText, "think": stepThink, "raw": stepRaw}[verb], text: text}), nil
	case "call":
		name, args, _ := strings.Cut(rest, " ")
		if name == "" {
			return r, fmt.Errorf("call needs a tool's name")
		}
		if args = strings.TrimSpace(args); args == "" {
			args = "{}"
		}
		return r.Call(name, args), nil
	case "sleep":
		d, err := time.ParseDuration(rest)
		if err != nil {
			return r, fmt.Errorf("sleep needs a time such as 2s: %w", err)
		}
		return r.Sleep(d), nil
	case "cut":
		return r.Cut(), nil
	case "abort":
		return r.Abort(), nil
	case "finish":
		return r.Finish(rest), nil
	case "usage":
		return r.parseUsage(rest)
	case "fail":
		return parseFail(rest)
	}
	return r, fmt.Errorf("%q is none of say, think, call, sleep, cut, abort, finish, usage, raw, fail", verb)
}

func unquote(s string) (string, error) {
	if !strings.HasPrefix(s, `"`) {
		return s, nil
	}
	u, err := strconv.Unquote(s)
	if err != nil {
		return "", fmt.Errorf("reading the quoted text %s: %w", s, err)
	}
	return u, nil
}

func (r Reply) parseUsage(s string) (Reply, error) {
	var u Usage
	if n, err := fmt.Sscan(s, &u.In, &u.Cached, &u.Out); n != 3 {
		return r, fmt.Errorf("usage needs three numbers (prompt, cached, answer): %w", err)
	}
	return r.Usage(u), nil
}

func parseFail(s string) (Reply, error) {
	code, rest, _ := strings.Cut(s, " ")
	status, err := strconv.Atoi(code)
	if err != nil || status < 300 || status > 599 {
		return Reply{}, fmt.Errorf("fail needs an HTTP status from 300 to 599, not %q", code)
	}
	header := http.Header{}
	for {
		word, after, _ := strings.Cut(strings.TrimSpace(rest), " ")
		k, v, ok := strings.Cut(word, "=")
		if !ok || strings.ToLower(k) == k {
			break
		}
		header.Set(k, v)
		rest = after
	}
	r := Fail(status, "", firstWords(rest, http.StatusText(status)))
	if json.Valid([]byte(rest)) {
		r = FailBody(status, rest)
	}
	r.fault.header = header
	return r, nil
}

func firstWords(s, otherwise string) string {
	if s = strings.TrimSpace(s); s != "" {
		return s
	}
	return otherwise
}
