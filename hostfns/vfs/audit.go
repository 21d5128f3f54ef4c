package vfs

import "github.com/tetratelabs/wazero/experimental/sys"

// Operation is what [Options.Audit] is told of. Fields that an operation does not have are zero.
type Operation struct {
	// Op is open, create, mkdir, rmdir, unlink, remove, rename, link, symlink, readlink, stat, lstat, chmod, utimens, read,
	// write, truncate, readdir, sync, close, checkpoint, rollback or commit.
	Op string
	// Path is as it was given, and not resolved. It is empty for an open file, which Ino tells.
	Path string
	// To is the new name of a rename or link, and the target of a symlink.
	To string
	// Ino is the inode number of a file that is open.
	Ino uint64
	// Offset is the position in bytes of a read or write, Length how much was read or written, the new length of a
	// truncate, or the entries of a readdir.
	Offset, Length int64
	// Errno is 0 on success.
	Errno sys.Errno
}

func (m *FS) audited(op Operation) {
	if m.audit != nil {
		m.audit(op)
	}
}

// auditPath is audited for an operation on one path.
func (m *FS) auditPath(op, path string, errno sys.Errno) {
	if m.audit != nil {
		m.audit(Operation{Op: op, Path: path, Errno: errno})
	}
}

// audited is for an operation on an open file.
func (f *memFile) audited(op string, offset, length int64, errno sys.Errno) {
	if f.fs.audit != nil {
		f.fs.audit(Operation{Op: op, Ino: f.node.ino, Offset: offset, Length: length, Errno: errno})
	}
}
