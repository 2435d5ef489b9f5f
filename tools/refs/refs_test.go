package refs_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"nod/store"
	"nod/tools/refs"
)

func newBox(t *testing.T, db *store.DB) *refs.Box {
	t.Helper()
	b, err := refs.New(db)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestReferences(t *testing.T) {
	db := store.OpenTest(t)
	b := newBox(t, db)
	ref := b.Seal(refs.Group, "7", "-1001")
	if strings.Contains(ref, "1001") || b.Seal(refs.Group, "7", "-1001") == ref {
		t.Errorf("%s shows its id or is made twice", ref)
	}
	if id, err := newBox(t, db).Open(refs.Group, "7", ref); err != nil || id != "-1001" {
		t.Errorf("after a restart: %q, %v", id, err)
	}
	tests := map[string]struct {
		box          *refs.Box
		kind         refs.Kind
		binding, ref string
	}{
		"another person's":   {b, refs.Group, "8", ref},
		"another kind":       {b, refs.Person, "7", ref},
		"relabelled":         {b, refs.Person, "7", "person" + strings.TrimPrefix(ref, "group")},
		"changed":            {b, refs.Group, "7", flip(ref)},
		"cut":                {b, refs.Group, "7", ref[:len(ref)-4]},
		"lengthened":         {b, refs.Group, "7", ref + "AAAA"},
		"the bare id":        {b, refs.Group, "7", "-1001"},
		"nothing":            {b, refs.Group, "7", ""},
		"prefix alone":       {b, refs.Group, "7", "group_"},
		"another database's": {newBox(t, store.OpenTest(t)), refs.Group, "7", ref},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if id, err := test.box.Open(test.kind, test.binding, test.ref); !errors.Is(err, refs.ErrBad) || id != "" {
				t.Errorf("%q, %v", id, err)
			}
		})
	}
}

// flip changes one letter in the middle.
func flip(ref string) string {
	at := len(ref) / 2
	other := byte('A')
	if ref[at] == other {
		other = 'B'
	}
	return ref[:at] + string(other) + ref[at+1:]
}

func TestReferencesGrowOld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBox(t, store.OpenTest(t))
		ref := b.Seal(refs.Person, "7", "9")
		time.Sleep(refs.Life)
		if _, err := b.Open(refs.Person, "7", ref); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Second)
		if _, err := b.Open(refs.Person, "7", ref); !errors.Is(err, refs.ErrBad) {
			t.Errorf("a day later: %v", err)
		}
	})
}
