package plugins_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"nod/approvals"
	"nod/store"
	"nod/tools"
	"nod/tools/plugins"
	"nod/tools/secrets"
	"nod/tools/tooltest"
)

// rig is a book with its tool, in a session that has activated the config group.
func rig(t *testing.T, file plugins.File) (*tooltest.Rig, *plugins.Book, *secrets.Vault) {
	t.Helper()
	return rigWith(t, file, false)
}

// rigWith is rig where spending may be capped.
func rigWith(t *testing.T, file plugins.File, capped bool) (*tooltest.Rig, *plugins.Book, *secrets.Vault) {
	t.Helper()
	db := store.OpenTest(t)
	vault, err := secrets.OpenVault(db, make([]byte, 32), &secrets.Redactor{})
	if err != nil {
		t.Fatal(err)
	}
	book, err := plugins.Open(db, vault, file, capped)
	if err != nil {
		t.Fatal(err)
	}
	r := tooltest.NewOn(t, db, func(*tools.Workspace) []tools.Tool { return book.Tools() })
	r.Groups, r.OnCard = []string{tools.ConfigGroup}, tooltest.Approve
	return r, book, vault
}

func configure(r *tooltest.Rig, args string) tools.Outcome {
	return r.Call(tools.ConfigurePlugin, args)
}

func TestConfigure_MergesChecksAndCountsAtOnce(t *testing.T) {
	r, book, _ := rig(t, plugins.File{})
	if _, on := book.Speech(); on {
		t.Error("speech is on without settings")
	}
	if out := configure(r, `{"id":"speech","config":{"tts_model":"tts-1","voice":"nova"}}`); out.State != tools.Completed {
		t.Fatal(out.Text)
	}
	if s, on := book.Speech(); !on || s.TTSModel != "tts-1" || s.Voice != "nova" {
		t.Errorf("speech is %+v, on: %t", s, on)
	}
	configure(r, `{"id":"speech","config":{"voice":null,"stt_model":"whisper-1"},"enabled":false}`)
	if s, on := book.Speech(); on || s != (plugins.Speech{}) {
		t.Errorf("speech is on: %+v", s)
	}
	configure(r, `{"id":"speech","config":{},"enabled":true}`)
	if s, on := book.Speech(); !on || s != (plugins.Speech{TTSModel: "tts-1", STTModel: "whisper-1"}) {
		t.Errorf("speech is %+v, on: %t", s, on)
	}
	again, err := plugins.Open(r.DB, nil, plugins.File{}, false)
	if err != nil {
		t.Fatal(err)
	}
	if s, on := again.Speech(); !on || s.STTModel != "whisper-1" {
		t.Errorf("after a restart speech is %+v, on: %t", s, on)
	}
}

func TestConfigure_RefusesWhatCantWork(t *testing.T) {
	r, _, _ := rig(t, plugins.File{})
	for args, want := range map[string]string{
		`{"id":"weather","config":{}}`:                                            "value must be one of",
		`{"id":"speech","config":{}}`:                                             "at least one of",
		`{"id":"speech","config":{"tts_model":"a","tts_command":"b {in} {out}"}}`: "exclude each other",
		`{"id":"speech","config":{"stt_command":"b"}}`:                            "must name {in}",
		`{"id":"speech","config":{"stt_model":5}}`:                                "want string",
		`{"id":"speech","config":{"stt_model":"a","base_url":"ftp://x"}}`:         "http or https",
		`{"id":"speech","config":{"stt_model":"a","base_url":"http://u:p@x"}}`:    "without a password",
		`{"id":"images","config":{"model":"a","api_key":"sk-1234567890abcdef"}}`:  "${secret:NAME}",
		`{"id":"images","config":{"model":"a","command":"x {prompt} {out}"}}`:     "either model",
		`{"id":"images","config":{"model":"a","price":-0.01}}`:                    "price must be a sum in USD from 0 to 1000",
		`{"id":"images","config":{"model":"a","price":"dear"}}`:                   "price",
		`{"id":"speech","config":{"tts_model":"a","tts_price":1001}}`:             "tts_price must be a sum in USD",
		`{"id":"speech","config":{"tts_model":"a","stt_price":1e300}}`:            "stt_price must be a sum in USD",
		`{"id":"telegram","config":{"progress":"loud"}}`:                          "one of full, short, off",
		`{"id":"telegram","config":{"theme":"dark"}}`:                             "not allowed",
	} {
		if out := configure(r, args); out.State != tools.Failed || !strings.Contains(out.Text, want) {
			t.Errorf("%s: %s, %q; want %q", args, out.State, out.Text, want)
		}
	}
	if len(r.Cards()) > 0 {
		t.Error("a card was shown for what can't work")
	}
}

