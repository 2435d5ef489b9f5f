package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	bolt "go.etcd.io/bbolt"
)

// raw is a key of any bytes.
type raw []byte

func (r raw) Bytes() []byte { return r }

var raws = NewTable[raw, int]("rules", func(b []byte) (raw, error) { return bytes.Clone(b), nil })

func put(t *testing.T, db *DB, keys ...string) {
	t.Helper()
	update(t, db, func(tx *Tx) error {
		for i, key := range keys {
			if err := raws.Put(tx, raw(key), i); err != nil {
				return err
			}
		}
		return nil
	})
}

// collect gathers what a scan passes.
func collect(keys *[]string) func(raw, int) (bool, error) {
	return func(k raw, _ int) (bool, error) {
		*keys = append(*keys, string(k))
		return true, nil
	}
}

func TestScanPrefixes(t *testing.T) {
	db := OpenTest(t)
	put(t, db, "a", "ab", "abc", "ac", "b", "\x00", "\xfe", "\xff", "\xff\xff", "\xff\xff\x01")
	tests := []struct {
		prefix string
		want   []string
	}{
		{"", []string{"\x00", "a", "ab", "abc", "ac", "b", "\xfe", "\xff", "\xff\xff", "\xff\xff\x01"}},
		{"a", []string{"a", "ab", "abc", "ac"}},
		{"ab", []string{"ab", "abc"}},
		{"abcd", nil},
		{"0", nil},
		{"c", nil},
		{"\x00", []string{"\x00"}},
		{"\xfe", []string{"\xfe"}},
		{"\xff", []string{"\xff", "\xff\xff", "\xff\xff\x01"}},
		{"\xff\xff", []string{"\xff\xff", "\xff\xff\x01"}},
		{"\xff\xff\xff", nil},
	}
	for _, test := range tests {
		view(t, db, func(tx *Tx) error {
			var up, down []string
			err := errors.Join(raws.Scan(tx, []byte(test.prefix), collect(&up)), raws.ScanBack(tx, []byte(test.prefix), collect(&down)))
			slices.Reverse(down)
			if diff := cmp.Diff(test.want, up); diff != "" {
				t.Errorf("up from %q: %s", test.prefix, diff)
			}
			if diff := cmp.Diff(test.want, down); diff != "" {
				t.Errorf("down from %q: %s", test.prefix, diff)
			}
			return err
		})
	}
}

func TestScanFrom(t *testing.T) {
	db := OpenTest(t)
	put(t, db, "a", "ba", "bc", "be", "c")
	tests := []struct {
		from string
		want []string
	}{
		{"bc", []string{"bc", "be"}},
		{"bd", []string{"be"}},
		{"bf", nil},
		{"a", []string{"ba", "bc", "be"}},
		{"c", nil},
	}
	for _, test := range tests {
		view(t, db, func(tx *Tx) error {
			var got []string
			err := raws.ScanFrom(tx, []byte("b"), raw(test.from), collect(&got))
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("from %q: %s", test.from, diff)
			}
			return err
		})
	}
}

// Over many pages the scans agree with a sorted list.
func TestScanManyPages(t *testing.T) {
	db := OpenTest(t)
	random := rand.New(rand.NewPCG(1, 2))
	seen := map[string]bool{}
	for len(seen) < 3000 {
		key := make([]byte, 1+random.IntN(6))
		for i := range key {
			key[i] = byte(random.IntN(4) * 85) // 0x00, 0x55, 0xaa, 0xff
		}
		seen[string(key)] = true
	}
	keys := slices.Sorted(func(yield func(string) bool) {
		for key := range seen {
			if !yield(key) {
				return
			}
		}
	})
	put(t, db, keys...)
	for range 200 {
		prefix := keys[random.IntN(len(keys))][:1]
		want := slices.DeleteFunc(slices.Clone(keys), func(k string) bool { return !strings.HasPrefix(k, prefix) })
		view(t, db, func(tx *Tx) error {
			var up, down []string
			err := errors.Join(raws.Scan(tx, []byte(prefix), collect(&up)), raws.ScanBack(tx, []byte(prefix), collect(&down)))
			slices.Reverse(down)
			if !slices.Equal(want, up) || !slices.Equal(want, down) {
				t.Fatalf("%q: %d keys, up %d, down %d", prefix, len(want), len(up), len(down))
			}
			return err
		})
	}
}

func TestScanStops(t *testing.T) {
	db := OpenTest(t)
	put(t, db, "a", "b", "c")
	wrong := errors.New("wrong")
	view(t, db, func(tx *Tx) error {
		n := 0
		err := raws.Scan(tx, nil, func(raw, int) (bool, error) { n++; return n < 2, nil })
		if n != 2 || err != nil {
			t.Errorf("%d records, %v", n, err)
		}
		if err := raws.ScanBack(tx, nil, func(raw, int) (bool, error) { return true, wrong }); err != wrong {
			t.Errorf("got %v", err)
		}
		return nil
	})
}

