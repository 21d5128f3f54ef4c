package vfs

import (
	"os"
	"path"
	"strings"

	"github.com/tetratelabs/wazero/experimental/sys"
)

// Rename implements sys.FS. os.Root refuses to replace a directory; an empty
// one is removed first, so that case alone is not atomic.
func (h *hostFS) Rename(from, to string) sys.Errno {
	from, errno := h.change(from)
	if errno != 0 {
		return errno
	}
	if to, errno = h.change(to); errno != 0 {
		return errno
	}
	if from == "." || to == "." {
		return EBUSY
	}
	src, err := h.root.Lstat(from)
	if err != nil {
		return hostErrno(err)
	}
	if dst, err := h.root.Lstat(to); err == nil {
		switch {
		case src.IsDir() && strings.HasPrefix(to, from+"/"):
			return sys.EINVAL
		case os.SameFile(src, dst): // by another path, or another name of one file
			return 0
		case src.IsDir() && !dst.IsDir():
			return sys.ENOTDIR
		case !src.IsDir() && dst.IsDir():
			return sys.EISDIR
		case dst.IsDir():
			if err := h.root.Remove(to); err != nil {
				if errno := hostErrno(err); errno != sys.EEXIST {
					return errno
				}
				return sys.ENOTEMPTY
			}
			if err := h.root.Rename(from, to); err != nil { // into itself by way of a link, say
				h.root.Mkdir(to, dst.Mode().Perm())
				return hostErrno(err)
			}
			return 0
		}
	}
	return hostErrno(h.root.Rename(from, to))
}

// Link implements sys.FS.
func (h *hostFS) Link(oldPath, newPath string) sys.Errno {
	oldPath, errno := h.change(oldPath)
	if errno != 0 {
		return errno
	}
	if newPath, errno = h.change(newPath); errno != 0 {
		return errno
	}
	info, err := h.root.Lstat(oldPath)
	switch {
	case err != nil:
		return hostErrno(err)
	case info.IsDir():
		return sys.EPERM
	case newPath == ".":
		return sys.EEXIST
	}
	return hostErrno(h.root.Link(oldPath, newPath))
}

// Symlink implements sys.FS. Absolute targets, and relative ones that lead
// above the root by their text, are EPERM.
func (h *hostFS) Symlink(target, name string) sys.Errno {
	name, errno := h.change(name)
	if errno != 0 {
		return errno
	}
	switch {
	case target == "":
		return sys.ENOENT
	case len(target) > MaxPath:
		return sys.ENAMETOOLONG
	case strings.IndexByte(target, 0) >= 0:
		return sys.EINVAL
	case name == ".":
		return sys.EEXIST
	case leads(path.Dir(path.Clean(name)), target):
		return sys.EPERM
	}
	return hostErrno(h.root.Symlink(target, name))
}

// leads reports whether a link in dir leads out of the root by its text.
func leads(dir, target string) bool {
	if strings.HasPrefix(target, "/") || strings.ContainsAny(target, `\:`) {
		return true // the latter two are Windows's ways of being absolute
	}
	p := path.Join(dir, target)
	return p == ".." || strings.HasPrefix(p, "../")
}
