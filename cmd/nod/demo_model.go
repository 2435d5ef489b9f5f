package main

import (
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strconv"
	"strings"
	"time"

	"nod/agent/llm/scripted"
)

//go:embed demo/*.txt
var demoScripts embed.FS

// introScript is played where no offer fits.
const introScript = "intro.txt"

// offer is one trick of the demo model: what a person may ask for, and what the model does then. Each stands in a file
// of its own and knows nothing of the others. A file begins with a few "key: value" lines, then come its parts. What is
// in braces, such as {result}, is filled in; the lines between "repeat 50" and "end" are said that often.
type offer struct {
	title string         // how it is offered; "" when it is not
	match *regexp.Regexp // which messages ask for it; its groups are facts.Match
	done  *regexp.Regexp // which results of its calls are the wanted ones
	// parts are replies in scripted.ParseReply's form: "ask" to the person, "done" and "refused" to the result of a
	// call, "run: TITLE" to a job that falls due.
	parts map[string]string
}

// demoModel is the scripted model of `nod demo`.
type demoModel struct {
	offers []offer // in the order of their files' names
	intro  offer
}

// newDemoModel reads the scripts *.txt of a folder.
func newDemoModel(scripts fs.FS) (*demoModel, error) {
	m := &demoModel{}
	names, err := fs.Glob(scripts, "*.txt")
	if err != nil {
		return nil, fmt.Errorf("finding the demo's scripts: %w", err)
	}
	for _, name := range names {
		raw, err := fs.ReadFile(scripts, name)
		if err != nil {
			return nil, fmt.Errorf("reading the demo's scripts: %w", err)
		}
		o, err := parseOffer(string(raw))
		switch {
		case err != nil:
			return nil, fmt.Errorf("reading the demo's %s: %w", name, err)
		case path.Base(name) == introScript:
			m.intro = o
		case o.match == nil:
			return nil, fmt.Errorf("reading the demo's %s: it has no line such as match: hello", name)
		default:
			m.offers = append(m.offers, o)
		}
	}
	return m, nil
}

// titles are the offers as people see them.
func (m *demoModel) titles() (all []string) {
	for _, o := range m.offers {
		if o.title != "" {
			all = append(all, o.title)
		}
	}
	return all
}

var partForm = regexp.MustCompile(`(?m)^-- (.+) --\n`)

func parseOffer(text string) (offer, error) {
	o := offer{parts: map[string]string{}}
	marks := partForm.FindAllStringSubmatchIndex(text, -1)
	if len(marks) == 0 {
		return o, errors.New("it has no part such as -- ask --")
	}
	if err := o.parseHead(text[:marks[0][0]]); err != nil {
		return o, err
	}
	for i, mark := range marks {
		end := len(text)
		if i+1 < len(marks) {
			end = marks[i+1][0]
		}
		o.parts[text[mark[2]:mark[3]]] = text[mark[1]:end]
	}
	return o, nil
}

func (o *offer) parseHead(head string) (err error) {
	for line := range strings.Lines(head) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		switch key {
		case "offer":
			o.title = value
		case "match":
			o.match, err = regexp.Compile("(?i)" + value)
		case "done":
			o.done, err = regexp.Compile(value)
		default:
			err = fmt.Errorf("%q is none of offer, match, done", key)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// facts are what a part may show.
type facts struct {
	match  string // the last group of the offer's match in what the person wrote
	result string // of the call that was made
	answer string // the group of the offer's done in it
	clock  string
	offers string // a list in Markdown
}

// fill puts the facts in a part, as they are written within a string of Go or JSON. It is less than text/template can,
// which would make the program's binary and memory a fifth larger: the linker keeps every method for it.
func (f facts) fill(part string) (string, error) {
	part, err := repeat(part)
	if err != nil {
		return "", err
	}
	var pairs []string
	for name, value := range map[string]string{"match": f.match, "result": f.result, "answer": f.answer, "clock": f.clock, "offers": f.offers} {
		quoted, err := json.Marshal(value)
		if err != nil {
			return "", fmt.Errorf("writing %s: %w", name, err)
		}
		pairs = append(pairs, "{"+name+"}", string(quoted[1:len(quoted)-1]))
	}
	return strings.NewReplacer(pairs...).Replace(part), nil
}

// repeat writes out what stands between "repeat N" and "end", with {n} counting from 1.
func repeat(part string) (string, error) {
	before, rest, found := strings.Cut(part, "repeat ")
	if !found {
		return part, nil
	}
	count, rest, _ := strings.Cut(rest, "\n")
	block, after, closed := strings.Cut(rest, "end\n")
	times, err := strconv.Atoi(count)
	if err != nil || !closed {
		return "", errors.New("a repeat needs a number, and an end")
	}
	var b strings.Builder
	b.WriteString(before)
	for n := range times {
		b.WriteString(strings.ReplaceAll(block, "{n}", strconv.Itoa(n+1)))
	}
	b.WriteString(after)
	return b.String(), nil
}

// reply is what the demo model answers to a request.
func (m *demoModel) reply(r scripted.Request) scripted.Reply {
	f := facts{clock: time.Now().Format("15:04:05"), offers: "- " + strings.Join(m.titles(), "\n- ")}
	said := r.LastUser()
	if title, ok := dueJob(said); ok {
		return m.runs(title).play("run: "+title, f)
	}
	o, match := m.asked(said)
	f.match = match[len(match)-1]
	results := r.Results()
	if len(results) == 0 {
		return o.play("ask", f)
	}
	f.result = results[len(results)-1]
	if refusal.MatchString(f.result) {
		return o.play("refused", f)
	}
	if o.done != nil {
		if groups := o.done.FindStringSubmatch(f.result); groups != nil {
			f.answer = groups[len(groups)-1]
			return o.play("done", f)
		}
	}
	return scripted.Say("That did not work: " + f.result)
}

// refusal tells a call that was not run from one that failed.
var refusal = regexp.MustCompile(`^(User rejected|Nobody |Cancelled|Interrupted)`)

// asked is the offer that a message asks for, or the introduction. Of messages that came together the last counts: a
// model reads them as one, in paragraphs.
func (m *demoModel) asked(said string) (offer, []string) {
	last := said[strings.LastIndex(said, "\n\n")+1:]
	for _, o := range m.offers {
		if match := o.match.FindStringSubmatch(strings.TrimSpace(last)); match != nil {
			return o, match
		}
	}
	return m.intro, []string{last}
}

// runs is the offer that a job comes from.
func (m *demoModel) runs(job string) offer {
	for _, o := range m.offers {
		if o.parts["run: "+job] != "" {
			return o
		}
	}
	return m.intro
}

// dueJob is the title of the job that a run's first message names.
func dueJob(text string) (string, bool) {
	_, rest, ok := strings.Cut(text, "[A scheduled job is due: ")
	title, _, _ := strings.Cut(rest, ". Nobody is watching")
	return title, ok
}

func (o offer) play(part string, f facts) scripted.Reply {
	text, err := f.fill(o.parts[part])
	if err != nil {
		return scripted.Say("The demo's script is broken: " + err.Error())
	}
	if text == "" {
		return scripted.Say("The demo's script has nothing to say here.")
	}
	reply, err := scripted.ParseReply(text)
	if err != nil {
		return scripted.Say("The demo's script is broken: " + err.Error())
	}
	return reply
}