func TestConfigure_AKeyThatIsGivenAsItIsIsHidden(t *testing.T) {
	var redactor secrets.Redactor
	db := store.OpenTest(t)
	vault, err := secrets.OpenVault(db, make([]byte, 32), &redactor)
	if err != nil {
		t.Fatal(err)
	}
	book, err := plugins.Open(db, vault, plugins.File{}, false)
	if err != nil {
		t.Fatal(err)
	}
	r := tooltest.NewOn(t, db, func(*tools.Workspace) []tools.Tool { return book.Tools() })
	r.Groups = []string{tools.ConfigGroup}
	configure(r, `{"id":"images","config":{"model":"a","api_key":"sk-1234567890abcdef"}}`)
	if got := redactor.Redact("key sk-1234567890abcdef"); strings.Contains(got, "1234567890") {
		t.Errorf("the key shows: %s", got)
	}
}

func TestKey_IsTheStoredSecretOrSaysThatItIsMissing(t *testing.T) {
	r, book, vault := rig(t, plugins.File{})
	if _, err := book.Key("${secret:voice}"); err == nil || !strings.Contains(err.Error(), "voice is not stored") {
		t.Errorf("a missing secret gave %v", err)
	}
	if err := r.DB.Update(func(tx *store.Tx) error { return vault.Set(tx, "voice", "sk-42") }); err != nil {
		t.Fatal(err)
	}
	if key, err := book.Key("${secret:voice}"); key != "sk-42" || err != nil {
		t.Errorf("got %q, %v", key, err)
	}
}

func TestConfigure_TheCardSaysWhatChangesAndANewCommandAlwaysAsks(t *testing.T) {
	r, _, _ := rig(t, plugins.File{})
	configure(r, `{"id":"images","config":{"command":"draw {prompt} {out}"}}`)
	configure(r, `{"id":"images","config":{"size":"64x64"}}`)
	cards := r.Cards()
	first, second := cards[0].Request, cards[1].Request
	if !first.MustAsk || !strings.Contains(first.Subject.Warning, "outside of the sandbox") || !strings.Contains(first.Subject.Text, "command: draw {prompt} {out} (new)") {
		t.Errorf("the card of a new command is %+v", first.Subject)
	}
	if second.MustAsk || second.Subject.Warning != "" || !strings.Contains(second.Subject.Text, "command stays draw") || second.Subject.Kind != approvals.Words {
		t.Errorf("the card of another change is %+v", second.Subject)
	}
}

func TestFile_WhatStandsInNodYamlIsChangedThere(t *testing.T) {
	r, book, _ := rig(t, plugins.File{Speech: plugins.Speech{STTModel: "whisper-1", APIKey: "sk-from-the-file"}})
	if s, on := book.Speech(); !on || s.APIKey != "sk-from-the-file" {
		t.Errorf("speech is %+v, on: %t", s, on)
	}
	if out := configure(r, `{"id":"speech","config":{"stt_model":"x"}}`); !strings.Contains(out.Text, "nod.yaml") {
		t.Errorf("it was changed in the chat: %s", out.Text)
	}
	items := book.Items()
	if _, err := items.Describe("speech", false); err != nil {
		t.Fatal(err)
	}
	out, err := items.Toggle("speech", false)
	if err == nil {
		err = r.DB.Update(out.Commit)
	}
	if _, on := book.Speech(); err != nil || on {
		t.Errorf("it can't be switched off: %v", err)
	}
	var listed string
	if err := r.DB.View(func(tx *store.Tx) (err error) { listed, err = items.List(tx, r.Scope); return err }); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(listed, "sk-from") || !strings.Contains(listed, "off, set up in nod.yaml") {
		t.Errorf("listed: %s", listed)
	}
	if shown := fmt.Sprintf("%v %+v %#v", plugins.File{Speech: plugins.Speech{APIKey: "sk-x-y-z"}}, plugins.Speech{APIKey: "sk-x-y-z"}, plugins.Key("sk-x-y-z")); strings.Contains(shown, "x-y-z") {
		t.Errorf("a key is printed: %s", shown)
	}
}

