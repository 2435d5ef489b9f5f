package llm

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// legal names the first rule of Sanitize that h breaks; "" if none.
func legal(h []Message) string {
	ids := map[string]bool{}
	var waiting []string
	for i, m := range h {
		switch {
		case m.Role == RoleSystem && i > 0:
			return "a system message that is not the first"
		case m.Role != RoleTool && len(waiting) > 0:
			return "calls without results: " + strings.Join(waiting, " ")
		case m.Role != RoleUser && len(m.Images) > 0:
			return "images with role " + string(m.Role)
		case strings.TrimSpace(m.Text) == "" && len(m.Calls) == 0 && len(m.Images) == 0:
			return "an empty message"
		case !utf8.ValidString(m.Text) || strings.ContainsRune(m.Text, 0):
			return "text that is not clean"
		}
		switch m.Role {
		case RoleSystem:
		case RoleTool:
			if len(waiting) == 0 || waiting[0] != m.CallID {
				return "an orphan result " + m.CallID
			}
			waiting = waiting[1:]
		case RoleUser, RoleAssistant:
			first := i == 0 || h[i-1].Role == RoleSystem
			if first && m.Role == RoleAssistant || i > 0 && h[i-1].Role == m.Role {
				return fmt.Sprintf("message %d is again the %s's", i, m.Role)
			}
		default:
			return "role " + string(m.Role)
		}
		for _, c := range m.Calls {
			if m.Role != RoleAssistant || c.ID == "" || ids[c.ID] || !ValidToolName(c.Name) || !isObject(c.Args) {
				return fmt.Sprintf("call %+v", c)
			}
			ids[c.ID] = true
			waiting = append(waiting, c.ID)
		}
	}
	if len(waiting) > 0 || len(h) == 0 || h[len(h)-1].Role == RoleAssistant || h[len(h)-1].Role == RoleSystem {
		return "it does not end with a user's message or a result"
	}
	return ""
}

func say(r Role, text string) Message { return Message{Role: r, Text: text} }

func TestSanitize(t *testing.T) {
	call := func(id string) Call { return Call{ID: id, Name: "f", Args: `{"a":1}`} }
	with := func(text string, calls ...Call) Message {
		return Message{Role: RoleAssistant, Text: text, Calls: calls}
	}
	res := func(id, text string) Message { return Message{Role: RoleTool, CallID: id, Text: text} }
	hi, ok := say(RoleUser, "hi"), say(RoleAssistant, "ok")
	img := []Image{{MIME: "image/png", Data: []byte{1}}}
	tests := []struct {
		name    string
		in, out []Message
	}{
		{"legal", []Message{say(RoleSystem, "s"), hi, with("", call("1"), call("2")), res("1", "A"), res("2", "B"), ok, hi}, nil},
		{"nothing", []Message{}, []Message{say(RoleUser, goOn)}},
		{"system only", []Message{say(RoleSystem, "s")}, []Message{say(RoleSystem, "s"), say(RoleUser, goOn)}},
		{"MODEL-1 stopped before the results", []Message{hi, with("", call("1"), call("2"))}, []Message{hi, with("", call("1"), call("2")), res("1", noResult), res("2", noResult)}},
		{"MODEL-1 stopped between the results", []Message{hi, with("", call("1"), call("2")), res("2", "B"), hi}, []Message{hi, with("", call("1"), call("2")), res("1", noResult), res("2", "B"), hi}},
		{"results out of order, with a message among them", []Message{hi, with("", call("1"), call("2")), res("2", "B"), hi, res("1", "A")}, []Message{hi, with("", call("1"), call("2")), res("1", "A"), res("2", "B"), hi}},
		{"MODEL-1 compaction cut the batch off", []Message{res("1", "A"), res("2", "B"), ok, hi}, []Message{say(RoleUser, earlierOn), ok, hi}},
		{"a result twice", []Message{hi, with("", call("1")), res("1", "A"), res("1", "again")}, []Message{hi, with("", call("1")), res("1", "A")}},
		{
			"ids used again in a later batch",
			[]Message{hi, with("", call("1")), hi, with("", call("1")), res("1", "B")},
			[]Message{hi, with("", call("1")), res("1", noResult), hi, with("", call("1_2")), res("1_2", "B")},
		},
		{
			"one id twice in a batch, and none",
			[]Message{hi, with("", call("1"), call("1"), call("")), res("1", "A"), res("1", "B"), res("", "C")},
			[]Message{hi, with("", call("1"), call("1_2"), call("call")), res("1", "A"), res("1_2", "B"), res("call", "C")},
		},
		{"same role twice", []Message{hi, hi, ok, ok, hi}, []Message{say(RoleUser, "hi\n\nhi"), say(RoleAssistant, "ok\n\nok"), hi}},
		{"text before calls", []Message{hi, ok, with("", call("1")), res("1", "A")}, []Message{hi, with("ok", call("1")), res("1", "A")}},
		{"trailing assistant", []Message{hi, ok}, []Message{hi, ok, say(RoleUser, goOn)}},
		{"starts with assistant", []Message{ok, hi}, []Message{say(RoleUser, earlierOn), ok, hi}},
		{"empty contents", []Message{say(RoleUser, " "), hi, say(RoleAssistant, "\n"), with(" ", call("1")), res("1", "")}, []Message{hi, with("", call("1")), res("1", noOutput)}},
		{"several system messages", []Message{hi, say(RoleSystem, "a"), ok, say(RoleSystem, "b"), hi}, []Message{say(RoleSystem, "a\n\nb"), hi, ok, hi}},
		{
			"images of a tool",
			[]Message{hi, with("", call("1"), call("2")), {Role: RoleTool, CallID: "1", Images: img}, res("2", "B"), ok, hi},
			[]Message{hi, with("", call("1"), call("2")), res("1", noOutput), res("2", "B"), {Role: RoleUser, Text: "(images from the tool results above)", Images: img}, ok, hi},
		},
		{
			"bad arguments and names",
			[]Message{hi, with("", Call{ID: "1", Name: "a.b/c", Args: `{"a":`, Problem: "cut"}, Call{ID: "2", Name: "9", Args: "[]"}, Call{ID: "3"}), hi},
			[]Message{hi, with("", Call{ID: "1", Name: "a_b_c", Args: "{}"}, Call{ID: "2", Name: "_", Args: "{}"}, Call{ID: "3", Name: namelessFn, Args: "{}"}), res("1", noResult), res("2", noResult), res("3", noResult), hi},
		},
		{"unknown role, NUL, invalid UTF-8", []Message{say("bogus", "a\x00b\xff")}, []Message{say(RoleUser, "ab\uFFFD")}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			want := tt.out
			if want == nil {
				want = tt.in
			}
			before := fmt.Sprintf("%+v", tt.in)
			got := Sanitize(tt.in)
			if d := cmp.Diff(want, got); d != "" {
				t.Error(d)
			}
			if fault := legal(got); fault != "" {
				t.Error("still illegal:", fault)
			}
			if after := fmt.Sprintf("%+v", tt.in); after != before {
				t.Error("the history was changed")
			}
			if d := cmp.Diff(got, Sanitize(got)); d != "" {
				t.Error("a second run changes it", d)
			}
		})
	}
}

