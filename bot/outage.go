package bot

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"nod/agent"
	"nod/agent/llm"
	"nod/bot/trouble"
	"nod/store"
)

// outage is something that keeps the runs of jobs from being done, until it is over. A person's own turn always gets its
// answer; runs fail by the dozen at night, so of them only the first is reported, and the others when it is over.
type outage struct {
	Spell trouble.Spell  `json:"spell"`
	Runs  map[string]int `json:"runs,omitempty"` // how many failed without a word, by their jobs' titles
}

// The kinds of outages: each takes something else to end it.
const (
	outService store.Text = "service"
	outKey     store.Text = "key"
	outCredit  store.Text = "credit"
	outModel   store.Text = "model"
	outCap     store.Text = "cap"
)

// maxTitles bounds how many jobs an outage names.
const maxTitles = 20

const outagesBucket = "outages"

var outages = store.NewTable[store.Text, outage](outagesBucket, store.ParseText[store.Text])

// outageOf says which kind of outage an error is, or "".
func outageOf(err error) store.Text {
	if capped, ok := errors.AsType[*agent.CapError](err); ok && !capped.Job {
		return outCap
	}
	refused, ok := errors.AsType[*llm.Error](err)
	if !ok {
		return ""
	}
	switch refused.Kind {
	case llm.KindUnavailable, llm.KindRateLimited:
		return outService
	case llm.KindAuth:
		return outKey
	case llm.KindQuota:
		return outCredit
	case llm.KindNotFound:
		return outModel
	}
	return ""
}

// failed says why a turn has no answer.
func (v *View) failed(tx *store.Tx, e agent.TurnFailed) error {
	// A service may quote the key that it was given, in whatever form.
	text, kind := v.masked.Redact(failureText(e.Err)), outageOf(e.Err)
	if e.Turn.Job == "" || e.Partial != "" || kind == "" {
		return v.brokenOff(tx, e.Turn, e.Partial, text)
	}
	o, _, err := outages.Get(tx, kind)
	if err != nil {
		return err
	}
	if kind == outService {
		why, _ := failure(e.Err)
		text = "⚠️ " + v.masked.Redact(why) + "\n" + notDoneText
	}
	word := o.Spell.Failed(time.Now(), trouble.Patience{})
	if word == trouble.Nothing {
		o.count(e.Turn.JobTitle)
	}
	if err := outages.Put(tx, kind, o); err != nil {
		return err
	}
	switch word {
	case trouble.Begun:
		return v.ended(tx, e.Turn, text+"\n"+hushText)
	case trouble.Returned:
		return v.ended(tx, e.Turn, text+"\n"+comesAndGoesText)
	}
	return v.close(tx, e.Turn)
}

func (o *outage) count(title string) {
	if o.Runs == nil {
		o.Runs = map[string]int{}
	}
	if _, known := o.Runs[title]; !known && len(o.Runs) >= maxTitles {
		title = "others"
	}
	o.Runs[title]++
}

// answers notes that a model has answered: whatever kept runs from being done is over.
func (v *View) answers(tx *store.Tx) error {
	open := map[store.Text]outage{}
	err := outages.Scan(tx, nil, func(kind store.Text, o outage) (bool, error) {
		if !o.Spell.Since.IsZero() {
			open[kind] = o
		}
		return true, nil
	})
	if err != nil {
		return err
	}
	for _, kind := range slices.Sorted(maps.Keys(open)) {
		o := open[kind]
		word, runs := o.Spell.Fine(time.Now(), trouble.Patience{}), o.Runs
		if word == trouble.Over {
			o.Runs = nil
		}
		if err := outages.Put(tx, kind, o); err != nil {
			return err
		}
		if word != trouble.Over {
			continue
		}
		if err := v.sayHome(tx, overText(kind, runs), true); err != nil {
			return err
		}
	}
	return nil
}

// overText says that runs are done again, and which were not.
func overText(kind store.Text, runs map[string]int) string {
	text := "✓ The model answers again."
	if kind == outCap {
		text = "✓ There is room below the cap on spending again."
	}
	if len(runs) == 0 {
		return text
	}
	var list []string
	for _, title := range slices.Sorted(maps.Keys(runs)) {
		if n := runs[title]; n > 1 {
			title = fmt.Sprintf("%s (%s)", title, times(n))
		}
		list = append(list, title)
	}
	return text + " Not done meanwhile: " + strings.Join(list, ", ") + ". /jobs can run them now."
}

// sayHome tells the owner something, where reports go; before there is an owner, nobody.
func (v *View) sayHome(tx *store.Tx, text string, silent bool) error {
	at, _, err := v.access.Home(tx)
	if errors.Is(err, errNoOwner) {
		return nil
	}
	if err != nil {
		return err
	}
	return v.say(tx, at, text, silent)
}
