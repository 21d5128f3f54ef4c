package vfs

import (
	"strings"

	"github.com/tetratelabs/wazero/experimental/sys"
)

// walked is where a path leads.
type walked struct {
	parent *inode // directory that holds, or would hold, name
	name   string // empty when the path ends at the root, "." or ".."
	node   *inode // nil: does not exist, and may be made
	slash  bool   // the path ended in a slash: only a directory will do
}

// checkPath refuses what no file system call accepts.
func checkPath(path string) sys.Errno {
	switch {
	case path == "":
		return sys.ENOENT
	case len(path) > MaxPath:
		return sys.ENAMETOOLONG
	case strings.IndexByte(path, 0) >= 0:
		return sys.EINVAL
	}
	return 0
}

// walk resolves a path. Symbolic links in the middle are followed, a last one
// when follow is set or a slash follows it. A missing last component is no
// error: node is nil then.
func (m *FS) walk(path string, follow bool) (walked, sys.Errno) {
	if errno := checkPath(path); errno != 0 {
		return walked{}, errno
	}
	at := walked{node: &m.root}
	hops := 0
	for rest := path; ; {
		// Cut the next component off, and the slashes around it.
		rest = strings.TrimLeft(rest, "/")
		if rest == "" {
			break
		}
		comp := rest
		if i := strings.IndexByte(rest, '/'); i >= 0 {
			comp, rest = rest[:i], rest[i:]
		} else {
			rest = ""
		}
		dir := at.node
		if dir == nil {
			return walked{}, sys.ENOENT
		}
		if !dir.isDir() {
			return walked{}, sys.ENOTDIR
		}
		if len(comp) > MaxName {
			return walked{}, sys.ENAMETOOLONG
		}
		switch comp {
		case ".":
			at = walked{node: dir}
			continue
		case "..":
			if dir.parent != nil {
				dir = dir.parent
			}
			at = walked{node: dir}
			continue
		}
		n := dir.dir.lookup(comp)
		if n != nil && n.isSymlink() && (follow || rest != "") {
			if hops++; hops > MaxSymlinks {
				return walked{}, sys.ELOOP
			}
			if len(n.target)+len(rest) > 2*MaxPath {
				return walked{}, sys.ENAMETOOLONG
			}
			at = walked{node: dir}
			if n.target[0] == '/' {
				at.node = &m.root
			}
			rest = n.target + rest
			continue
		}
		at = walked{parent: dir, name: comp, node: n, slash: rest != "" && strings.Trim(rest, "/") == ""}
	}
	if at.slash && at.node != nil && !at.node.isDir() {
		return walked{}, sys.ENOTDIR
	}
	return at, 0
}

// existing resolves a path that must exist.
func (m *FS) existing(path string, follow bool) (walked, sys.Errno) {
	at, errno := m.walk(path, follow)
	if errno == 0 && at.node == nil {
		errno = sys.ENOENT
	}
	return at, errno
}

// creatable resolves a path that must not exist and checks that it may be made.
func (m *FS) creatable(path string, dir bool) (walked, sys.Errno) {
	at, errno := m.walk(path, false)
	switch {
	case errno != 0:
		return at, errno
	case at.node != nil:
		return at, sys.EEXIST
	case at.slash && !dir:
		return at, sys.ENOENT
	}
	return at, m.room(at.parent, dir)
}

// room checks the limits for one more name in dir.
func (m *FS) room(dir *inode, isDir bool) sys.Errno {
	if m.files >= m.maxFiles {
		return ENOSPC
	}
	if isDir && dir.depth()+1 >= MaxDepth {
		return sys.ENAMETOOLONG
	}
	return 0
}
