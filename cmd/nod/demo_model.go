package main

import (
	"embed"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/template"
	"time"

	"nod/agent/llm/scripted"
)

//go:embed demo/*.txt
var demoScripts embed.FS

// offer is one trick of the demo model: what a person may ask for, and what the model does then. Each stands in a file
// of its own and knows nothing of the others.
type offer struct {
	title string   // as it is offered
	words []string // any of them asks for it
	// parts are replies in scripted.ParseReply's form: "ask" to the person, "done" and "refused" to the result of its
	// call, "run: TITLE" to a job that falls due.
	parts map[string]*template.Template
}

// demoModel is the scripted model of `nod demo`.
type demoModel struct {
	offers []offer
	intro  offer
}

func newDemoModel() (*demoModel, error) {
	m := &demoModel{}
	names, err := fs.Glob(demoScripts, "demo/*.txt")
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		raw, err := fs.ReadFile(demoScripts, name)
		if err != nil {
			return nil, err
		}
		o, err := parseOffer(string(raw))
		if err != nil {
			return nil, fmt.Errorf("reading the demo's %s: %w", name, err)
		}
		if o.title == "" {
			m.intro = o
			continue
		}
		m.offers = append(m.offers, o)
	}
	return m, nil
}

var partForm = regexp.MustCompile(`(?m)^-- (.+) --\n`)

func parseOffer(text string) (offer, error) {
	o := offer{parts: map[string]*template.Template{}}
	marks := partForm.FindAllStringSubmatchIndex(text, -1)
	if len(marks) == 0 {
		return o, fmt.Errorf("it has no part such as -- ask --")
	}
	for line := range strings.Lines(text[:marks[0][0]]) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		switch key {
		case "offer":
			o.title = value
		case "words":
			o.words = strings.Fields(value)
		}
	}
	for i, mark := range marks {
		end := len(text)
		if i+1 < len(marks) {
			end = marks[i+1][0]
		}
		name := text[mark[2]:mark[3]]
		part, err := template.New(name).Funcs(template.FuncMap{"quote": strconv.Quote, "seq": seq}).Parse(text[mark[1]:end])
		if err != nil {
			return o, err
		}
		o.parts[name] = part
	}
	return o, nil
}

// seq is 1 to n.
func seq(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i + 1
	}
	return all
}

// facts are what a part may show.
type facts struct {
	Result string // of the call that was made
	Clock  string
	Offers string // a list in Markdown
}

// reply is what the demo model answers to a request.
func (m *demoModel) reply(r scripted.Request) scripted.Reply {
	said := r.LastUser()
	f := facts{Clock: time.Now().Format("15:04:05")}
	for _, o := range m.offers {
		f.Offers += "- " + o.title + "\n"
	}
	o := m.find(said)
	part := "ask"
	if title, ok := dueJob(said); ok {
		part = "run: " + title
	} else if results := r.Results(); len(results) > 0 {
		f.Result = results[len(results)-1]
		part = "done"
		if refused(f.Result) {
			part = "refused"
		}
	}
	return o.play(part, f)
}

// find is the offer that a text asks for, or the introduction.
func (m *demoModel) find(text string) offer {
	title, due := dueJob(text)
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return r < 'a' || r > 'z' })
	for _, o := range m.offers {
		if due && o.parts["run: "+title] != nil {
			return o
		}
		if !due && slices.ContainsFunc(o.words, func(w string) bool { return slices.Contains(words, w) }) {
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

// refused says whether a call came to nothing.
func refused(result string) bool {
	for _, head := range []string{"User rejected", "Nobody ", "Cancelled", "Interrupted", "Not ", "The "} {
		if strings.HasPrefix(result, head) {
			return !strings.HasPrefix(result, "The user answered")
		}
	}
	return false
}

func (o offer) play(part string, f facts) scripted.Reply {
	t := o.parts[part]
	if t == nil {
		return scripted.Say("That part of the demo is not there.")
	}
	var b strings.Builder
	if err := t.Execute(&b, f); err != nil {
		return scripted.Say("The demo's script is broken: " + err.Error())
	}
	reply, err := scripted.ParseReply(b.String())
	if err != nil {
		return scripted.Say("The demo's script is broken: " + err.Error())
	}
	return reply
}
