package keyboard

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"nod/store"
)

func TestEncode(t *testing.T) {
	nonce := strings.Repeat("v", 26)
	for _, c := range []struct {
		action Action
		data   string // "" where it is refused
	}{
		{Action{Approve, nonce, 0}, "1a." + nonce},
		{Action{Page, nonce, 12}, "1p." + nonce + ".12"},
		{Action{Answer, nonce, 0}, "1q." + nonce + ".0"},
		{Action{JobDelete, "abc123", 0}, "1D.abc123"},
		{Action{RevokeRule, "seed-00ff", 0}, "1U.seed-00ff"},
		{Action{UseModel, "", 0}, "1M.0"},
		{Action{AllowUser, "", math.MaxInt64}, "1A.9223372036854775807"},
		{Action{Page, strings.Repeat("v", 40), math.MaxInt64}, "1p." + strings.Repeat("v", 40) + ".9223372036854775807"},
		{Action{0, nonce, 0}, ""},
		{Action{UseContext + 1, nonce, 0}, ""},
		{Action{Approve, "", 0}, ""},
		{Action{Approve, "UPPER", 0}, ""},
		{Action{Approve, "a.b", 0}, ""},
		{Action{Approve, "é", 0}, ""},
		{Action{Approve, strings.Repeat("v", 41), 0}, ""},
		{Action{Approve, nonce, 1}, ""},
		{Action{Page, nonce, -1}, ""},
		{Action{AllowUser, nonce, 1}, ""},
	} {
		data, err := Encode(c.action)
		if data != c.data || (err == nil) != (c.data != "") {
			t.Errorf("%+v: want %q, got %q, %v", c.action, c.data, data, err)
		}
		if len(data) > MaxData {
			t.Errorf("%+v takes %d bytes", c.action, len(data))
		}
		if err != nil {
			continue
		}
		if back, err := Decode(data); err != nil || back != c.action {
			t.Errorf("%q is read as %+v, %v", data, back, err)
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	for _, data := range []string{
		"", "1", "1a", "1a.", "1a.x.", "1a.x.1", "1ax", "0a.x", "2a.x", "1z.x", "1a.X", "1a.x y", "1a.x\x00", "1ax.x",
		"1p.x", "1p.x.", "1p.x.-1", "1p.x.01", "1p.x.+1", "1p.x.1.1", "1p.x.9223372036854775808", "1A.x", "1A", "1A.1.1", "1A..1", "1M. 1",
		"1a." + strings.Repeat("v", 62), strings.Repeat("1", 10_000),
	} {
		if a, err := Decode(data); err == nil {
			t.Errorf("%q is read as %+v", data, a)
		}
	}
}

// TestLetters holds that no two verbs are written alike.
func TestLetters(t *testing.T) {
	seen := map[byte]Verb{}
	for v := Approve; int(v) < len(shapes); v++ {
		letter := shapes[v].letter
		if other, ok := seen[letter]; ok || letter == 0 {
			t.Errorf("verbs %d and %d share the letter %q", v, other, letter)
		}
		seen[letter] = v
	}
}

// TestStoreIDs holds that every id of the store fits a button.
func TestStoreIDs(t *testing.T) {
	for _, a := range []Action{
		{Page, string(store.NewApprovalID()), math.MaxInt64},
		{JobRun, string(store.NewJobID()), 0},
		{FetchFile, string(store.NewCallID()), 0},
	} {
		data, err := Encode(a)
		if err != nil {
			t.Fatal(err)
		}
		back, err := Decode(data)
		if diff := cmp.Diff(a, back); err != nil || diff != "" {
			t.Errorf("%v, -want +got:\n%s", err, diff)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, s := range []string{"1a.vvvv", "1p.abc.3", "1A.42", "1M.0", "", "1", "1p..", "1q.x.99999999999999999999"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, data string) {
		a, err := Decode(data)
		if err != nil {
			return
		}
		if again, err := Encode(a); err != nil || again != data {
			t.Errorf("%q is read as %+v, which is written %q, %v", data, a, again, err)
		}
	})
}