func TestTable(t *testing.T) {
	db := OpenTest(t)
	update(t, db, func(tx *Tx) error {
		if _, ok, err := notes.Get(tx, "k"); ok || err != nil {
			t.Errorf("got %v, %v", ok, err)
		}
		if err := notes.Put(tx, "k", ""); err != nil {
			return err
		}
		got, ok, err := notes.Get(tx, "k")
		if has, hasErr := notes.Has(tx, "k"); got != "" || !ok || !has || err != nil || hasErr != nil {
			t.Errorf("an empty value: %q, %v, %v, %v, %v", got, ok, has, err, hasErr)
		}
		if err := notes.Put(tx, "k", "new"); err != nil {
			return err
		}
		if err := errors.Join(notes.Delete(tx, "k"), notes.Delete(tx, "never there")); err != nil {
			return err
		}
		if has, err := notes.Has(tx, "k"); has || err != nil {
			t.Errorf("after its deletion: %v, %v", has, err)
		}
		if err := notes.Put(tx, "", "x"); err == nil {
			t.Error("a record without a key was taken")
		}
		return nil
	})
	if err := db.View(func(tx *Tx) error { return notes.Put(tx, "k", "v") }); err == nil {
		t.Error("written in a view")
	}
}

func TestTableErrors(t *testing.T) {
	db := OpenTest(t)
	nowhere := NewTable[Text, string]("no such bucket", ParseText[Text])
	numbered := NewTable[Seq[SessionID], int]("no such bucket", ParseSeq(ParseSessionID))
	functions := NewTable[Text, func()]("rules", ParseText[Text])
	users := NewTable[UserID, int]("rules", ParseUserID)
	put(t, db, "k") // a number under a text, which is no string and no user
	update(t, db, func(tx *Tx) error {
		all := func(Text, string) (bool, error) { return true, nil }
		_, _, get := nowhere.Get(tx, "k")
		_, has := nowhere.Has(tx, "k")
		_, next := nowhere.NextSeq(tx)
		_, clear := nowhere.DeletePrefix(tx, nil)
		_, add := Append(tx, numbered, "s", 1)
		_, _, value := notes.Get(tx, "k")
		for what, err := range map[string]error{
			"get": get, "has": has, "next": next, "delete all": clear, "append": add,
			"put": nowhere.Put(tx, "k", "v"), "delete": nowhere.Delete(tx, "k"), "delete some": nowhere.DeleteFunc(tx, nil, nil), "scan": nowhere.Scan(tx, nil, all),
			"get another type": value, "scan another type": notes.Scan(tx, nil, all),
			"scan other keys": users.Scan(tx, nil, func(UserID, int) (bool, error) { return true, nil }),
			"put a function":  functions.Put(tx, "f", func() {}),
		} {
			if err == nil {
				t.Errorf("%s: no error", what)
			}
		}
		return nil
	})
}

func TestAppendAndDeletePrefix(t *testing.T) {
	db := OpenTest(t)
	log := NewTable[Seq[SessionID], string]("rules", ParseSeq(ParseSessionID))
	update(t, db, func(tx *Tx) error {
		for _, s := range []SessionID{"a", "ab", "a", "b", "a"} {
			if _, err := Append(tx, log, s, string(s)); err != nil {
				return err
			}
		}
		return nil
	})
	update(t, db, func(tx *Tx) error {
		var keys []Seq[SessionID]
		err := log.Scan(tx, Prefix(SessionID("a")), func(k Seq[SessionID], v string) (bool, error) {
			keys = append(keys, k)
			return true, nil
		})
		if diff := cmp.Diff([]Seq[SessionID]{{"a", 1}, {"a", 3}, {"a", 5}}, keys); diff != "" {
			t.Error(diff)
		}
		if n, delErr := log.DeletePrefix(tx, Prefix(SessionID("a"))); n != 3 || delErr != nil {
			t.Errorf("%d deleted, %v", n, delErr)
		}
		rest, allErr := log.All(tx, nil)
		if diff := cmp.Diff([]string{"ab", "b"}, rest); diff != "" {
			t.Error(diff)
		}
		if n, seqErr := log.NextSeq(tx); n != 6 || seqErr != nil {
			t.Errorf("a number was given twice: %d, %v", n, seqErr)
		}
		return errors.Join(err, allErr)
	})
}

func TestDeleteFunc(t *testing.T) {
	db := OpenTest(t)
	put(t, db, "a0", "a1", "b2", "a3") // with the values 0 to 3
	update(t, db, func(tx *Tx) error {
		return raws.DeleteFunc(tx, []byte("a"), func(k raw, v int) bool { return v > 0 && string(k) != "a3" })
	})
	var rest []string
	err := db.View(func(tx *Tx) error { return raws.Scan(tx, nil, collect(&rest)) })
	if diff := cmp.Diff([]string{"a0", "a3", "b2"}, rest); err != nil || diff != "" {
		t.Error(err, diff)
	}
}

