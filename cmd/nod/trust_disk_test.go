package main

import (
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"syscall"
)

// disk is a file system in memory that knows what of it outlives a power cut. It keeps a log of all that programs do to it.
// From the log any moment can be rebuilt as a machine would find it after losing power then: what was fsynced is there; of
// the rest as much as a fate says. The names in a folder are safe only after an fsync of the folder, as POSIX has it.
type disk struct {
	mu   sync.Mutex
	root *node // as programs see it now
	base *node // as it was when the log began
	log  []deed
	ids  uint64
	lies bool // fsync does nothing, as on a disk whose cache says that it has written what it has not

	readOnly bool // nothing can be changed, as on a file system in which the kernel has met an error
}

// node is a file, a folder or a socket. Names that are links to one file share it.
type node struct {
	id    uint64
	mode  uint32 // type and permissions, as in stat(2)
	data  []byte
	names map[string]*node // of a folder
}

func (n *node) isFolder() bool { return n.mode&syscall.S_IFMT == syscall.S_IFDIR }

// deedKind is what a deed did.
type deedKind int

const (
	wrote    deedKind = iota
	resized           // to at bytes
	synced            // a file's content, or a folder's names
	linked            // name in a folder leads to other; nothing else had that name, or it was replaced
	unlinked          // name
	renamed           // name, to which is in the folder other
)

// deed is one thing that was done to a node.
type deed struct {
	kind     deedKind
	node     *node // the file, or the folder
	at       int64
	data     []byte
	name, to string
	other    *node
	moved    *node // what was renamed
}

func newDisk() *disk {
	d := &disk{}
	d.root = d.make(syscall.S_IFDIR | 0o755)
	d.base = d.copyTree(d.root)
	return d
}

// make makes a node that has no name yet. d.mu is held, or nobody else knows d.
func (d *disk) make(mode uint32) *node {
	d.ids++
	n := &node{id: d.ids, mode: mode}
	if n.isFolder() {
		n.names = map[string]*node{}
	}
	return n
}

// do carries a deed out for programs to see, and logs it. d.mu is held.
func (d *disk) do(e deed) {
	apply(e)
	if d.lies && e.kind == synced {
		return
	}
	d.log = append(d.log, e)
}

// apply does a deed to the node that it names.
func apply(e deed) {
	n := e.node
	switch e.kind {
	case wrote:
		if end := e.at + int64(len(e.data)); end > int64(len(n.data)) {
			n.data = append(n.data, make([]byte, end-int64(len(n.data)))...)
		}
		copy(n.data[e.at:], e.data)
	case resized:
		if grow := e.at - int64(len(n.data)); grow > 0 {
			n.data = append(n.data, make([]byte, grow)...)
		}
		n.data = n.data[:e.at:e.at]
	case synced:
	case linked:
		n.names[e.name] = e.other
	case unlinked:
		delete(n.names, e.name)
	case renamed:
		if n.names[e.name] == e.moved {
			delete(n.names, e.name)
		}
		e.other.names[e.to] = e.moved
	}
}

// copyTree copies a folder with all in it; each copy has the id of its original.
func (d *disk) copyTree(n *node) *node { return copyNodes(n, map[*node]*node{}) }

func copyNodes(n *node, done map[*node]*node) *node {
	if c := done[n]; c != nil {
		return c
	}
	c := &node{id: n.id, mode: n.mode, data: append([]byte(nil), n.data...)}
	done[n] = c
	if n.names != nil {
		c.names = make(map[string]*node, len(n.names))
		for name, child := range n.names {
			c.names[name] = copyNodes(child, done)
		}
	}
	return c
}

// replay rebuilds what is safe on the disk, deed by deed.
type replay struct {
	nodes   map[uint64]*node // by id, as they are on the disk
	root    *node
	pending []deed // not safe yet, in order
}

func (d *disk) newReplay() *replay {
	r := &replay{nodes: map[uint64]*node{}, root: d.copyTree(d.base)}
	r.know(r.root)
	return r
}

func (r *replay) know(n *node) {
	r.nodes[n.id] = n
	for _, child := range n.names {
		r.know(child)
	}
}

