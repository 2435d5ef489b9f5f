package plugins

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"nod/approvals"
	"nod/store"
	"nod/tools"
	"nod/tools/jobs"
)

type configureIn struct {
	ID      string         `json:"id" jsonschema:"the plugin"`
	Config  map[string]any `json:"config" jsonschema:"the settings to change; null takes one away, and what is left out stays"`
	Enabled *bool          `json:"enabled,omitempty" jsonschema:"switch it on or off as well (default: on when it is set up for the first time)"`
}

// Refine lists the plugins.
func (configureIn) Refine(p map[string]*jsonschema.Schema) {
	p["id"].Enum = []any{ImagesID, SpeechID, TelegramID}
}

// Tools are the tools of this package.
func (b *Book) Tools() []tools.Tool { return []tools.Tool{b.configure()} }

func (b *Book) configure() tools.Tool {
	return tools.New(tools.Spec[configureIn]{
		Name: tools.ConfigurePlugin,
		Description: "Changes the settings of an optional part of nod, at once.\nimages: " + described[Images]() + "\nspeech: " + described[Speech]() +
			"\ntelegram: " + described[Telegram]() + "\nCommands are run without a shell.",
		Traits: tools.Traits{Category: tools.Config, Effect: tools.Write, Group: tools.ConfigGroup, NoBypass: true},
		Check: func(in *configureIn) error {
			_, err := b.plan(in.ID, in.Config, in.Enabled)
			return err
		},
		Label: func(in configureIn, full bool) string {
			if !full {
				return in.ID
			}
			return in.ID + ": " + strings.Join(slices.Sorted(maps.Keys(in.Config)), ", ")
		},
		Judge: func(_ context.Context, _ tools.Scope, in configureIn) (tools.Judged, error) {
			c, err := b.plan(in.ID, in.Config, in.Enabled)
			if err != nil {
				return tools.Judged{}, err
			}
			return tools.Judged{Subject: c.subject(), MustAsk: c.runs()}, nil
		},
		Run: func(_ context.Context, _ tools.Call, in configureIn) (tools.Output, error) {
			c, err := b.plan(in.ID, in.Config, in.Enabled)
			if err != nil {
				return tools.Output{}, err
			}
			return tools.Output{
				Text:   fmt.Sprintf("The plugin %s is now %s, with %s. What it offers comes or goes from the next step on.", c.id, onOff(c.on), c.after),
				Commit: func(tx *store.Tx) error { return b.put(tx, c.id, record{Config: c.after, On: c.on}) },
			}, nil
		},
	})
}

// described lists the settings of a plugin for the model.
func described[T Settings]() string {
	schema, err := jsonschema.For[T](nil)
	if err != nil {
		panic(fmt.Sprintf("describing a plugin: %v", err)) // a fault of the type, which each start would show
	}
	var all []string
	for _, name := range schema.PropertyOrder {
		all = append(all, name+" ("+schema.Properties[name].Description+")")
	}
	return strings.Join(all, "; ")
}

// settings are the texts of a configuration by name.
func settings(raw json.RawMessage) map[string]string {
	var values map[string]any
	if len(raw) == 0 || json.Unmarshal(raw, &values) != nil { // what is kept was checked
		return nil
	}
	texts := make(map[string]string, len(values))
	for name, value := range values {
		texts[name] = fmt.Sprint(value)
	}
	return texts
}

// lines say in words what a change changes.
func (c change) lines() (lines []string) {
	before, after := settings(c.before), settings(c.after)
	names := maps.Clone(before)
	if names == nil {
		names = map[string]string{}
	}
	maps.Copy(names, after)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		was, had := before[name]
		is, has := after[name]
		switch {
		case had && has && was == is:
			lines = append(lines, fmt.Sprintf("%s stays %s", name, is))
		case had && has:
			lines = append(lines, fmt.Sprintf("%s: %s → %s", name, was, is))
		case has:
			lines = append(lines, fmt.Sprintf("%s: %s (new)", name, is))
		default:
			lines = append(lines, fmt.Sprintf("%s: %s is taken away", name, was))
		}
	}
	return lines
}

// commands are the settings that name a program to run.
var commands = []string{"command", "stt_command", "tts_command"}

// runs says whether a change brings a command that was not there before.
func (c change) runs() bool {
	before, after := settings(c.before), settings(c.after)
	return slices.ContainsFunc(commands, func(name string) bool { return after[name] != "" && after[name] != before[name] })
}

func (c change) subject() approvals.Subject {
	s := approvals.Subject{Kind: approvals.Words}
	lines := append([]string{"The plugin " + c.id + ", which " + kinds[c.id].about}, c.lines()...)
	if c.on != c.wasOn {
		lines = append(lines, "It is switched "+onOff(c.on))
	} else {
		lines = append(lines, "It stays "+onOff(c.on))
	}
	s.Text = strings.Join(lines, "\n")
	if c.runs() {
		s.Warning = "⚠️ Its command runs outside of the sandbox, without asking again."
	}
	return s
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

// Items are the plugins for list_items and toggle_item.
func (b *Book) Items() jobs.Items {
	return jobs.Items{
		Type: "plugins", Kind: "plugin", What: "optional parts of nod, which configure_plugin sets up",
		List: func(*store.Tx, tools.Scope) (string, error) { return b.listed(), nil },
		Describe: func(id string, on bool) (string, error) {
			_, err := b.toggled(id, on)
			return fmt.Sprintf("Switch the plugin %s %s\nIt %s", id, onOff(on), kinds[id].about), err
		},
		Toggle: func(id string, on bool) (tools.Output, error) {
			r, err := b.toggled(id, on)
			return tools.Output{
				Text:   fmt.Sprintf("Switched the plugin %s %s.", id, onOff(on)),
				Commit: func(tx *store.Tx) error { return b.put(tx, id, r) },
			}, err
		},
	}
}

// listed is what list_items tells. Keys show as references, and not at all where they stand in nod.yaml.
func (b *Book) listed() string {
	var lines []string
	for _, id := range slices.Sorted(maps.Keys(kinds)) {
		raw, on := b.state(id)
		line := fmt.Sprintf("%s: %s; ", id, kinds[id].about)
		_, fixed := b.fixed[id]
		switch {
		case fixed:
			line += onOff(on) + ", set up in nod.yaml"
		case len(raw) == 0 && kinds[id].merely:
			line += "as it is by default"
		case len(raw) == 0:
			line += "not set up"
		default:
			line += fmt.Sprintf("%s, %s", onOff(on), raw)
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}
