package plugins

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"nod/store"
	"nod/tools"
	"nod/tools/secrets"
)

// record is a plugin as it is kept. Config is empty for one that nod.yaml sets up.
type record struct {
	Config json.RawMessage `json:"config,omitempty"`
	On     bool            `json:"on"`
}

var records = store.NewTable[store.Text, record]("plugins", store.ParseText[store.Text])

// File is what nod.yaml sets up; what is zero is left to the chat.
type File struct {
	Images   Images   `yaml:"images"`
	Speech   Speech   `yaml:"speech"`
	Telegram Telegram `yaml:"telegram"`
}

// kind is what the book knows of a plugin by itself.
type kind struct {
	about string
	// read gives the settings in canonical form. Where spending is capped it refuses those without a price.
	read func(raw json.RawMessage, capped bool) (json.RawMessage, error)
	// merely says that there is nothing to switch on: without settings the defaults count.
	merely bool
}

var kinds = map[string]kind{
	ImagesID:   {about: "makes pictures", read: readAs[Images]},
	SpeechID:   {about: "understands voice notes and sends spoken messages", read: readAs[Speech]},
	TelegramID: {about: "says how progress and answers look in the chat", read: readAs[Telegram], merely: true},
}

// unknown says that there is no such plugin, and which there are.
func unknown(id string) error {
	return fmt.Errorf("there is no plugin %q; the plugins are: %s", id, strings.Join(slices.Sorted(maps.Keys(kinds)), ", "))
}

// readAs checks settings against the schema of T and beyond.
func readAs[T interface {
	Settings
	Check(ours bool) error
	Priced() error
}](raw json.RawMessage, capped bool) (json.RawMessage, error) {
	s, err := tools.DecodeStrict[T](raw)
	if err == nil {
		err = s.Check(false)
	}
	if err == nil && capped {
		err = s.Priced()
	}
	if err != nil {
		return nil, err
	}
	return canonical(s)
}

func canonical(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // people read it
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(b.Bytes()), nil
}

// Book is the plugins and their settings.
type Book struct {
	db     *store.DB
	vault  *secrets.Vault
	fixed  map[string]json.RawMessage // by nod.yaml; these may hold keys
	capped bool                       // spending is

	mu   sync.RWMutex
	kept map[string]record
}

// Open reads what is kept. file must have been checked; capped says that there are caps on spending.
func Open(db *store.DB, vault *secrets.Vault, file File, capped bool) (*Book, error) {
	b := &Book{db: db, vault: vault, capped: capped, fixed: map[string]json.RawMessage{}, kept: map[string]record{}}
	for id, given := range map[string]any{ImagesID: file.Images, SpeechID: file.Speech, TelegramID: file.Telegram} {
		raw, err := canonical(given)
		if err != nil {
			return nil, fmt.Errorf("reading the plugin %s of nod.yaml: %w", id, err)
		}
		if string(raw) != "{}" {
			b.fixed[id] = raw
		}
	}
	err := db.View(func(tx *store.Tx) error {
		return records.Scan(tx, nil, func(id store.Text, r record) (bool, error) {
			b.kept[string(id)] = r
			return true, nil
		})
	})
	if err != nil {
		return nil, fmt.Errorf("reading the plugins: %w", err)
	}
	return b, nil
}

// state is a plugin's settings now; raw is empty where there are none.
func (b *Book) state(id string) (raw json.RawMessage, on bool) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	r, known := b.kept[id]
	if fixed, ok := b.fixed[id]; ok {
		return fixed, r.On || !known
	}
	return r.Config, r.On
}

// active is what counts of a plugin's settings; ok says that it is on.
func active[T Settings](b *Book, id string) (s T, ok bool) {
	raw, on := b.state(id)
	if !on || json.Unmarshal(raw, &s) != nil { // what is kept was written by this type
		var zero T
		return zero, false
	}
	return s, true
}

