package vfs

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/tetratelabs/wazero/experimental/sys"
)

// Tree is a mount table: one file system made of a root and others mounted at
// guest paths. It implements wazero's sys.FS.
//
//   - The longest mount path that is a prefix wins. A mount hides what the
//     file system below has there.
//   - Mount points, and parents of mount points that do not exist below, show
//     up in listings. Nothing can be made in such a parent (EROFS).
//   - Renames and hard links across mounts are EXDEV; removing, renaming or
//     replacing a mount point or a parent of one is EBUSY.
//   - ".." is lexical. Symbolic links may lead from one mount into another, and
//     absolute targets start at the root of the tree, whatever mount the link
//     is in.
//   - Each mount has its own device number, from 1 for the root on in the order
//     of mounting.
//
// All methods are safe for concurrent use, Mount included. The file systems
// stay the caller's, to use and to close.
type Tree struct {
	sys.UnimplementedFS
	mu     sync.Mutex // orders Mount
	mounts atomic.Pointer[[]mount]
}

// mount is one entry of the table; the root's path is "".
type mount struct {
	path   string
	fs     sys.FS
	device uint64
	nested bool // another mount lies below
}

// linkProber is implemented by file systems that can tell cheaply that a path
// needs no resolution by the Tree: either there are no symbolic links, or the
// file system follows the ones on this path itself and stays inside.
type linkProber interface {
	hasLinks(path string, follow bool) bool
}

// NewTree returns a tree with root at "/" and no other mounts.
func NewTree(root sys.FS) *Tree {
	t := &Tree{}
	t.mounts.Store(&[]mount{{fs: root, device: 1}})
	return t
}

// Mount makes fsys visible at guestPath, which must be absolute, clean, not "/"
// and not a mount already. It need not exist. Mount before the guest runs:
// open files and directories keep showing what they showed.
func (t *Tree) Mount(guestPath string, fsys sys.FS) error {
	fail := func(why string) error {
		return &fs.PathError{Op: "mount", Path: guestPath, Err: fmt.Errorf("%s: %w", why, sys.EINVAL)}
	}
	switch {
	case fsys == nil:
		return fail("no file system")
	case !strings.HasPrefix(guestPath, "/"):
		return fail("the path is not absolute")
	case path.Clean(guestPath) != guestPath || strings.IndexByte(guestPath, 0) >= 0:
		return fail("the path is not clean")
	case guestPath == "/":
		return fail("the root is mounted already")
	case len(guestPath) > MaxPath:
		return fail("the path is too long")
	}
	p := guestPath[1:]
	t.mu.Lock()
	defer t.mu.Unlock()
	old := *t.mounts.Load()
	next := make([]mount, 0, len(old)+1)
	added := mount{path: p, fs: fsys, device: uint64(len(old)) + 1}
	for _, m := range old {
		if m.path == p {
			return fail("another file system is mounted there")
		}
		m.nested = m.nested || below(p, m.path)
		added.nested = added.nested || below(m.path, p)
		next = append(next, m)
	}
	next = append(next, added)
	// Longest first, so that the first match is the right one.
	slices.SortStableFunc(next, func(a, b mount) int { return len(b.path) - len(a.path) })
	t.mounts.Store(&next)
	return nil
}

// Mounts returns the guest paths of the mounts, sorted, "/" included.
func (t *Tree) Mounts() []string {
	var out []string
	for _, m := range *t.mounts.Load() {
		out = append(out, "/"+m.path)
	}
	slices.Sort(out)
	return out
}

// below reports whether p lies strictly below dir; "" is the root.
func below(p, dir string) bool {
	if dir == "" {
		return p != ""
	}
	return len(p) > len(dir) && p[len(dir)] == '/' && p[:len(dir)] == dir
}

// place is where a path of the tree leads.
type place struct {
	mount *mount
	path  string // clean path in the tree; "" is the root
	rel   string // clean path in the mount; "." is its root
}

// lookup finds the mount of a clean path.
func lookup(mounts []mount, p string) place {
	for i := range mounts {
		m := &mounts[i]
		switch {
		case m.path == p:
			return place{m, p, "."}
		case m.path == "":
			return place{m, p, p}
		case below(p, m.path):
			return place{m, p, p[len(m.path)+1:]}
		}
	}
	panic("vfs: a tree without a root")
}

// aboveMount reports whether a mount lies strictly below p, so that p exists
// whatever the file system there says.
func aboveMount(mounts []mount, p string) bool {
	for i := range mounts {
		if below(mounts[i].path, p) {
			return true
		}
	}
	return false
}

// pinned reports whether p is a mount point or a parent of one.
func (p place) pinned(mounts []mount) bool { return p.rel == "." || aboveMount(mounts, p.path) }
