package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode"

	bolt "go.etcd.io/bbolt"

	"nod/agent/llm/scripted"
	"nod/bot/emulator"
	"nod/bot/render"
	"nod/store"
	"nod/tools"
)

// trustApprovals presses what must have no effect, and shows commands that want to be read as others.
func trustApprovals(t *testing.T, table *trustTable) {
	var got forgeries
	synctest.Test(t, func(t *testing.T) { got = forge(t, trustSize(8, 28, 120)) })
	tried, misread, naive := fuzzPreviews(t, trustSize(2_000, 10_000, 200_000))
	var kinds []string
	for _, kind := range got.kinds {
		kinds = append(kinds, fmt.Sprintf("%d %s", got.tried[kind], kind))
	}
	table.add(t, trustRow{
		"6. calls run by a press that must not count", fmt.Sprintf("%d of %s (%s)", got.ran, count(got.attempts), join(kinds)), "0 of ≥ 500",
		fmt.Sprintf("a gate that asks only whether the chat is known: %s of %s", count(got.naive), count(got.attempts)),
	}, got.ran == 0 && (got.attempts >= 500 || testing.Short()), got.naive > 0)
	table.add(t, trustRow{
		"   commands that a card shows as another", fmt.Sprintf("%d of %s", misread, count(tried)), "0 of ≥ 100,000",
		fmt.Sprintf("escaped HTML cut at 800 characters: %s", count(naive)),
	}, misread == 0, naive > 0)
}

func join(list []string) string { return strings.Join(list, ", ") }

// forgeries counts presses that must have no effect.
type forgeries struct {
	attempts, ran int
	naive         int // that a naive gate would have honoured
	kinds         []string
	tried         map[string]int
}

// forger presses the buttons of one nod's cards.
type forger struct {
	forgeries
	t     *testing.T
	w     *world
	eve   *emulator.Person // knows everything, and is nobody to the bot
	group *emulator.Group  // of both
	coin  *rand.Rand
}

// forge has so many calls asked for. Each is attacked while its card waits, and once more after it was decided.
func forge(t *testing.T, rounds int) forgeries {
	w := newWorld(t)
	w.service = scripted.New(func(r scripted.Request) scripted.Reply {
		if name := askedFile(r.LastUser()); name != "" && len(r.Results()) == 0 {
			return scripted.Call(tools.WriteFile, map[string]any{"path": name, "content": forgedContent})
		}
		return scripted.Say("Done.")
	})
	eve := emulator.User{ID: 666, FirstName: "Eve"}
	f := &forger{t: t, w: w, eve: w.telegram.Private(eve), coin: rand.New(rand.NewPCG(*crashSeed, 6))}
	f.tried = map[string]int{}
	f.group = w.telegram.NewGroup(emulator.GroupOptions{Title: "Both"}, ann, eve)
	w.start()
	for n := range rounds {
		f.round(n)
	}
	w.end()
	return f.forgeries
}

// forgedContent is what calls ask to write.
const forgedContent = "asked for"

var fileForm = regexp.MustCompile(`call-\d+\.txt`)

func askedFile(text string) string { return fileForm.FindString(text) }

// round asks for one call, attacks it, and ends it in one of four ways.
func (f *forger) round(n int) {
	name := fmt.Sprintf("call-%d.txt", n)
	f.w.ann.SendText("write " + name)
	card := f.card(name)
	approve := twin(card, approveButton)
	f.attack(card, approve)
	f.expectNone(name, "while the card waited")
	switch n % 4 {
	case 0: // approved, done, and pressed again and again
		f.press("honest", card, approve)
		if f.w.read(name) != forgedContent {
			f.t.Fatalf("%s was approved and not written:\n%s", name, f.w.ann.Transcript())
		}
		f.remove(name)
		for range 4 {
			f.press("replayed", card, approve)
		}
		f.w.end()
		f.w.start()
		f.press("replayed after a restart", card, approve)
	case 1:
		time.Sleep(25 * time.Hour)
		f.press("expired", card, approve)
		f.press("expired", card, approve)
	case 2:
		f.w.end()
		f.mutate()
		f.w.start()
		f.press("of a call changed since", card, approve)
	case 3:
		f.press("rejecting", card, twin(card, "❌ Reject"))
		f.press("after a rejection", card, approve)
	}
	f.expectNone(name, "after the card was decided")
	f.w.ann.SendText("/stop")
	f.settle()
}

