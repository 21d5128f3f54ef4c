package vfs

import (
	"io/fs"
	"path"

	"github.com/tetratelabs/wazero/experimental/sys"
	wasys "github.com/tetratelabs/wazero/sys"
)

// OpenFile implements sys.FS.
func (t *Tree) OpenFile(name string, flag sys.Oflag, perm fs.FileMode) (sys.File, sys.Errno) {
	exclusive := flag&(sys.O_CREAT|sys.O_EXCL) == sys.O_CREAT|sys.O_EXCL
	at, mounts, errno := t.resolve(name, !exclusive && flag&sys.O_NOFOLLOW == 0)
	if errno != 0 {
		return nil, errno
	}
	if aboveMount(mounts, at.path) {
		return openAbove(at, mounts, flag)
	}
	f, errno := at.mount.fs.OpenFile(at.rel, flag, perm)
	if errno != 0 {
		if flag&sys.O_CREAT != 0 {
			errno = at.creating(mounts, errno)
		}
		return nil, errno
	}
	return &treeFile{File: f, device: at.mount.device}, 0
}

// Stat implements sys.FS.
func (t *Tree) Stat(name string) (wasys.Stat_t, sys.Errno) { return t.stat(name, true) }

// Lstat implements sys.FS.
func (t *Tree) Lstat(name string) (wasys.Stat_t, sys.Errno) { return t.stat(name, false) }

func (t *Tree) stat(name string, follow bool) (wasys.Stat_t, sys.Errno) {
	at, mounts, errno := t.resolve(name, follow)
	if errno != 0 {
		return wasys.Stat_t{}, errno
	}
	return at.stat(mounts, follow)
}

func (p place) stat(mounts []mount, follow bool) (st wasys.Stat_t, errno sys.Errno) {
	if follow {
		st, errno = p.mount.fs.Stat(p.rel)
	} else {
		st, errno = p.mount.fs.Lstat(p.rel)
	}
	if p.rel != "." && (errno != 0 || !st.Mode.IsDir()) && aboveMount(mounts, p.path) {
		return syntheticStat(p), 0
	}
	st.Dev = p.mount.device
	return st, errno
}

// creating corrects the error of making something in a directory that only
// exists because a mount lies below it.
func (p place) creating(mounts []mount, errno sys.Errno) sys.Errno {
	if errno != sys.ENOENT && errno != sys.ENOTDIR || p.rel == "." {
		return errno
	}
	dir := path.Dir(p.path)
	if dir == "." || !aboveMount(mounts, dir) {
		return errno
	}
	return sys.EROFS
}

// Mkdir implements sys.FS.
func (t *Tree) Mkdir(name string, perm fs.FileMode) sys.Errno {
	at, mounts, errno := t.resolve(name, false)
	switch {
	case errno != 0:
		return errno
	case at.pinned(mounts):
		return sys.EEXIST
	}
	return at.creating(mounts, at.mount.fs.Mkdir(at.rel, perm))
}

// Chmod implements sys.FS.
func (t *Tree) Chmod(name string, perm fs.FileMode) sys.Errno {
	at, mounts, errno := t.resolve(name, true)
	if errno != 0 {
		return errno
	}
	return at.changing(mounts, at.mount.fs.Chmod(at.rel, perm))
}

// Utimens implements sys.FS.
func (t *Tree) Utimens(name string, atim, mtim int64) sys.Errno {
	at, mounts, errno := t.resolve(name, true)
	if errno != 0 {
		return errno
	}
	return at.changing(mounts, at.mount.fs.Utimens(at.rel, atim, mtim))
}

// changing corrects the error of changing a directory that only exists because
// a mount lies below it.
func (p place) changing(mounts []mount, errno sys.Errno) sys.Errno {
	if errno == sys.ENOENT && aboveMount(mounts, p.path) {
		return sys.EROFS
	}
	return errno
}

// Unlink implements sys.FS.
func (t *Tree) Unlink(name string) sys.Errno {
	at, mounts, errno := t.resolve(name, false)
	switch {
	case errno != 0:
		return errno
	case at.pinned(mounts):
		return sys.EISDIR
	}
	return at.mount.fs.Unlink(at.rel)
}

// Rmdir implements sys.FS.
func (t *Tree) Rmdir(name string) sys.Errno {
	at, mounts, errno := t.resolve(name, false)
	switch {
	case errno != 0:
		return errno
	case at.pinned(mounts):
		return EBUSY
	}
	return at.mount.fs.Rmdir(at.rel)
}

// Readlink implements sys.FS.
func (t *Tree) Readlink(name string) (string, sys.Errno) {
	at, mounts, errno := t.resolve(name, false)
	switch {
	case errno != 0:
		return "", errno
	case at.pinned(mounts):
		return "", sys.EINVAL
	}
	return at.mount.fs.Readlink(at.rel)
}

// Symlink implements sys.FS.
func (t *Tree) Symlink(target, name string) sys.Errno {
	at, mounts, errno := t.resolve(name, false)
	switch {
	case errno != 0:
		return errno
	case at.pinned(mounts):
		return sys.EEXIST
	}
	return at.creating(mounts, at.mount.fs.Symlink(target, at.rel))
}

// Rename implements sys.FS.
func (t *Tree) Rename(from, to string) sys.Errno {
	src, dst, mounts, errno := t.pair(from, to)
	switch {
	case errno != 0:
		return errno
	case src.pinned(mounts) || dst.pinned(mounts):
		return EBUSY
	case src.mount != dst.mount:
		return t.across(src, dst, mounts)
	}
	return dst.creating(mounts, src.mount.fs.Rename(src.rel, dst.rel))
}

// Link implements sys.FS.
func (t *Tree) Link(oldPath, newPath string) sys.Errno {
	src, dst, mounts, errno := t.pair(oldPath, newPath)
	switch {
	case errno != 0:
		return errno
	case src.pinned(mounts):
		return sys.EPERM
	case dst.pinned(mounts):
		return sys.EEXIST
	case src.mount != dst.mount:
		return t.across(src, dst, mounts)
	}
	return dst.creating(mounts, src.mount.fs.Link(src.rel, dst.rel))
}

func (t *Tree) pair(from, to string) (src, dst place, mounts []mount, errno sys.Errno) {
	if src, mounts, errno = t.resolve(from, false); errno != 0 {
		return
	}
	dst, again, errno := t.resolve(to, false)
	if len(again) != len(mounts) { // a Mount came between the two
		return t.pair(from, to)
	}
	return src, dst, again, errno
}

// across is the answer to a rename or link between mounts: a missing source
// stays ENOENT, so that callers do not copy what is not there.
func (t *Tree) across(src, dst place, mounts []mount) sys.Errno {
	if _, errno := src.stat(mounts, false); errno != 0 {
		return errno
	}
	return EXDEV
}

// Lutimens is Utimens for a symbolic link itself, where the mounted file system can do that.
func (t *Tree) Lutimens(name string, atim, mtim int64) sys.Errno {
	at, mounts, errno := t.resolve(name, false)
	if errno != 0 {
		return errno
	}
	l, ok := at.mount.fs.(interface {
		Lutimens(path string, atim, mtim int64) sys.Errno
	})
	if !ok {
		return sys.ENOTSUP
	}
	return at.changing(mounts, l.Lutimens(at.rel, atim, mtim))
}
