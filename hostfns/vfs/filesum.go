package vfs

import (
	"github.com/tetratelabs/wazero/experimental/sys"

	"github.com/mayfly-run/mayfly/hostfns/cas"
)

// Sum returns a hash of a file's permission bits, size and content, or of a symbolic link's target: equal files have equal
// sums, in whichever file system they are. It reads nothing from the store, so that the size of a file does not matter,
// holes included. A directory is EISDIR.
func (m *FS) Sum(name string) (cas.Hash, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	at, errno := m.existing(name, false)
	m.auditPath("sum", name, errno)
	if errno == 0 && at.node.isDir() {
		errno = sys.EISDIR
	}
	if errno != 0 {
		return cas.Hash{}, pathError("sum", name, errno)
	}
	var s summer
	if at.node.isSymlink() {
		return m.sumInode(&s, at.node), nil
	}
	n := at.node
	s.begin("f")
	s.uint(uint64(n.mode.Perm()))
	s.uint(uint64(n.size))
	for _, r := range n.chunks {
		h := r.c.hash
		if !r.c.stored && r.c.data != nil { // changed since it was stored, if ever it was
			h = cas.Hash{}
			if data := trimmed(r.c.data); len(data) > 0 {
				h = cas.Object{Data: data}.Sum()
			}
		}
		if !h.IsZero() {
			s.uint(uint64(r.index))
			s.hash(h)
		}
	}
	return s.end(), nil
}
