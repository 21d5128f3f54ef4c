package vfs

import (
	"io/fs"

	"github.com/tetratelabs/wazero/experimental/sys"
)

const accessMode = sys.O_RDONLY | sys.O_RDWR | sys.O_WRONLY

// OpenFile implements sys.FS. O_NOFOLLOW on a symbolic link is ELOOP, O_EXCL
// with O_CREAT never follows one. O_SYNC and its kin are accepted: memory is as
// durable as it gets at once.
func (m *FS) OpenFile(path string, flag sys.Oflag, perm fs.FileMode) (sys.File, sys.Errno) {
	m.mu.Lock()
	defer m.mu.Unlock()
	next := m.nextIno
	f, errno := m.open(path, flag, perm)
	if m.audit != nil {
		op := Operation{Op: "open", Path: path, Errno: errno}
		if f != nil {
			if op.Ino = f.node.ino; op.Ino == next {
				op.Op = "create"
			}
		}
		m.audit(op)
	}
	if errno != 0 {
		return nil, errno
	}
	return f, 0
}

func (m *FS) open(path string, flag sys.Oflag, perm fs.FileMode) (*memFile, sys.Errno) {
	access := flag & accessMode
	if access == sys.O_RDWR|sys.O_WRONLY || flag&(sys.O_CREAT|sys.O_DIRECTORY) == sys.O_CREAT|sys.O_DIRECTORY {
		return nil, sys.EINVAL
	}
	exclusive := flag&(sys.O_CREAT|sys.O_EXCL) == sys.O_CREAT|sys.O_EXCL
	at, errno := m.walk(path, !exclusive && flag&sys.O_NOFOLLOW == 0)
	if errno != 0 {
		return nil, errno
	}
	n := at.node
	writes := access != sys.O_RDONLY
	switch {
	case n == nil && flag&sys.O_CREAT == 0:
		return nil, sys.ENOENT
	case n == nil && at.slash:
		return nil, sys.EISDIR
	case n == nil:
		if errno = m.room(at.parent, false); errno != 0 {
			return nil, errno
		}
		n = m.newInode(perm & fs.ModePerm)
		m.attach(at.parent, at.name, n)
	case exclusive:
		return nil, sys.EEXIST
	case n.isSymlink():
		return nil, sys.ELOOP
	case n.isDir():
		if writes || flag&(sys.O_CREAT|sys.O_TRUNC) != 0 {
			return nil, sys.EISDIR
		}
	case flag&sys.O_DIRECTORY != 0:
		return nil, sys.ENOTDIR
	case flag&sys.O_TRUNC != 0:
		if errno = m.truncate(n, 0); errno != 0 {
			return nil, errno
		}
	}
	n.opens++
	f := &memFile{fs: m, node: n, flag: flag}
	f.rewind()
	return f, 0
}