// node is the disk's copy of what a program sees as n.
func (r *replay) node(n *node) *node {
	if n == nil {
		return nil
	}
	own := r.nodes[n.id]
	if own == nil {
		own = &node{id: n.id, mode: n.mode}
		if n.isFolder() {
			own.names = map[string]*node{}
		}
		r.nodes[n.id] = own
	}
	return own
}

// next takes one deed. An fsync makes the deeds safe that were done to its node before; a rename between two folders is
// safe with the folder that it led to.
func (r *replay) next(e deed) {
	e.node, e.other, e.moved = r.node(e.node), r.node(e.other), r.node(e.moved)
	if e.kind != synced {
		r.pending = append(r.pending, e)
		return
	}
	left := r.pending[:0:0]
	for _, p := range r.pending {
		owner := p.node
		if p.kind == renamed {
			owner = p.other
		}
		if owner == e.node {
			apply(p)
		} else {
			left = append(left, p)
		}
	}
	r.pending = left
}

// fate says what becomes of that which was not safe when the power went.
type fate int

const (
	dropped   fate = iota // none of it is there
	scattered             // of each thing that was done, and of each sector, a coin decides
	kept                  // all of it is there: only the program was killed
)

var fates = []fate{dropped, scattered, kept}

// sector is what a disk writes wholly or not at all, in bytes.
const sector = 512

// cut is what the machine finds after the power went at this moment.
func (r *replay) cut(f fate, coin *rand.Rand) *node {
	copies := map[*node]*node{}
	root := copyNodes(r.root, copies)
	for _, e := range r.pending {
		for _, n := range []**node{&e.node, &e.other, &e.moved} {
			if *n != nil {
				*n = copyNodes(*n, copies)
			}
		}
		switch {
		case f == dropped:
		case f == kept:
			apply(e)
		case e.kind == wrote:
			applySectors(e, coin)
		case coin.IntN(2) == 0:
			apply(e)
		}
	}
	return root
}

func applySectors(e deed, coin *rand.Rand) {
	for at := int64(0); at < int64(len(e.data)); {
		end := min((e.at+at)/sector*sector+sector-e.at, int64(len(e.data)))
		if coin.IntN(2) == 0 {
			apply(deed{kind: wrote, node: e.node, at: e.at + at, data: e.data[at:end]})
		}
		at = end
	}
}

// cutPower puts the disk in the state that it has after a power cut now. No program may be using it.
func (d *disk) cutPower(f fate, coin *rand.Rand) {
	d.mu.Lock()
	defer d.mu.Unlock()
	r := d.newReplay()
	for _, e := range d.log {
		r.next(e)
	}
	d.begin(r.cut(f, coin))
}

// format empties the disk, and says whether its fsync does nothing from now on.
func (d *disk) format(lies bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lies = lies
	d.begin(newDisk().root)
}

// begin has the disk start from a state. Everything gets a new id, so that the kernel remembers nothing of it.
func (d *disk) begin(root *node) {
	renumber(d, root, map[*node]bool{})
	d.root, d.base, d.log = root, d.copyTree(root), nil
}

func renumber(d *disk, n *node, done map[*node]bool) {
	if done[n] {
		return
	}
	done[n] = true
	d.ids++
	n.id = d.ids
	for _, child := range n.names {
		renumber(d, child, done)
	}
}

// writeOut writes a state into a real, empty folder. Sockets are left out.
func (n *node) writeOut(path string) error {
	for name, child := range maps.All(n.names) {
		at := filepath.Join(path, name)
		switch child.mode & syscall.S_IFMT {
		case syscall.S_IFDIR:
			if err := os.Mkdir(at, fs.FileMode(child.mode&0o777)); err != nil {
				return err
			}
			if err := child.writeOut(at); err != nil {
				return err
			}
		case syscall.S_IFREG:
			if err := os.WriteFile(at, child.data, fs.FileMode(child.mode&0o777)); err != nil {
				return err
			}
		}
	}
	return nil
}

// find is what lies at a path, or nil.
func (n *node) find(path ...string) *node {
	for _, name := range path {
		if n == nil {
			return nil
		}
		n = n.names[name]
	}
	return n
}
