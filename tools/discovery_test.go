package tools

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"nod/store"
)

// offerOf is an offer of tools that have these names.
func offerOf(t *testing.T, names ...string) *Offer {
	t.Helper()
	var all []Tool
	for _, name := range names {
		all = append(all, New(Spec[textArgs]{
			Name: name, Description: "Is " + name + ".", Traits: Traits{Category: Chat, Effect: Read},
			Run: func(context.Context, Call, textArgs) (Output, error) { return Output{}, nil },
		}))
	}
	r, err := NewRegistry(all...)
	if err != nil {
		t.Fatal(err)
	}
	return r.Offer(Visibility{})
}

// discovering is a discovery that runs until end.
func discovering(t *testing.T, db *store.DB) (d *Discovery, end func()) {
	d = NewDiscovery(db, slog.New(slog.DiscardHandler))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- d.Run(ctx) }()
	return d, func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

func knownIn(t *testing.T, db *store.DB) (known []KnownTool) {
	t.Helper()
	if err := db.View(func(tx *store.Tx) (err error) {
		known, err = KnownTools(tx)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return known
}

// written is the database's file: each commit changes it, whatever it is of.
func written(t *testing.T, db *store.DB) []byte {
	t.Helper()
	raw, err := os.ReadFile(db.Path())
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// TestOfferedToolsAreRememberedOnce: a name that is new costs one commit, off the caller's path; what is known costs none, in
// this process or the next one.
func TestOfferedToolsAreRememberedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := store.OpenTest(t)
		d, end := discovering(t, db)
		began := time.Now()
		d.Observe(offerOf(t, "read_it", "mcp__notes__draw"))
		synctest.Wait()
		first := []KnownTool{
			{Name: "mcp__notes__draw", Description: "Is mcp__notes__draw.", First: began}, {Name: "read_it", Description: "Is read_it.", First: began},
		}
		if diff := cmp.Diff(first, knownIn(t, db)); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
		before := written(t, db)
		time.Sleep(time.Hour)
		for range 100 {
			d.Observe(offerOf(t, "mcp__notes__draw", "read_it"))
		}
		if len(d.fresh) > 0 || len(d.more) > 0 {
			t.Errorf("what is known is looked up again: %v", d.fresh)
		}
		synctest.Wait()
		end()
		again, end := discovering(t, db)
		again.Observe(offerOf(t, "read_it"))
		synctest.Wait()
		if !bytes.Equal(before, written(t, db)) {
			t.Error("what is known was written again")
		}
		again.Observe(offerOf(t, "read_it", "plugin_it"))
		end()
		if got := knownIn(t, db); len(got) != 3 || !got[1].First.Equal(time.Now()) || !got[2].First.Equal(began) {
			t.Errorf("%+v", got)
		}
		if bytes.Equal(before, written(t, db)) {
			t.Error("a commit does not show in the file: this test sees nothing")
		}
	})
}

// TestWhatIsNewAtTheEndIsRememberedToo: it was offered in the moment in which nod is ended.
func TestWhatIsNewAtTheEndIsRememberedToo(t *testing.T) {
	db := store.OpenTest(t)
	d := NewDiscovery(db, slog.New(slog.DiscardHandler))
	d.Observe(offerOf(t, "read_it"))
	<-d.more // so that only the end is left to be seen
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := d.Run(ctx); err != nil || len(knownIn(t, db)) != 1 {
		t.Errorf("%v, %v", knownIn(t, db), err)
	}
}

// TestObservingWaitsForNobody: the turn goes on while the database is busy.
func TestObservingWaitsForNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := store.OpenTest(t)
		d, end := discovering(t, db)
		defer end()
		err := db.Update(func(*store.Tx) error {
			for _, name := range []string{"one", "two", "three"} {
				d.Observe(offerOf(t, name)) // would hang here if it wrote
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if n := len(knownIn(t, db)); n != 3 {
			t.Errorf("%d are remembered", n)
		}
	})
}

// TestWhatCouldNotBeRememberedIsTriedAgain with the next offer.
func TestWhatCouldNotBeRememberedIsTriedAgain(t *testing.T) {
	db, err := store.Open(filepath.Join(t.TempDir(), "nod.db"))
	if err != nil {
		t.Fatal(err)
	}
	d := NewDiscovery(db, slog.New(slog.DiscardHandler))
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	d.Observe(offerOf(t, "read_it"))
	d.keep()
	if len(d.fresh) > 0 {
		t.Error("it is tried again at once")
	}
	d.Observe(offerOf(t, "read_it"))
	if len(d.fresh) != 1 {
		t.Error("it is forgotten")
	}
}