// card waits for the card that asks about a file.
func (f *forger) card(name string) emulator.Message {
	f.t.Helper()
	ctx, cancel := f.w.within()
	defer cancel()
	m, err := f.w.ann.WaitMessage(ctx, func(m emulator.Message) bool {
		return strings.Contains(m.Shown(), name) && m.Keyboard != nil && twin(m, approveButton) != ""
	})
	if err != nil {
		f.t.Fatalf("waiting for the card of %s: %v\n%s", name, err, f.w.ann.Transcript())
	}
	return m
}

func (f *forger) settle() {
	time.Sleep(3 * time.Second)
	synctest.Wait()
}

// press is Ann's own press of data, in her own chat. Of these only the kinds "honest" and "rejecting" may do anything.
func (f *forger) press(kind string, card emulator.Message, data string) {
	f.w.ann.PressData(card.ID, data)
	f.settle()
	if kind != "honest" && kind != "rejecting" {
		f.count(kind, true)
	}
}

// count counts an attempt. The naive gate honours a press of any approving button that comes from a chat it knows.
func (f *forger) count(kind string, knownChat bool) {
	f.attempts++
	if knownChat {
		f.naive++
	}
	if f.tried[kind]++; f.tried[kind] == 1 {
		f.kinds = append(f.kinds, kind)
	}
}

// attack presses a waiting card's button in every way that must not count.
func (f *forger) attack(card emulator.Message, approve string) {
	private, group := f.w.ann.ChatID(), f.group.ID()
	f.eve.PressData(card.ID, approve)
	f.count("by another person", false)
	f.group.Person(emulator.User{ID: 666, FirstName: "Eve"}).PressData(card.ID, approve)
	f.count("by another person", true)
	f.group.Person(ann).PressData(card.ID, approve)
	f.count("from another chat", true)
	query := func(kind string, from int64, where string, data string) {
		update := fmt.Sprintf(`{"callback_query":{"id":"%d","chat_instance":"1","data":%q%s%s}}`, 9_000_000_000+f.attempts, data, sender(from), where)
		f.w.telegram.InjectUpdate(json.RawMessage(update))
		f.count(kind, where != "" && !strings.Contains(where, "inline"))
	}
	in := func(chat int64) string {
		return fmt.Sprintf(`,"message":{"message_id":%d,"date":1,"chat":{"id":%d,"type":"private"},"text":"x"}`, card.ID, chat)
	}
	query("by another person", 666, in(private), approve)
	query("without a sender", 0, in(private), approve)
	query("without a sender", -1, in(private), approve)
	query("of an inline message", ann.ID, `,"inline_message_id":"AAAA"`, approve)
	query("from another chat", ann.ID, in(group), approve)
	nonce := strings.TrimPrefix(approve, "1a.")
	for _, forged := range []string{
		"1a." + string(store.NewApprovalID()), "1a." + nonce[:len(nonce)-1] + "0", "1a." + strings.ToUpper(nonce), "1a." + nonce + ".0",
		"2a." + nonce, "1g." + nonce, "1q." + nonce + ".0", "approve:" + nonce, "1a.", "",
	} {
		if forged != approve {
			query("forged", ann.ID, in(private), forged)
		}
	}
	f.settle()
}

// sender is the field "from" of a query; 0 leaves it out, and -1 is an anonymous administrator's.
func sender(id int64) string {
	switch id {
	case 0:
		return ""
	case -1:
		return `,"from":{"id":1087968824,"is_bot":true,"first_name":"Group","username":"GroupAnonymousBot"}`
	}
	return fmt.Sprintf(`,"from":{"id":%d,"is_bot":false,"first_name":"X"}`, id)
}

// expectNone counts a file that is there although no press for it counted.
func (f *forger) expectNone(name, when string) {
	f.t.Helper()
	if text := f.w.read(name); text != "(no such file)\n" {
		f.ran++
		f.t.Errorf("%s was written %s: %q", name, when, text)
		f.remove(name)
	}
}

func (f *forger) remove(name string) {
	f.t.Helper()
	if err := os.Remove(filepath.Join(f.w.workspace, name)); err != nil {
		f.t.Fatal(err)
	}
}

