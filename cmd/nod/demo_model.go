package main

import (
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"
	"text/template"
	"time"

	"nod/agent/llm/scripted"
)

//go:embed demo/*.txt
var demoScripts embed.FS

// introScript is played where no offer fits.
const introScript = "intro.txt"

// offer is one trick of the demo model: what a person may ask for, and what the model does then. Each stands in a file
// of its own and knows nothing of the others. A file begins with a few "key: value" lines, then come its parts.
type offer struct {
	title string         // how it is offered; "" when it is not
	match *regexp.Regexp // which messages ask for it; its groups are facts.Match
	done  *regexp.Regexp // which results of its calls are the wanted ones
	// parts are replies in scripted.ParseReply's form: "ask" to the person, "done" and "refused" to the result of a
	// call, "run: TITLE" to a job that falls due.
	parts map[string]*template.Template
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
	o := offer{parts: map[string]*template.Template{}}
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
		name := text[mark[2]:mark[3]]
		part, err := template.New(name).Funcs(template.FuncMap{"quote": quote, "seq": seq}).Parse(text[mark[1]:end])
		if err != nil {
			return o, err
		}
		o.parts[name] = part
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

// quote writes its arguments, joined, as one string that Go and JSON both read.
func quote(args ...any) (string, error) {
	raw, err := json.Marshal(fmt.Sprint(args...))
	return string(raw), err
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
	Match  []string // what the person wrote, and the groups of the offer's match in it
	Result string   // of the call that was made
	Answer string   // the group of the offer's done in it
	Clock  string
	Offers string // a list in Markdown
}

// reply is what the demo model answers to a request.
func (m *demoModel) reply(r scripted.Request) scripted.Reply {
	f := facts{Clock: time.Now().Format("15:04:05"), Offers: "- " + strings.Join(m.titles(), "\n- ")}
	said := r.LastUser()
	if title, ok := dueJob(said); ok {
		return m.runs(title).play("run: "+title, f)
	}
	o, match := m.asked(said)
	f.Match = match
	results := r.Results()
	if len(results) == 0 {
		return o.play("ask", f)
	}
	f.Result = results[len(results)-1]
	if refusal.MatchString(f.Result) {
		return o.play("refused", f)
	}
	if o.done != nil {
		if groups := o.done.FindStringSubmatch(f.Result); groups != nil {
			f.Answer = groups[len(groups)-1]
			return o.play("done", f)
		}
	}
	return scripted.Say("That did not work: " + f.Result)
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
		if o.parts["run: "+job] != nil {
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
	t := o.parts[part]
	if t == nil {
		return scripted.Say("The demo's script has nothing to say here.")
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
