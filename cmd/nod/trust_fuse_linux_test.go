package main

import (
	"context"
	"os"
	"syscall"
	"testing"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

// entry shows a node of a disk to the kernel, which asks for everything anew: after a power cut nothing that it could
// remember is true.
type entry struct {
	fs.Inode
	disk *disk
	own  *node // nil for the root, which changes with a power cut
}

var _ interface {
	fs.NodeGetattrer
	fs.NodeSetattrer
	fs.NodeLookuper
	fs.NodeReaddirer
	fs.NodeCreater
	fs.NodeMkdirer
	fs.NodeMknoder
	fs.NodeLinker
	fs.NodeRenamer
	fs.NodeUnlinker
	fs.NodeRmdirer
	fs.NodeOpener
	fs.NodeReader
	fs.NodeWriter
	fs.NodeFsyncer
	fs.NodeStatfser
} = (*entry)(nil)

// mount shows the disk at a folder until the test ends. It needs a mount namespace of its own, which ends with its
// processes: so no mount is ever left behind, whatever becomes of them.
func (d *disk) mount(t testing.TB, at string) error {
	server, err := fs.Mount(at, &entry{disk: d}, &fs.Options{
		MountOptions:    fuse.MountOptions{DirectMountStrict: true, FsName: "nod-power-cut", Name: "nod", DisableXAttrs: true, MaxWrite: 1 << 20},
		RootStableAttr:  &fs.StableAttr{Ino: 1 << 62}, // no node's id
		NullPermissions: true,
	})
	if err != nil {
		return err
	}
	t.Cleanup(func() {
		if err := server.Unmount(); err != nil {
			t.Errorf("unmounting: %v; the mount goes with its namespace", err)
			return
		}
		server.Wait()
	})
	_, err = os.Stat(at) // until then the kernel takes the root for user 0's, who may not be in this namespace
	return err
}

// with calls fn with the entry's node while nothing else happens on the disk.
func (e *entry) with(fn func(n *node) syscall.Errno) syscall.Errno {
	e.disk.mu.Lock()
	defer e.disk.mu.Unlock()
	if e.own == nil {
		return fn(e.disk.root)
	}
	return fn(e.own)
}

// change does what changes the disk, which it can't while it is read-only.
func (e *entry) change(fn func(n *node) syscall.Errno) syscall.Errno {
	return e.with(func(n *node) syscall.Errno {
		if e.disk.readOnly {
			return syscall.EROFS
		}
		return fn(n)
	})
}

// child is the entry of a node under e.
func (e *entry) child(ctx context.Context, n *node, out *fuse.EntryOut) *fs.Inode {
	describe(n, &out.Attr)
	return e.NewInode(ctx, &entry{disk: e.disk, own: n}, fs.StableAttr{Mode: n.mode & syscall.S_IFMT, Ino: n.id})
}

// describe tells the kernel about a node. No time ever changes, or it would drop what it holds of a file in memory.
func describe(n *node, out *fuse.Attr) {
	out.Ino, out.Mode, out.Size = n.id, n.mode, uint64(len(n.data))
	out.Nlink, out.Blksize, out.Blocks = 1, 4096, (out.Size+sector-1)/sector
	out.Uid, out.Gid = uint32(syscall.Getuid()), uint32(syscall.Getgid())
}

func (e *entry) Getattr(_ context.Context, _ fs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	return e.with(func(n *node) syscall.Errno { describe(n, &out.Attr); return 0 })
}

func (e *entry) Setattr(_ context.Context, _ fs.FileHandle, in *fuse.SetAttrIn, out *fuse.AttrOut) syscall.Errno {
	return e.change(func(n *node) syscall.Errno {
		if mode, ok := in.GetMode(); ok {
			n.mode = n.mode&syscall.S_IFMT | mode&0o7777
		}
		if size, ok := in.GetSize(); ok {
			e.disk.do(deed{kind: resized, node: n, at: int64(size)})
		}
		describe(n, &out.Attr)
		return 0
	})
}

func (e *entry) Lookup(ctx context.Context, name string, out *fuse.EntryOut) (in *fs.Inode, errno syscall.Errno) {
	errno = e.with(func(n *node) syscall.Errno {
		found := n.names[name]
		if found == nil {
			return syscall.ENOENT
		}
		in = e.child(ctx, found, out)
		return 0
	})
	return in, errno
}

func (e *entry) Readdir(context.Context) (list fs.DirStream, errno syscall.Errno) {
	errno = e.with(func(n *node) syscall.Errno {
		var all []fuse.DirEntry
		for name, child := range n.names {
			all = append(all, fuse.DirEntry{Name: name, Mode: child.mode, Ino: child.id})
		}
		list = fs.NewListDirStream(all)
		return 0
	})
	return list, errno
}

// add makes a node with a name in e.
func (e *entry) add(ctx context.Context, name string, mode uint32, out *fuse.EntryOut) (in *fs.Inode, errno syscall.Errno) {
	errno = e.change(func(n *node) syscall.Errno {
		if n.names[name] != nil {
			return syscall.EEXIST
		}
		made := e.disk.make(mode)
		e.disk.do(deed{kind: linked, node: n, name: name, other: made})
		in = e.child(ctx, made, out)
		return 0
	})
	return in, errno
}

func (e *entry) Create(ctx context.Context, name string, _, mode uint32, out *fuse.EntryOut) (in *fs.Inode, _ fs.FileHandle, _ uint32, errno syscall.Errno) {
	in, errno = e.add(ctx, name, syscall.S_IFREG|mode&0o7777, out)
	return in, nil, 0, errno
}

func (e *entry) Mkdir(ctx context.Context, name string, mode uint32, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	return e.add(ctx, name, syscall.S_IFDIR|mode&0o7777, out)
}

func (e *entry) Mknod(ctx context.Context, name string, mode, _ uint32, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	return e.add(ctx, name, mode, out)
}

func (e *entry) Link(ctx context.Context, target fs.InodeEmbedder, name string, out *fuse.EntryOut) (in *fs.Inode, errno syscall.Errno) {
	errno = e.change(func(n *node) syscall.Errno {
		if n.names[name] != nil {
			return syscall.EEXIST
		}
		linkedTo := target.(*entry).own
		e.disk.do(deed{kind: linked, node: n, name: name, other: linkedTo})
		in = e.child(ctx, linkedTo, out)
		return 0
	})
	return in, errno
}

func (e *entry) Rename(_ context.Context, name string, parent fs.InodeEmbedder, to string, flags uint32) syscall.Errno {
	return e.change(func(n *node) syscall.Errno {
		other := parent.(*entry).own
		if other == nil {
			other = e.disk.root
		}
		switch {
		case flags != 0:
			return syscall.EINVAL
		case n.names[name] == nil:
			return syscall.ENOENT
		}
		e.disk.do(deed{kind: renamed, node: n, name: name, other: other, to: to, moved: n.names[name]})
		return 0
	})
}

func (e *entry) Unlink(_ context.Context, name string) syscall.Errno {
	return e.change(func(n *node) syscall.Errno {
		if n.names[name] == nil {
			return syscall.ENOENT
		}
		e.disk.do(deed{kind: unlinked, node: n, name: name})
		return 0
	})
}

func (e *entry) Rmdir(_ context.Context, name string) syscall.Errno {
	return e.change(func(n *node) syscall.Errno {
		switch folder := n.names[name]; {
		case folder == nil:
			return syscall.ENOENT
		case len(folder.names) > 0:
			return syscall.ENOTEMPTY
		}
		e.disk.do(deed{kind: unlinked, node: n, name: name})
		return 0
	})
}

func (e *entry) Open(context.Context, uint32) (fs.FileHandle, uint32, syscall.Errno) {
	return nil, 0, 0
}

func (e *entry) Read(_ context.Context, _ fs.FileHandle, dest []byte, off int64) (res fuse.ReadResult, errno syscall.Errno) {
	errno = e.with(func(n *node) syscall.Errno {
		read := 0
		if off < int64(len(n.data)) {
			read = copy(dest, n.data[off:])
		}
		res = fuse.ReadResultData(dest[:read])
		return 0
	})
	return res, errno
}

func (e *entry) Write(_ context.Context, _ fs.FileHandle, data []byte, off int64) (written uint32, errno syscall.Errno) {
	errno = e.change(func(n *node) syscall.Errno {
		e.disk.do(deed{kind: wrote, node: n, at: off, data: append([]byte(nil), data...)})
		return 0
	})
	return uint32(len(data)), errno
}

// Fsync is asked for files and for folders.
func (e *entry) Fsync(context.Context, fs.FileHandle, uint32) syscall.Errno {
	return e.with(func(n *node) syscall.Errno { e.disk.do(deed{kind: synced, node: n}); return 0 })
}

func (e *entry) Statfs(_ context.Context, out *fuse.StatfsOut) syscall.Errno {
	out.Bsize, out.Frsize, out.NameLen = 4096, 4096, 255
	out.Blocks, out.Bfree, out.Bavail = 1<<20, 1<<20, 1<<20
	out.Files, out.Ffree = 1<<20, 1<<20
	return 0
}
