package vfs

import "github.com/tetratelabs/wazero/experimental/sys"

// Rename implements sys.FS: atomic, over an existing file or an empty
// directory. Two names of the same file are left as they are, as POSIX says.
func (m *FS) Rename(from, to string) sys.Errno {
	m.mu.Lock()
	defer m.mu.Unlock()
	errno := m.rename(from, to)
	if m.audit != nil {
		m.audit(Operation{Op: "rename", Path: from, To: to, Errno: errno})
	}
	return errno
}

func (m *FS) rename(from, to string) sys.Errno {
	src, errno := m.existing(from, false)
	if errno != 0 {
		return errno
	}
	dst, errno := m.walk(to, false)
	if errno != 0 {
		return errno
	}
	if src.node == &m.root || dst.node == &m.root {
		return EBUSY
	}
	if src.name == "" || (dst.node != nil && dst.name == "") {
		return sys.EINVAL // ends in "." or ".."
	}
	if src.node == dst.node {
		return 0
	}
	if errno = m.renamable(src, dst); errno != 0 {
		return errno
	}
	if dst.node != nil {
		m.replace(dst, src)
		return 0
	}
	m.move(src, dst)
	return 0
}

func (m *FS) renamable(src, dst walked) sys.Errno {
	if !src.node.isDir() {
		switch {
		case dst.node != nil && dst.node.isDir():
			return sys.EISDIR
		case dst.slash:
			return sys.ENOTDIR
		}
		return 0
	}
	for d := dst.parent; d != nil; d = d.parent {
		if d == src.node {
			return sys.EINVAL // into itself
		}
	}
	switch {
	case dst.node != nil && !dst.node.isDir():
		return sys.ENOTDIR
	case dst.node != nil && dst.node.dir.len() > 0:
		return sys.ENOTEMPTY
	case src.parent != dst.parent && dst.parent.depth()+src.node.height() >= MaxDepth:
		return sys.ENAMETOOLONG
	}
	return 0
}

// move gives src another name.
func (m *FS) move(src, dst walked) {
	n := src.node
	m.touchName(src.parent, src.name, n, removed)
	m.touchName(dst.parent, dst.name, n, created)
	m.editRename(src, dst)
	src.parent.dir.remove(src.name)
	m.nameGone(src.parent, src.name)
	n.dropLink(src.parent, src.name)
	if dst.parent.dir == nil {
		dst.parent.dir = &dirTable{}
	}
	dst.parent.dir.add(dst.name, n)
	n.addLink(dst.parent, dst.name)
	m.moved(src, dst)
}

// replace gives src the name that dst has now. The name keeps its place in the
// directory, so a reader of the directory sees it exactly once.
func (m *FS) replace(dst, src walked) {
	n, old := src.node, dst.node
	m.touchName(src.parent, src.name, n, removed)
	m.touchName(dst.parent, dst.name, old, changed)
	if m.log != nil && n.dir != nil {
		m.touchPath(joinInode(dst.parent, dst.name), n, created)
	}
	m.editRename(src, dst)
	m.edit(old)
	src.parent.dir.remove(src.name)
	m.nameGone(src.parent, src.name)
	n.dropLink(src.parent, src.name)
	dst.parent.dir.replace(dst.name, n)
	old.dropLink(dst.parent, dst.name)
	n.addLink(dst.parent, dst.name)
	m.files--
	old.ctim = m.clock()
	if old.isDir() {
		dst.parent.nlink--
	}
	m.unlinked(old)
	m.moved(src, dst)
}

// editRename comes before every change of a rename.
func (m *FS) editRename(src, dst walked) {
	m.editName(src.parent, src.name)
	m.editName(dst.parent, dst.name)
	m.edit(src.node)
	if m.disk != nil {
		m.disk.hardOK = false // paths of hard links may change
	}
}

// moved keeps link counts and times after a rename.
func (m *FS) moved(src, dst walked) {
	if src.node.isDir() && src.parent != dst.parent {
		src.parent.nlink--
		dst.parent.nlink++
	}
	now := m.clock()
	src.node.ctim = now
	src.parent.modified(now)
	dst.parent.modified(now)
}
