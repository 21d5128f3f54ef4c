package vfs

import (
	"strings"

	"github.com/tetratelabs/wazero/experimental/sys"
)

// An orphan is a file or directory that has no name any more and lives on because it is open. It is part of the state
// that is committed and rolled back to. After Open and Rollback there may be orphans that nobody has open: they wait for
// OpenInode or DropOrphans.

func (m *FS) addOrphan(n *inode) {
	if m.orphans == nil {
		m.orphans = map[*inode]struct{}{}
	}
	m.orphans[n] = struct{}{}
}

// freeOrphan frees an inode without a name.
func (m *FS) freeOrphan(n *inode) {
	m.edit(n)
	delete(m.orphans, n)
	m.byIno = nil
	m.files--
	m.free(n)
}

// DropOrphans frees the files that have no name and are not open. Call it after a state was opened or rolled back to,
// when the files that were open in it have been opened again.
func (m *FS) DropOrphans() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.byIno = nil // it was for OpenInode
	for n := range m.orphans {
		if n.opens == 0 {
			m.freeOrphan(n)
		}
	}
}

// OpenInode opens a file or directory by its inode number, also one that has no name any more. It creates and truncates
// nothing: of the flags only the access mode and O_APPEND count. A number that nothing has is ESTALE, a symbolic link
// ELOOP. The position is at the beginning; set it with Seek.
func (m *FS) OpenInode(ino uint64, flag sys.Oflag) (sys.File, sys.Errno) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f, errno := m.openInode(ino, flag)
	m.audited(Operation{Op: "open", Ino: ino, Errno: errno})
	if errno != 0 {
		return nil, errno
	}
	return f, 0
}

func (m *FS) openInode(ino uint64, flag sys.Oflag) (*memFile, sys.Errno) {
	n := m.inode(ino)
	access := flag & accessMode
	switch {
	case access == sys.O_RDWR|sys.O_WRONLY:
		return nil, sys.EINVAL
	case n == nil:
		return nil, ESTALE
	case n.isSymlink():
		return nil, sys.ELOOP
	case n.isDir() && access != sys.O_RDONLY:
		return nil, sys.EISDIR
	}
	n.opens++
	return &memFile{fs: m, node: n, flag: access | flag&sys.O_APPEND}, 0
}

// OpenInode opens a file or directory of a mounted [FS] by the device and inode numbers that Stat reports, as
// [FS.OpenInode] does. A directory shows the mounts in it. A mount of another kind is ENOTSUP.
func (t *Tree) OpenInode(device, ino uint64, flag sys.Oflag) (sys.File, sys.Errno) {
	mounts := *t.mounts.Load()
	for i := range mounts {
		if mounts[i].device == device {
			return mounts[i].openInode(mounts, ino, flag)
		}
	}
	return nil, ESTALE
}

func (mt *mount) openInode(mounts []mount, ino uint64, flag sys.Oflag) (sys.File, sys.Errno) {
	fsys, ok := mt.fs.(*FS)
	if !ok {
		return nil, sys.ENOTSUP
	}
	f, errno := fsys.OpenInode(ino, flag)
	if errno != 0 {
		return nil, errno
	}
	file := treeFile{File: f, device: mt.device}
	if p, ok := fsys.dirPath(ino); ok {
		if p = strings.Trim(mt.path+"/"+p, "/"); aboveMount(mounts, p) {
			return &treeDir{treeFile: file, extra: children(lookup(mounts, p), mounts)}, 0
		}
	}
	return &file, 0
}

// dirPath returns the path of a directory that has one; the root's is empty.
func (m *FS) dirPath(ino uint64) (string, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := m.inode(ino)
	switch {
	case n == &m.root:
		return "", true
	case n == nil || !n.isDir() || n.parent == nil:
		return "", false
	}
	return joinInode(n.parent, n.name), true
}

// inode finds an inode by its number. The first search after names have changed goes through all of them.
func (m *FS) inode(ino uint64) *inode {
	if m.byIno == nil {
		m.byIno = map[uint64]*inode{}
		m.number(&m.root)
		for n := range m.orphans {
			m.byIno[n.ino] = n
		}
	}
	return m.byIno[ino]
}

func (m *FS) number(n *inode) {
	m.byIno[n.ino] = n
	for e := range n.dir.all {
		m.number(e.node)
	}
}
