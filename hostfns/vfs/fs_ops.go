package vfs

import (
	"io/fs"
	"strings"

	"github.com/tetratelabs/wazero/experimental/sys"
	wasys "github.com/tetratelabs/wazero/sys"
)

// Stat implements sys.FS.
func (m *FS) Stat(path string) (wasys.Stat_t, sys.Errno) { return m.statPath(path, true) }

// Lstat implements sys.FS.
func (m *FS) Lstat(path string) (wasys.Stat_t, sys.Errno) { return m.statPath(path, false) }

func (m *FS) statPath(path string, follow bool) (wasys.Stat_t, sys.Errno) {
	m.mu.Lock()
	defer m.mu.Unlock()
	at, errno := m.existing(path, follow)
	if m.audit != nil {
		op := "lstat"
		if follow {
			op = "stat"
		}
		m.auditPath(op, path, errno)
	}
	if errno != 0 {
		return wasys.Stat_t{}, errno
	}
	return at.node.stat(m.device), 0
}

// Mkdir implements sys.FS.
func (m *FS) Mkdir(path string, perm fs.FileMode) sys.Errno {
	m.mu.Lock()
	defer m.mu.Unlock()
	errno := m.mkdir(path, perm)
	m.auditPath("mkdir", path, errno)
	return errno
}

func (m *FS) mkdir(path string, perm fs.FileMode) sys.Errno {
	at, errno := m.creatable(path, true)
	if errno != 0 {
		return errno
	}
	m.attach(at.parent, at.name, m.newInode(fs.ModeDir|perm&fs.ModePerm))
	return 0
}

// Chmod implements sys.FS. Only the permission bits are kept.
func (m *FS) Chmod(path string, perm fs.FileMode) sys.Errno {
	m.mu.Lock()
	defer m.mu.Unlock()
	errno := m.chmod(path, perm)
	m.auditPath("chmod", path, errno)
	return errno
}

func (m *FS) chmod(path string, perm fs.FileMode) sys.Errno {
	at, errno := m.existing(path, true)
	if errno != 0 {
		return errno
	}
	n := at.node
	m.edit(n)
	n.mode = n.mode.Type() | perm&fs.ModePerm
	n.ctim = m.clock()
	m.touch(n)
	return 0
}

// Utimens implements sys.FS. It is not logged as a change.
func (m *FS) Utimens(path string, atim, mtim int64) sys.Errno {
	return m.utimens(path, true, atim, mtim)
}

// Lutimens is Utimens for a symbolic link itself.
func (m *FS) Lutimens(path string, atim, mtim int64) sys.Errno {
	return m.utimens(path, false, atim, mtim)
}

func (m *FS) utimens(path string, follow bool, atim, mtim int64) sys.Errno {
	m.mu.Lock()
	defer m.mu.Unlock()
	at, errno := m.existing(path, follow)
	m.auditPath("utimens", path, errno)
	if errno != 0 {
		return errno
	}
	m.edit(at.node)
	at.node.setUtimes(atim, mtim, m.clock())
	return 0
}

// Unlink implements sys.FS. A file that is open lives on until it is closed.
func (m *FS) Unlink(path string) sys.Errno {
	m.mu.Lock()
	defer m.mu.Unlock()
	errno := m.unlink(path)
	m.auditPath("unlink", path, errno)
	return errno
}

func (m *FS) unlink(path string) sys.Errno {
	at, errno := m.existing(path, false)
	switch {
	case errno != 0:
		return errno
	case at.node.isDir():
		return sys.EISDIR
	}
	m.detach(at.parent, at.name, at.node)
	return 0
}

// Rmdir implements sys.FS.
func (m *FS) Rmdir(path string) sys.Errno {
	m.mu.Lock()
	defer m.mu.Unlock()
	errno := m.rmdir(path)
	m.auditPath("rmdir", path, errno)
	return errno
}

func (m *FS) rmdir(path string) sys.Errno {
	at, errno := m.existing(path, false)
	switch {
	case errno != 0:
		return errno
	case !at.node.isDir():
		return sys.ENOTDIR
	case at.node == &m.root:
		return EBUSY
	case at.name == "":
		return sys.EINVAL
	case at.node.dir.len() > 0:
		return sys.ENOTEMPTY
	}
	m.detach(at.parent, at.name, at.node)
	return 0
}

// Symlink implements sys.FS. The target is kept as it is; it need not exist.
func (m *FS) Symlink(target, path string) sys.Errno {
	m.mu.Lock()
	defer m.mu.Unlock()
	errno := m.symlink(target, path)
	if m.audit != nil {
		m.audit(Operation{Op: "symlink", Path: path, To: target, Errno: errno})
	}
	return errno
}

func (m *FS) symlink(target, path string) sys.Errno {
	switch {
	case target == "":
		return sys.ENOENT
	case len(target) > MaxPath:
		return sys.ENAMETOOLONG
	case strings.IndexByte(target, 0) >= 0:
		return sys.EINVAL
	}
	at, errno := m.creatable(path, false)
	if errno != 0 {
		return errno
	}
	if int64(len(target)) > m.maxBytes-m.bytes {
		return ENOSPC
	}
	n := m.newInode(fs.ModeSymlink | fs.ModePerm)
	n.target = strings.Clone(target)
	m.bytes += int64(len(target))
	m.symlinks.Add(1)
	m.attach(at.parent, at.name, n)
	return 0
}

// Readlink implements sys.FS.
func (m *FS) Readlink(path string) (string, sys.Errno) {
	m.mu.Lock()
	defer m.mu.Unlock()
	at, errno := m.existing(path, false)
	m.auditPath("readlink", path, errno)
	switch {
	case errno != 0:
		return "", errno
	case !at.node.isSymlink():
		return "", sys.EINVAL
	}
	return at.node.target, 0
}

// Link implements sys.FS. A symbolic link is itself linked, not followed, as
// link(2) does on Linux; a directory is EPERM.
func (m *FS) Link(oldPath, newPath string) sys.Errno {
	m.mu.Lock()
	defer m.mu.Unlock()
	errno := m.link(oldPath, newPath)
	if m.audit != nil {
		m.audit(Operation{Op: "link", Path: oldPath, To: newPath, Errno: errno})
	}
	return errno
}

func (m *FS) link(oldPath, newPath string) sys.Errno {
	from, errno := m.existing(oldPath, false)
	if errno != 0 {
		return errno
	}
	to, errno := m.creatable(newPath, false)
	switch {
	case errno != 0:
		return errno
	case from.node.isDir():
		return sys.EPERM
	case from.node.nlink >= MaxLinks:
		return EMLINK
	}
	m.attach(to.parent, to.name, from.node)
	from.node.ctim = m.clock()
	return 0
}
