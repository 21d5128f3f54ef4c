package vfs

import (
	"io/fs"
	"slices"

	"github.com/tetratelabs/wazero/experimental/sys"
	wasys "github.com/tetratelabs/wazero/sys"

	"github.com/mayfly-run/mayfly/hostfns/cas"
)

// inode is a file, directory or symbolic link. The FS's mutex guards it. Whatever changes one calls FS.edit before.
type inode struct {
	ino   uint64
	mode  fs.FileMode
	nlink uint32
	opens int32  // open files; data lives until both this and nlink are zero
	flags uint8  // shared, dead, summed
	mark  uint64 // mark since which the content change is logged
	epoch uint64 // layer that has an image of the inode

	atim, mtim, ctim int64

	// parent and name are one place where the inode is linked, and more holds
	// the others. parent is nil for the root and for an unlinked inode.
	parent *inode
	name   string
	more   []link

	size   int64      // regular files: logical size
	chunks []chunkRef // regular files: data, sorted by index
	dir    *dirTable  // directories: entries, nil while there never was one
	target string     // symbolic links
	sum    cas.Hash   // canonical hash, when flags has summed
}

// Flags of an inode.
const (
	// shared: an image has the same list of chunks, which must be copied before it is changed.
	shared = 1 << iota
	// dead: a rollback undid the inode's creation. Files that have it open are stale.
	dead
	// summed: sum is valid.
	summed
)

// link is one name of an inode.
type link struct {
	dir  *inode
	name string
}

func (n *inode) isDir() bool     { return n.mode&fs.ModeDir != 0 }
func (n *inode) isSymlink() bool { return n.mode&fs.ModeSymlink != 0 }

func (n *inode) setTimes(t int64) { n.atim, n.mtim, n.ctim = t, t, t }

// modified stamps a change of content (or of a directory's entries).
func (n *inode) modified(t int64) { n.mtim, n.ctim = t, t }

func (n *inode) stat(device uint64) wasys.Stat_t {
	size := n.size
	switch {
	case n.isSymlink():
		size = int64(len(n.target))
	case n.isDir():
		size = 4096 // what a disk would say; programs only care that it is not 0
	}
	return wasys.Stat_t{
		Dev: device, Ino: n.ino, Mode: n.mode, Nlink: uint64(n.nlink), Size: size,
		Atim: n.atim, Mtim: n.mtim, Ctim: n.ctim,
	}
}

// setUtimes applies utimens arguments, UTIME_OMIT included.
func (n *inode) setUtimes(atim, mtim, now int64) {
	if atim != sys.UTIME_OMIT {
		n.atim = atim
	}
	if mtim != sys.UTIME_OMIT {
		n.mtim = mtim
	}
	n.ctim = now
}

// depth is the number of directories above n.
func (n *inode) depth() int {
	d := 0
	for p := n.parent; p != nil; p = p.parent {
		d++
	}
	return d
}

// height is the number of directory levels below and including directory n.
func (n *inode) height() int {
	h := 0
	if n.dir != nil {
		for i := range n.dir.order {
			if c := n.dir.order[i].node; c != nil && c.isDir() {
				h = max(h, c.height())
			}
		}
	}
	return h + 1
}

// addLink records that n is now linked as dir/name.
func (n *inode) addLink(dir *inode, name string) {
	if n.parent == nil {
		n.parent, n.name = dir, name
		return
	}
	n.more = append(n.more, link{dir, name})
}

// dropLink forgets dir/name.
func (n *inode) dropLink(dir *inode, name string) {
	if n.parent == dir && n.name == name {
		n.parent, n.name = nil, ""
		if last := len(n.more) - 1; last >= 0 {
			n.parent, n.name = n.more[last].dir, n.more[last].name
			n.more = slices.Clone(n.more[:last])
		}
		return
	}
	for i, l := range n.more {
		if l.dir == dir && l.name == name {
			n.more = slices.Delete(slices.Clone(n.more), i, i+1) // an image may have the old list
			return
		}
	}
}

// newInode makes an unlinked inode; the caller links it.
func (m *FS) newInode(mode fs.FileMode) *inode {
	n := &inode{ino: m.nextIno, mode: mode}
	m.nextIno++
	n.setTimes(m.clock())
	return n
}

// attach links n as dir/name, which must not exist, and counts it.
func (m *FS) attach(dir *inode, name string, n *inode) {
	m.touchName(dir, name, n, created)
	m.editName(dir, name)
	m.edit(n)
	if dir.dir == nil {
		dir.dir = &dirTable{}
	}
	dir.dir.add(name, n)
	n.addLink(dir, name)
	if n.isDir() {
		n.nlink = 2
		dir.nlink++
	} else {
		n.nlink++
		m.linked(n)
	}
	m.files++
	dir.modified(m.clock())
}

// detach removes dir/name, which leads to n, and frees n when nothing holds it.
func (m *FS) detach(dir *inode, name string, n *inode) {
	m.touchName(dir, name, n, removed)
	m.editName(dir, name)
	m.edit(n)
	dir.dir.remove(name)
	m.nameGone(dir, name)
	n.dropLink(dir, name)
	now := m.clock()
	dir.modified(now)
	n.ctim = now
	m.files--
	if n.isDir() {
		dir.nlink--
	}
	m.unlinked(n)
}

// unlinked counts one name less of n, and frees it when nothing holds it.
func (m *FS) unlinked(n *inode) {
	if n.isDir() {
		n.nlink = 0
	} else {
		n.nlink--
		m.linked(n)
	}
	switch {
	case n.nlink > 0:
	case n.opens > 0:
		m.files++ // an open orphan keeps counting
		m.addOrphan(n)
	default:
		m.free(n)
	}
}

// free gives back what an inode without names and open files holds.
func (m *FS) free(n *inode) {
	if n.isSymlink() {
		m.symlinks.Add(-1)
		m.bytes -= int64(len(n.target))
	}
	m.dropChunks(n, 0)
	n.dir = nil
}

// closed ends one use of n as an open file.
func (m *FS) closed(n *inode) {
	n.opens--
	if n.opens == 0 && n.nlink == 0 && n.flags&dead == 0 {
		m.freeOrphan(n)
	}
}