// MODEL-1: whatever part of a conversation a compaction keeps, the request is legal.
func TestMODEL1_AnyCutIsLegal(t *testing.T) {
	var h []Message
	for i := range 4 {
		a, b := fmt.Sprint("a", i), fmt.Sprint("b", i)
		h = append(h, say(RoleUser, "go"),
			Message{Role: RoleAssistant, Text: "I will", Calls: []Call{{ID: a, Name: "f", Args: "{}"}, {ID: b, Name: "g", Args: "{}"}}},
			Message{Role: RoleTool, CallID: b, Text: "B"}, Message{Role: RoleTool, CallID: a, Text: "A"}, say(RoleAssistant, "done"))
	}
	for from := range h {
		for to := from; to <= len(h); to++ {
			if fault := legal(Sanitize(h[from:to])); fault != "" {
				t.Fatalf("cut %d:%d: %s", from, to, fault)
			}
		}
	}
}

// history makes a conversation of bytes: two bits of role, the rest picks text, ids, calls and images.
func history(data []byte) []Message {
	roles := []Role{RoleUser, RoleAssistant, RoleTool, RoleSystem}
	texts := []string{"", "x", " ", "a\x00", "\xff", "hello"}
	ids := []string{"", "1", "2", "1_2", "\x00"}
	var h []Message
	for len(data) >= 3 {
		m := Message{Role: roles[data[0]%4], Text: texts[int(data[1])%len(texts)], CallID: ids[int(data[2])%len(ids)]}
		if data[1]&0x40 != 0 {
			m.Images = []Image{{MIME: "image/png"}}
		}
		for k := range int(data[0]>>2) % 4 {
			id := ids[(int(data[2])+k)%len(ids)]
			m.Calls = append(m.Calls, Call{ID: id, Name: texts[(int(data[1])+k)%len(texts)], Args: []string{"{}", "", `{"a":`}[k%3]})
		}
		h = append(h, m)
		data = data[3:]
	}
	return h
}

func FuzzSanitize(f *testing.F) {
	f.Add([]byte{0, 1, 0, 9, 1, 1, 2, 1, 1, 2, 1, 2, 1, 5, 0})
	f.Add([]byte{1, 1, 0, 13, 0, 1, 0, 1, 1, 2, 0, 1})
	f.Add([]byte{3, 1, 0, 5, 0x41, 1, 2, 0x41, 1, 3, 1, 1})
	f.Fuzz(func(t *testing.T, data []byte) {
		h := history(data)
		before, err := json.Marshal(h)
		if err != nil {
			t.Fatal(err)
		}
		got := Sanitize(h)
		if fault := legal(got); fault != "" {
			t.Fatalf("illegal: %s\n%+v\nfrom %+v", fault, got, h)
		}
		if d := cmp.Diff(got, Sanitize(got)); d != "" {
			t.Fatalf("a second run changes it: %s", d)
		}
		if after, _ := json.Marshal(h); string(after) != string(before) {
			t.Fatal("the history was changed")
		}
	})
}