// Images are the settings for pictures; ok says that the plugin is on.
func (b *Book) Images() (s Images, ok bool) { return active[Images](b, ImagesID) }

// Speech are the settings for speech; ok says that the plugin is on.
func (b *Book) Speech() (s Speech, ok bool) { return active[Speech](b, SpeechID) }

// Telegram says how the chat looks.
func (b *Book) Telegram() Telegram {
	s, _ := active[Telegram](b, TelegramID)
	return s
}

// Setup is a plugin that is set up, on or off. Of its settings those of ID count.
type Setup struct {
	ID         string
	On, InFile bool
	File
}

// Setups are the plugins that are set up now.
func (b *Book) Setups() (all []Setup, err error) {
	for _, id := range slices.Sorted(maps.Keys(kinds)) {
		raw, on := b.state(id)
		if len(raw) == 0 {
			continue
		}
		s := Setup{ID: id, On: on}
		_, s.InFile = b.fixed[id]
		into := map[string]any{ImagesID: &s.Images, SpeechID: &s.Speech, TelegramID: &s.Telegram}[id]
		if err := json.Unmarshal(raw, into); err != nil {
			return nil, fmt.Errorf("reading the settings of %s: %w", id, err)
		}
		all = append(all, s)
	}
	return all, nil
}

// Key is the value of an api_key.
func (b *Book) Key(k Key) (string, error) {
	name, stored := secrets.Reference(string(k))
	if !stored {
		return string(k), nil
	}
	key, ok := b.vault.Value(name)
	if !ok {
		return "", fmt.Errorf("the secret %s is not stored; set_secret asks for it", name)
	}
	return key, nil
}

// change is what a call would make of a plugin.
type change struct {
	id            string
	before, after json.RawMessage
	wasOn, on     bool
}

// plan merges a patch into a plugin's settings, as RFC 7396 has it for one level, and checks what comes of it. A nil on
// leaves a plugin as it is, or switches on one that had no settings.
func (b *Book) plan(id string, patch map[string]any, on *bool) (change, error) {
	k, ok := kinds[id]
	if !ok {
		return change{}, unknown(id)
	}
	if _, fixed := b.fixed[id]; fixed {
		return change{}, fmt.Errorf("%s is set up in nod.yaml, so it is changed there; toggle_item switches it on and off", id)
	}
	// A key that was given as it is appears in no record from here on, though it is refused.
	if key, ok := patch["api_key"].(string); ok {
		if _, stored := secrets.Reference(key); !stored {
			b.vault.Hide(key)
		}
	}
	c := change{id: id}
	c.before, c.wasOn = b.state(id)
	merged := map[string]any{}
	if len(c.before) > 0 {
		if err := json.Unmarshal(c.before, &merged); err != nil {
			return change{}, fmt.Errorf("reading the settings of %s: %w", id, err)
		}
	}
	for key, value := range patch {
		if merged[key] = value; value == nil {
			delete(merged, key)
		}
	}
	raw, err := json.Marshal(merged)
	if err == nil {
		c.after, err = k.read(raw, b.capped)
	}
	if err != nil {
		return change{}, fmt.Errorf("these settings of %s can't be used: %w", id, err)
	}
	c.on = c.wasOn || len(c.before) == 0
	if on != nil {
		c.on = *on
	}
	return c, nil
}

// put keeps a change, in the caller's commit.
func (b *Book) put(tx *store.Tx, id string, r record) error {
	tx.OnCommit(func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.kept[id] = r
	})
	return records.Put(tx, store.Text(id), r)
}

// toggled is a plugin's record once it is switched.
func (b *Book) toggled(id string, on bool) (record, error) {
	if _, ok := kinds[id]; !ok {
		return record{}, unknown(id)
	}
	raw, _ := b.state(id)
	if len(raw) == 0 {
		return record{}, errors.New(id + " is not set up yet; configure_plugin does that")
	}
	b.mu.RLock()
	defer b.mu.RUnlock()
	return record{Config: b.kept[id].Config, On: on}, nil
}