func TestToggle_NeedsSettings(t *testing.T) {
	_, book, _ := rig(t, plugins.File{})
	for _, id := range []string{"images", "nothing"} {
		if _, err := book.Items().Toggle(id, true); err == nil {
			t.Errorf("%s was switched on", id)
		}
	}
	if !slices.Contains([]string{"plugins"}, book.Items().Type) {
		t.Error("list_items has no plugins")
	}
}

// TestConfigure_CapsNeedPrices: where spending is capped, a model is taken with a price only; 0 is one, and a command needs none.
func TestConfigure_CapsNeedPrices(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{`{"id":"images","config":{"model":"a"}}`, "the model a has no price, so that its cost can't be capped; give it price, 0 for one that costs nothing"},
		{`{"id":"images","config":{"model":"a","price":null}}`, "give it price"},
		{`{"id":"images","config":{"model":"a","price":0}}`, ""},
		{`{"id":"images","config":{"price":null}}`, "give it price"},
		{`{"id":"images","config":{"model":null,"price":null,"command":"x {prompt} {out}"}}`, ""},
		{`{"id":"speech","config":{"stt_model":"a","tts_model":"b","stt_price":0.006}}`, "the model b has no price, so that its cost can't be capped; give it tts_price"},
		{`{"id":"speech","config":{"stt_model":"a","tts_command":"b {in} {out}"}}`, "give it stt_price"},
		{`{"id":"speech","config":{"stt_model":"a","tts_command":"b {in} {out}","stt_price":0.006}}`, ""},
		{`{"id":"telegram","config":{"rich":true}}`, ""},
	} {
		r, _, _ := rigWith(t, plugins.File{}, true)
		if strings.Contains(c.args, `"config":{"price":null}`) || strings.Contains(c.args, `"model":null`) {
			configure(r, `{"id":"images","config":{"model":"a","price":0.04}}`)
		}
		out := configure(r, c.args)
		if ok := out.State == tools.Completed; ok != (c.want == "") || !strings.Contains(out.Text, c.want) {
			t.Errorf("%s: %s, %q; want %q", c.args, out.State, out.Text, c.want)
		}
	}
}

func TestPrices_AreKeptAndMayCostNothing(t *testing.T) {
	r, book, _ := rig(t, plugins.File{})
	configure(r, `{"id":"speech","config":{"stt_model":"a","tts_command":"b {in} {out}","tts_price":0.02}}`)
	s, _ := book.Speech()
	if usd, err := s.HearingPrice(); usd != 0 || err == nil {
		t.Errorf("a model without a price costs %v, %v", usd, err)
	}
	if usd, err := s.SpeakingPrice(); usd != 0.02 || err != nil {
		t.Errorf("a command with a price costs %v, %v", usd, err)
	}
	configure(r, `{"id":"speech","config":{"stt_price":0,"tts_price":null}}`)
	s, _ = book.Speech()
	if usd, err := s.HearingPrice(); usd != 0 || err != nil || s.STTPrice == nil {
		t.Errorf("a model that costs nothing costs %v, %v", usd, err)
	}
	if usd, err := s.SpeakingPrice(); usd != 0 || err != nil {
		t.Errorf("a command costs %v, %v", usd, err)
	}
}
