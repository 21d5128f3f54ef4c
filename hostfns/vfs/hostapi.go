package vfs

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/tetratelabs/wazero/experimental/sys"
)

// The methods in this file are for the Go side. Paths are as everywhere in the
// package, with or without a leading slash; errors are *fs.PathError whose
// cause matches vfs and wazero codes and fs.ErrNotExist and its kin.

// Info describes one file of a [FS].
type Info struct {
	// Path is relative to the root of the file system; "." is the root.
	Path string
	// Mode holds the type and the permission bits.
	Mode fs.FileMode
	// Size is the logical size in bytes of a regular file, or the length of a
	// symbolic link's target.
	Size int64
	// ModTime is the last change of content.
	ModTime time.Time
	// Ino is the inode number: the same for two names of one file.
	Ino uint64
	// Target is a symbolic link's target.
	Target string
}

// IsDir reports whether the file is a directory.
func (i Info) IsDir() bool { return i.Mode.IsDir() }

func (n *inode) info(path string) Info {
	i := Info{Path: path, Mode: n.mode, ModTime: time.Unix(0, n.mtim), Ino: n.ino, Target: n.target}
	if !n.isDir() {
		i.Size = n.stat(0).Size
	}
	return i
}

func cleanName(name string) string {
	if name = strings.TrimLeft(path.Clean("/"+name), "/"); name == "" {
		return "."
	}
	return name
}

// ReadFile returns the content of a file. A sparse file whose logical size is
// over MaxBytes (or over DefaultMaxBytes, when there is no bound) is refused with
// EFBIG; read it with OpenFile.
func (m *FS) ReadFile(name string) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	data, errno := m.readFile(name)
	if m.audit != nil {
		m.audit(Operation{Op: "read", Path: name, Length: int64(len(data)), Errno: errno})
	}
	return data, pathError("read", name, errno)
}

func (m *FS) readFile(name string) ([]byte, sys.Errno) {
	at, errno := m.existing(name, true)
	switch {
	case errno != 0:
	case at.node.isDir():
		errno = sys.EISDIR
	case at.node.size > min(m.maxBytes, max(m.bytes, DefaultMaxBytes)):
		errno = EFBIG
	}
	if errno != 0 {
		return nil, errno
	}
	data := make([]byte, at.node.size)
	n, errno := m.readAt(at.node, data, 0)
	if errno == 0 && n < len(data) { // what follows cannot be loaded
		_, errno = m.readAt(at.node, data[n:], int64(n))
	}
	if errno != 0 {
		return nil, errno
	}
	return data, 0
}

// WriteFile makes a file or replaces its content; perm is used when it is made.
// When the quota does not allow all of data the error is ENOSPC and the file is
// left short.
func (m *FS) WriteFile(name string, data []byte, perm fs.FileMode) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, errno := m.writeFile(name, data, perm)
	if m.audit != nil {
		m.audit(Operation{Op: "write", Path: name, Length: int64(n), Errno: errno})
	}
	return pathError("write", name, errno)
}

func (m *FS) writeFile(name string, data []byte, perm fs.FileMode) (int, sys.Errno) {
	f, errno := m.open(name, sys.O_WRONLY|sys.O_CREAT|sys.O_TRUNC, perm)
	if errno != 0 {
		return 0, errno
	}
	defer m.closed(f.node)
	n, errno := m.writeAt(f.node, data, 0)
	if errno == 0 && n < len(data) {
		errno = ENOSPC
	}
	return n, errno
}

// MkdirAll makes a directory and the parents that are missing.
func (m *FS) MkdirAll(name string, perm fs.FileMode) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	errno := m.mkdirAll(cleanName(name), perm)
	m.auditPath("mkdir", name, errno)
	return pathError("mkdir", name, errno)
}

func (m *FS) mkdirAll(name string, perm fs.FileMode) sys.Errno {
	if at, errno := m.walk(name, true); errno == 0 && at.node != nil {
		if at.node.isDir() {
			return 0
		}
		return sys.ENOTDIR
	}
	for end := 0; end < len(name); end++ {
		if i := strings.IndexByte(name[end:], '/'); i >= 0 {
			end += i
		} else {
			end = len(name)
		}
		if errno := m.mkdir(name[:end], perm); errno != 0 && errno != sys.EEXIST {
			return errno
		}
	}
	if at, errno := m.existing(name, true); errno != 0 || !at.node.isDir() {
		return sys.ENOTDIR // a dangling link, say
	}
	return 0
}

// StatFile describes a file, following symbolic links.
func (m *FS) StatFile(name string) (Info, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	at, errno := m.existing(name, true)
	m.auditPath("stat", name, errno)
	if errno != 0 {
		return Info{}, pathError("stat", name, errno)
	}
	return at.node.info(cleanName(name)), nil
}

// List describes the entries of a directory, sorted by name. Symbolic links are
// not followed.
func (m *FS) List(name string) ([]Info, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	at, errno := m.existing(name, true)
	if errno == 0 && !at.node.isDir() {
		errno = sys.ENOTDIR
	}
	m.auditPath("readdir", name, errno)
	if errno != 0 {
		return nil, pathError("list", name, errno)
	}
	out := make([]Info, 0, at.node.dir.len())
	if d := at.node.dir; d != nil {
		for i := range d.order {
			if e := &d.order[i]; e.node != nil {
				out = append(out, e.node.info(cleanName(name+"/"+e.name)))
			}
		}
	}
	slices.SortFunc(out, func(a, b Info) int { return strings.Compare(a.Path, b.Path) })
	return out, nil
}

// WalkDir calls fn for name and everything below it, in lexical order, without
// following symbolic links. fn may return [fs.SkipDir] or [fs.SkipAll], and may
// use the file system; what it changes may or may not be visited.
func (m *FS) WalkDir(name string, fn func(Info) error) error {
	root, err := m.StatFile(name)
	if err != nil {
		return err
	}
	if err = m.walkDir(root, fn); errors.Is(err, fs.SkipAll) || errors.Is(err, fs.SkipDir) {
		err = nil
	}
	return err
}

func (m *FS) walkDir(at Info, fn func(Info) error) error {
	if err := fn(at); err != nil || !at.IsDir() {
		return err
	}
	entries, err := m.List(at.Path)
	if errors.Is(err, fs.ErrNotExist) || ErrnoOf(err) == sys.ENOTDIR {
		return nil // went away meanwhile
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		err := m.walkDir(e, fn)
		if errors.Is(err, fs.SkipDir) {
			if e.IsDir() {
				continue
			}
			return nil // the rest of this directory
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Remove removes a file, a symbolic link, or a directory with all it contains.
// Removing the root empties it. A missing file is an error.
func (m *FS) Remove(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	at, errno := m.existing(cleanName(name), false)
	m.auditPath("remove", name, errno)
	if errno != 0 {
		return pathError("remove", name, errno)
	}
	m.removeBelow(at.node)
	if at.node != &m.root {
		m.detach(at.parent, at.name, at.node)
	}
	return nil
}

func (m *FS) removeBelow(n *inode) {
	for n.dir.len() > 0 {
		// Entries shift when the table compacts, so take them by name.
		names := make([]string, 0, n.dir.live)
		for i := range n.dir.order {
			if n.dir.order[i].node != nil {
				names = append(names, n.dir.order[i].name)
			}
		}
		for _, name := range names {
			c := n.dir.lookup(name)
			m.removeBelow(c)
			m.detach(n, name, c)
		}
	}
}
