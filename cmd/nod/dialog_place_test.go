package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"nod/approvals"
	"nod/bot/emulator"
	"nod/store"
	"nod/tools"
)

// configured reads the lines of a dialog's config.
func (d *dialog) configured(text string) func(*Config) {
	type setting struct {
		key   string
		words []string
	}
	var all []setting
	for line := range strings.Lines(text) {
		if words := strings.Fields(line); len(words) > 0 {
			all = append(all, setting{words[0], words[1:]})
		}
	}
	return func(cfg *Config) {
		for _, s := range all {
			if err := d.configure(cfg, s.key, s.words); err != nil {
				d.t.Fatalf("config: %s: %v", s.key, err)
			}
		}
	}
}

func (d *dialog) configure(cfg *Config, key string, words []string) (err error) {
	switch key {
	case "owners":
		cfg.Owners = nil
		for _, name := range words {
			if name != "none" {
				cfg.Owners = append(cfg.Owners, store.UserID(d.known(name).ID))
			}
		}
	case "models":
		first := cfg.Models[0]
		cfg.Models = nil
		for _, name := range words {
			first.Name = name
			cfg.Models = append(cfg.Models, first)
		}
	case "window":
		cfg.Models[0].ContextWindow, err = strconv.Atoi(words[0])
	case "spending": // a day's cap and a run's, in USD
		_, err = fmt.Sscan(strings.Join(words, " "), &cfg.Spending.Daily, &cfg.Spending.Job)
	case "profile":
		cfg.Profile = tools.Profile(words[0])
	case "plugin": // with its settings in JSON
		err = setPlugin(cfg, words[0], strings.Join(words[1:], " "))
	case "mcp": // a server of the configuration: helper over HTTP without a network, or on pipes
		cfg.Servers = append(cfg.Servers, helperOn(words[0]))
	case "rule": // of nod.yaml, in JSON
		var rule approvals.Rule
		err = json.Unmarshal([]byte(strings.Join(words, " ")), &rule)
		cfg.Rules = append(cfg.Rules, rule)
	case "zone":
		cfg.Zone, err = time.LoadLocation(words[0])
	default:
		err = errors.New("there is no such setting")
	}
	return err
}

// known is the user of that name.
func (d *dialog) known(name string) emulator.User {
	u, ok := d.people[name]
	if !ok {
		u = emulator.User{ID: int64(200 + len(d.people)), FirstName: strings.ToUpper(name[:1]) + name[1:]}
		d.people[name] = u
	}
	return u
}

// at is a person in the place where the dialog takes place.
func (d *dialog) at(name string) *emulator.Person {
	u := d.known(name)
	if d.where == "" {
		p := d.telegram.Private(u)
		if name != "user" {
			d.places["transcript "+name] = p
		}
		return p
	}
	title, _, _ := strings.Cut(d.where, "/")
	p := d.groups[title].Person(u).In(d.topics[d.where])
	d.places["transcript in "+d.where] = p
	return p
}

// actor is whoever acts now.
func (d *dialog) actor() *emulator.Person { return d.at(d.who) }

// move makes the dialog go on elsewhere.
func (d *dialog) move(place string) {
	place, kind, _ := strings.Cut(place, " ")
	title, topic, _ := strings.Cut(place, "/")
	if title == "private" {
		d.where = ""
		return
	}
	if d.groups[title] == nil {
		o := emulator.GroupOptions{Title: strings.ToUpper(title[:1]) + title[1:], Basic: kind == "basic", Forum: topic != "" || kind == "forum"}
		d.groups[title] = d.telegram.NewGroup(o, ann)
	}
	if topic != "" && d.topics[place] == 0 {
		d.topics[place] = d.groups[title].NewTopic(ann, topic)
	}
	d.where = place
}

func (d *dialog) writeHome(name string, data []byte) {
	path := filepath.Join(d.home, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		d.t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		d.t.Fatal(err)
	}
}
