package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"math/rand/v2"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"nod/store"
)

// killer kills nod and keeps the books.
type killer struct {
	w       *crashWorld
	rand    *rand.Rand
	windows map[string]int  // how often nod died in each
	missed  map[string]int  // how often a start did not come to a window
	rare    map[string]bool // windows that a start passes once at most
	runCut  bool            // the last kill cut off a run of the job
	random  int             // kills at random
	unknown map[store.CallID]string
	runs    map[store.RunID]bool // of jobs, that were cut off
	alive   int                  // processes of commands at kills
}

func newKiller(w *crashWorld) *killer {
	k := &killer{
		w: w, rand: rand.New(rand.NewPCG(*crashSeed, 0)), windows: map[string]int{}, missed: map[string]int{}, rare: map[string]bool{},
		unknown: map[store.CallID]string{}, runs: map[store.RunID]bool{},
	}
	for _, name := range failpoints(w.t) {
		k.windows[name] = 0
	}
	for _, name := range []string{"agent.compacted", "agent.delegated", "agent.failed", "agent.noted", "agent.steered", "agent.stopped", "outbox.previewed", "scheduler.launched", "scheduler.launching"} {
		k.rare[name] = true
	}
	return k
}

// maxMissed is how often a start may fail to come to a window.
const maxMissed = 12

// killAll kills nod at least so often: about two thirds in windows, at least twice in each, the rest at random.
func (k *killer) killAll(kills int) {
	order := k.windowOrder(max(2, kills*2/3/len(k.windows)))
	for n := 0; n < kills || len(order) > 0; n++ {
		name := ""
		if len(order) > 0 && (n%3 != 2 || n >= kills) {
			name, order = k.next(order)
		}
		if k.killOnce(name) || name == "" {
			continue
		}
		if k.missed[name]++; k.missed[name] > maxMissed {
			k.w.t.Errorf("the window %s is never passed", name)
			return
		}
		order = append(order, name)
	}
}

// next takes a window off the list that the coming start can pass. A turn fails when a run of the job was cut off.
func (k *killer) next(order []string) (name string, rest []string) {
	at := slices.IndexFunc(order, func(name string) bool { return (name == "agent.failed") == k.runCut })
	if at < 0 && !k.runCut {
		return "scheduler.launched", order // which cuts one off
	}
	at = max(at, 0)
	return order[at], slices.Delete(order, at, at+1)
}

// windowOrder has each window so often, in a random order.
func (k *killer) windowOrder(times int) (order []string) {
	for name := range k.windows {
		for range times {
			order = append(order, name)
		}
	}
	slices.Sort(order)
	k.rand.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	return order
}

// windowLimit is how long a start may take to come to a window, or to run a command.
const windowLimit = 2 * time.Second

// killOnce starts nod and kills it: in a window, or when name is "" at random, by turns while a command runs. It says
// whether the window was met.
func (k *killer) killOnce(name string) bool {
	nod := k.w.launch(k.point(name))
	limit := windowLimit
	if name == "" {
		limit = time.Duration(20+k.rand.IntN(500)) * time.Millisecond
		if k.random%2 == 1 {
			k.w.awaitCommand(windowLimit)
			limit = time.Duration(k.rand.IntN(20)) * time.Millisecond
		}
	}
	met := nod.killedWithin(limit)
	if met {
		k.windows[name]++
	} else {
		k.random++
		k.rare[name] = true // the next try dies at the first passage
	}
	k.alive += k.w.processesGone()
	k.look()
	return met
}

// point is a window with the passage at which nod dies.
func (k *killer) point(name string) string {
	switch {
	case name == "":
		return ""
	case k.rare[name]:
		return name + ":1"
	}
	return fmt.Sprint(name, ":", 1+k.rand.IntN(3))
}

// failpoints reads the names of all commit windows out of the source, so that a new one is killed in too.
func failpoints(t testing.TB) (names []string) {
	t.Helper()
	root := os.DirFS("../..")
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") {
			return err
		}
		src, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, src, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok && isFailpoint(call.Fun) {
				point, err := strconv.Unquote(call.Args[0].(*ast.BasicLit).Value)
				if err != nil || !strings.Contains(point, ".") {
					t.Errorf("%s: a window's name is package.event, not %s", name, point)
				}
				names = append(names, point)
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(names)
	names = slices.Compact(names)
	if len(names) < 15 {
		t.Fatalf("only these windows were found: %q", names)
	}
	return names
}

func isFailpoint(fn ast.Expr) bool {
	sel, ok := fn.(*ast.SelectorExpr)
	if !ok || sel.Sel.Name != "Failpoint" {
		return false
	}
	pkg, ok := sel.X.(*ast.Ident)
	return ok && pkg.Name == "store"
}