// Byte order is the order of what the keys stand for, and every key is read back as it was.
func TestKeyOrder(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	numbers := []int64{math.MinInt64, -1 << 40, -1001234567890, -1, 0, 1, 255, 256, 1 << 40, math.MaxInt64}
	for range 500 {
		numbers = append(numbers, int64(random.Uint64()))
	}
	for range 5000 {
		a, b := numbers[random.IntN(len(numbers))], numbers[random.IntN(len(numbers))]
		x, y := numbers[random.IntN(len(numbers))], numbers[random.IntN(len(numbers))]
		sameOrder(t, fmt.Sprintf("chats %d %d", a, b), ChatID(a), ChatID(b), a < b)
		p, q := Address{ChatID(a), int(x)}, Address{ChatID(b), int(y)}
		sameOrder(t, fmt.Sprintf("addresses %v %v", p, q), p, q, a < b || a == b && x < y)
		m, n := Seq[Address]{p, uint64(x)}, Seq[Address]{q, uint64(y)}
		sameOrder(t, fmt.Sprintf("numbered %v %v", m, n), m, n, p != q && bytes.Compare(p.Bytes(), q.Bytes()) < 0 || p == q && uint64(x) < uint64(y))

		roundTrip(t, ChatID(a), ParseChatID)
		roundTrip(t, UserID(a), ParseUserID)
		roundTrip(t, UpdateID(a), ParseUpdateID)
		roundTrip(t, p, ParseAddress)
		roundTrip(t, m, ParseSeq(ParseAddress))
		roundTrip(t, Seq[TurnID]{NewTurnID(), uint64(a)}, ParseSeq(ParseTurnID))
	}
}

func sameOrder(t *testing.T, what string, a, b Key, less bool) {
	t.Helper()
	if got := bytes.Compare(a.Bytes(), b.Bytes()) < 0; got != less {
		t.Errorf("%s: less %v, want %v", what, got, less)
	}
}

func roundTrip[K interface {
	comparable
	Key
}](t *testing.T, k K, parse func([]byte) (K, error),
) {
	t.Helper()
	if got, err := parse(k.Bytes()); got != k || err != nil {
		t.Errorf("%v came back as %v, %v", k, got, err)
	}
}

func TestKeysThatAreNone(t *testing.T) {
	for n := range 20 {
		b := make([]byte, n)
		if _, err := ParseChatID(b); (err == nil) != (n == 8) {
			t.Errorf("a number of %d bytes: %v", n, err)
		}
		if _, err := ParseAddress(b); (err == nil) != (n == 16) {
			t.Errorf("an address of %d bytes: %v", n, err)
		}
		if _, err := ParseSeq(ParseChatID)(b); (err == nil) != (n == 17) {
			t.Errorf("a numbered chat of %d bytes: %v", n, err)
		}
	}
	if _, err := ParseSeq(ParseSessionID)(bytes.Repeat([]byte("x"), 20)); err == nil {
		t.Error("a number without its NUL was taken")
	}
}

func TestIDs(t *testing.T) {
	tests := []struct {
		kind   string
		make   func() string
		length int
	}{
		{"session", func() string { return string(NewSessionID()) }, 20},
		{"turn", func() string { return string(NewTurnID()) }, 20},
		{"call", func() string { return string(NewCallID()) }, 20},
		{"run", func() string { return string(NewRunID()) }, 20},
		{"approval", func() string { return string(NewApprovalID()) }, 26},
		{"job", func() string { return string(NewJobID()) }, 6},
	}
	for _, test := range tests {
		seen := map[string]bool{}
		for range 1000 {
			id := test.make()
			if len(id) != test.length || strings.Trim(id, "abcdefghijklmnopqrstuvwxyz0123456789") != "" {
				t.Fatalf("%s %q is not %d characters of a-z and 0-9", test.kind, id, test.length)
			}
			seen[id] = true
		}
		if len(seen) != 1000 && test.kind != "job" { // thirty bits may repeat: the book of jobs refuses a clash
			t.Errorf("%s ids repeat", test.kind)
		}
	}
}

func TestTimedIDsSortByTime(t *testing.T) {
	before := NewCallID()
	for start := time.Now().UnixMilli(); time.Now().UnixMilli() == start; {
		continue // the clock's next millisecond
	}
	if after := NewCallID(); before >= after {
		t.Errorf("%s was made before %s", before, after)
	}
}

func TestAddressText(t *testing.T) {
	for want, a := range map[string]Address{"-100": {Chat: -100}, "5/7": {Chat: 5, Topic: 7}} {
		if got := a.String(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestJoin(t *testing.T) {
	if got := Join("a", "b"); got != "a\x00b" || !bytes.HasPrefix(got.Bytes(), Prefix(Text("a"))) {
		t.Errorf("got %q", got)
	}
}

func TestBucketsAreNamedOnce(t *testing.T) {
	if len(slices.Compact(slices.Sorted(slices.Values(buckets)))) != len(buckets) {
		t.Error("a bucket is listed twice")
	}
	db := OpenTest(t)
	err := db.bolt.View(func(tx *bolt.Tx) error {
		for _, name := range buckets {
			if tx.Bucket([]byte(name)) == nil {
				t.Errorf("bucket %s is missing", name)
			}
		}
		if got := tx.Bucket([]byte(metaBucket)).Get([]byte(schemaKey)); binary.BigEndian.Uint64(got) != uint64(len(migrations)+1) {
			t.Errorf("schema %x", got)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