// mutate changes the call that waits wherever it is stored but on the card, while nod is down.
func (f *forger) mutate() {
	f.t.Helper()
	b, err := bolt.Open(filepath.Join(f.w.home, databaseName), 0o600, nil)
	if err != nil {
		f.t.Fatal(err)
	}
	changed := 0
	err = b.Update(func(tx *bolt.Tx) error {
		for _, name := range []string{"executions", "transcripts", "turns"} {
			bucket := tx.Bucket([]byte(name))
			for key, raw := range rowsWith(bucket, forgedContent) {
				changed++
				if err := bucket.Put([]byte(key), bytes.ReplaceAll(raw, []byte(forgedContent), []byte("slipped in"))); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err := errors.Join(err, b.Close()); err != nil || changed == 0 {
		f.t.Fatalf("changing the stored call: %d rows changed, %v", changed, err)
	}
}

// rowsWith copies the rows of a bucket that hold a text.
func rowsWith(bucket *bolt.Bucket, text string) map[string][]byte {
	rows := map[string][]byte{}
	for c, key, raw := cursorOf(bucket); key != nil; key, raw = c.Next() {
		if bytes.Contains(raw, []byte(text)) {
			rows[string(key)] = bytes.Clone(raw)
		}
	}
	return rows
}

func cursorOf(bucket *bolt.Bucket) (c *bolt.Cursor, key, raw []byte) {
	c = bucket.Cursor()
	key, raw = c.First()
	return c, key, raw
}

// previewRunes are what commands are made of that want to be read as others.
var previewRunes = []rune("ab /;&|<>\"'`$\\\n\t\r\x00\x1b\x7f\u00a0\u00ad\u034f\u061c\u115f\u17b4\u180e\u200b\u200d\u200e\u202a\u202e\u2028\u2060\u2066\u2800\u3000\u3164\ufe0f\ufeff\uffa0\ufff9\ufffc\ufffd⟪⟫⇥∙×\U0001d173\U000e0001\U000e0100\U0010ffff")

// fuzzPreviews makes cards of random commands and reads them back as a person's app shows them.
func fuzzPreviews(t *testing.T, n int) (tried, misread, naive int) {
	coin := rand.New(rand.NewPCG(*crashSeed, 61))
	for range n {
		command := randomCommand(coin)
		if back, err := readCard(command); err != nil || back != command {
			if misread++; misread < 5 {
				t.Errorf("%q is read as %q, %v", command, back, err)
			}
		}
		if naivePreview(command) != command {
			naive++
		}
	}
	return n, misread, naive
}

func randomCommand(coin *rand.Rand) string {
	length := coin.IntN(60)
	if coin.IntN(50) == 0 {
		length = coin.IntN(9000)
	}
	var b strings.Builder
	for b.Len() < length {
		switch r := previewRunes[coin.IntN(len(previewRunes))]; coin.IntN(8) {
		case 0:
			b.WriteString(strings.Repeat(string(r), 1+coin.IntN(20)))
		case 1:
			b.WriteByte(byte(coin.IntN(256)))
		case 2:
			b.WriteRune(rune(coin.IntN(unicode.MaxRune + 1)))
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// readCard is a command after its way over a card: made visible, cut into pages, written as HTML, rendered and read.
func readCard(command string) (string, error) {
	shown, _ := render.Visible(command)
	var read strings.Builder
	for _, page := range render.Pages(shown, 900) {
		read.WriteString(html.UnescapeString(tagForm.ReplaceAllString(render.Pre(page, "sh"), "")))
	}
	if slices.ContainsFunc([]rune(read.String()), unseen) {
		return read.String(), fmt.Errorf("something on the card can't be seen")
	}
	return render.Original(read.String())
}

var tagForm = regexp.MustCompile(`<[^<>]*>`)

// unseen says whether a character takes no place on a screen, or changes what others mean.
func unseen(r rune) bool {
	return r != '\n' && (unicode.In(r, unicode.Cf, unicode.Cc, unicode.Co, unicode.Zl, unicode.Zp, unicode.Mn, unicode.Me) || unicode.Is(unicode.Zs, r) && r != ' ')
}

// naivePreview is what many bots show: the beginning, escaped, of which a person sees what can be seen.
func naivePreview(command string) string {
	text := []rune(command)
	text = text[:min(len(text), 800)]
	return strings.Map(func(r rune) rune {
		if unseen(r) {
			return -1
		}
		return r
	}, html.UnescapeString(html.EscapeString(string(text))))
}
