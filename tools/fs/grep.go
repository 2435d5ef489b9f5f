package fs

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"

	"nod/tools"
)

// grep is one search. One goroutine walks, several count matches, and the caller takes their counts in the order of the
// walk and fills the page; when it is full all of them end.
type grep struct {
	in      grepIn
	matcher *matcher
	walk    walk
	page    grepPage
	space   space // for showing matches
}

// space is memory that is used again from file to file.
type space struct {
	read   bytes.Buffer
	folded []byte
}

// batchFiles is how many files of one folder are searched as one piece of work.
const batchFiles = 32

// batch is some files of one folder.
type batch struct {
	folder *folder
	names  []string
	counts []int // matches of each, or unreadable; valid when done is closed
	done   chan struct{}
}

const unreadable = -1

func (g *grep) inFolder(ctx context.Context, held *tools.Held, workspace *tools.Workspace) error {
	top, err := g.walk.begin(held, workspace)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	workers := runtime.GOMAXPROCS(0)
	todo, ordered := make(chan *batch), make(chan *batch, 4*workers)
	var running sync.WaitGroup
	running.Go(func() {
		defer close(todo)
		defer close(ordered)
		g.descend(ctx, top, func(b *batch) bool {
			if !send(ctx, ordered, b) {
				b.folder.done()
				return false
			}
			return send(ctx, todo, b)
		})
	})
	for range workers {
		running.Go(func() {
			var space space
			for b := range todo {
				g.search(ctx, b, &space)
			}
		})
	}
	err = g.collect(ctx, ordered)
	stop()
	running.Wait()
	// What the walk handed out and nobody took holds its folder open.
	for b := range ordered {
		err = errors.Join(err, b.folder.done())
	}
	return err
}

func send(ctx context.Context, to chan<- *batch, b *batch) bool {
	select {
	case to <- b:
		return true
	case <-ctx.Done():
		return false
	}
}

// descend walks a folder: its files, then the folders in it, each by name. It lets go of f.
func (g *grep) descend(ctx context.Context, f *folder, emit func(*batch) bool) (goOn bool) {
	defer f.done()
	entries, err := g.walk.list(f)
	if err != nil {
		g.walk.skipped++
		return true
	}
	var files, folders []string
	for _, e := range entries {
		switch {
		case e.kind.IsDir():
			folders = append(folders, e.name)
		case e.kind.IsRegular() && g.in.wants(f.rel+e.name, e.name):
			files = append(files, e.name)
		}
	}
	for names := range slices.Chunk(files, batchFiles) {
		f.use()
		if !emit(&batch{folder: f, names: names, counts: make([]int, len(names)), done: make(chan struct{})}) {
			return false
		}
	}
	for _, name := range folders {
		if ctx.Err() != nil {
			return false
		}
		if below := g.walk.down(f, name); below != nil && !g.descend(ctx, below, emit) {
			return false
		}
	}
	return true
}

// search counts the matches of a batch.
func (g *grep) search(ctx context.Context, b *batch, space *space) {
	defer close(b.done)
	for i, name := range b.names {
		if ctx.Err() != nil {
			return
		}
		b.counts[i] = unreadable
		if s, err := open(b.folder.root, name, &space.read); err == nil {
			b.counts[i] = 0
			if !binary(s.data) {
				b.counts[i] = g.matcher.count(ctx, s, g.in.enough(), &space.folded)
			}
		}
	}
}

// open reads a file of an open folder as far as it is searched.
func open(folder *os.Root, name string, buf *bytes.Buffer) (searched, error) {
	f, info, err := tools.OpenRegular(folder, name, name)
	if err != nil {
		return searched{}, err
	}
	defer f.Close()
	r, _ := reader(f, info.Size(), maxSearch)
	return readSearched(r, info.Size(), buf)
}

// collect fills the page from batches in the order of the walk.
func (g *grep) collect(ctx context.Context, ordered <-chan *batch) (err error) {
	for b := range ordered {
		select {
		case <-b.done:
		case <-ctx.Done():
			return errors.Join(context.Cause(ctx), b.folder.done())
		}
		for i, name := range b.names {
			switch n := b.counts[i]; {
			case n == unreadable:
				g.page.unread++
			case n > 0 && !g.page.full():
				g.page.add(b.folder.rel+name, n, func(e *excerpt) int { return g.show(ctx, e, b.folder.root, name) })
			}
		}
		if err := b.folder.done(); err != nil || g.page.full() {
			return err
		}
	}
	return ctx.Err()
}

// show writes matches of a file that was counted before. When it has none any more they count as shown, so that the next
// page goes on behind it.
func (g *grep) show(ctx context.Context, e *excerpt, folder *os.Root, name string) int {
	wanted := e.take
	s, err := open(folder, name, &g.space.read)
	if err != nil {
		return wanted
	}
	if n := e.write(ctx, g.matcher, s); n > 0 {
		return n
	}
	return wanted
}

func (g *grep) inFile(ctx context.Context, held *tools.Held) error {
	f, info, err := held.OpenFile()
	if err != nil {
		return err
	}
	defer f.Close()
	r, _ := reader(f, info.Size(), maxSearch)
	s, err := readSearched(r, info.Size(), &g.space.read)
	if err != nil {
		return err
	}
	name := filepath.Base(held.Path.Canonical)
	if binary(s.data) {
		return errors.New(describeBinary(name, s.data[:min(len(s.data), sniffed)], info.Size()))
	}
	if n := g.matcher.count(ctx, s, g.in.enough(), &g.space.folded); n > 0 {
		g.page.add(name, n, func(e *excerpt) int { return e.write(ctx, g.matcher, s) })
	}
	return ctx.Err()
}
