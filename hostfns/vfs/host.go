package vfs

import (
	"io/fs"
	"os"
	"path"
	"strings"
	"time"

	"github.com/tetratelabs/wazero/experimental/sys"
	wasys "github.com/tetratelabs/wazero/sys"
)

// hostFS exposes a host directory through os.Root and nothing else.
type hostFS struct {
	sys.UnimplementedFS
	root     *os.Root
	readOnly bool
}

// Host returns a file system over a host directory. Every access goes through
// root, so neither ".." nor a symbolic link nor a race with one leads out of
// it; such a path is EACCES. With readOnly every change is EROFS. Only regular
// files and directories can be opened: a device, FIFO or socket is EACCES and
// never waited for. A symbolic link that would point out of the directory is
// not made (EPERM), because another host process might follow it.
//
// The caller keeps root open while the file system is in use and closes it
// afterwards. There are no quotas: a writable directory is as big as its disk.
// Guests act with the rights of this process, bounded by the host's permission
// bits.
func Host(root *os.Root, readOnly bool) sys.FS {
	return &hostFS{root: root, readOnly: readOnly}
}

// OpenHost opens dir and returns it as [Host] does, and the function that
// closes it. The error names dir and is for the operator, not the guest.
func OpenHost(dir string, writable bool) (sys.FS, func() error, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, nil, err
	}
	return Host(root, !writable), root.Close, nil
}

// hostPath checks a guest path and makes it one for os.Root.
func hostPath(name string) (string, sys.Errno) {
	if errno := checkPath(name); errno != 0 {
		return "", errno
	}
	slash := strings.HasSuffix(name, "/")
	if name = strings.TrimLeft(name, "/"); name == "" {
		return ".", 0
	}
	if strings.Contains(name, "..") || strings.Contains(name, "//") {
		name = path.Clean(name)
		if name == ".." || strings.HasPrefix(name, "../") {
			return "", sys.EACCES
		}
		if slash && name != "." {
			name += "/"
		}
	}
	return name, 0
}

// change is hostPath for calls that write; the root itself cannot be changed.
func (h *hostFS) change(name string) (string, sys.Errno) {
	if h.readOnly {
		return "", sys.EROFS
	}
	return hostPath(name)
}

// hasLinks implements linkProber: os.Root follows links inside the root itself,
// so a Tree need only resolve a path that leads out of it.
func (h *hostFS) hasLinks(name string, follow bool) bool {
	_, err := h.stat(name, follow)
	return isEscape(err)
}

func (h *hostFS) stat(name string, follow bool) (fs.FileInfo, error) {
	name, errno := hostPath(name)
	if errno != 0 {
		return nil, errno
	}
	if follow {
		return h.root.Stat(name)
	}
	return h.root.Lstat(name)
}

// Stat implements sys.FS.
func (h *hostFS) Stat(name string) (wasys.Stat_t, sys.Errno) { return statResult(h.stat(name, true)) }

// Lstat implements sys.FS.
func (h *hostFS) Lstat(name string) (wasys.Stat_t, sys.Errno) { return statResult(h.stat(name, false)) }

func statResult(info fs.FileInfo, err error) (wasys.Stat_t, sys.Errno) {
	if err != nil {
		return wasys.Stat_t{}, hostErrno(err)
	}
	return wasys.NewStat_t(info), 0
}

// Readlink implements sys.FS.
func (h *hostFS) Readlink(name string) (string, sys.Errno) {
	name, errno := hostPath(name)
	if errno != 0 {
		return "", errno
	}
	target, err := h.root.Readlink(name)
	return strings.ReplaceAll(target, `\`, "/"), hostErrno(err)
}

// Mkdir implements sys.FS.
func (h *hostFS) Mkdir(name string, perm fs.FileMode) sys.Errno {
	name, errno := h.change(name)
	if errno != 0 {
		return errno
	}
	if name == "." {
		return sys.EEXIST
	}
	return hostErrno(h.root.Mkdir(name, perm&fs.ModePerm))
}

// Chmod implements sys.FS.
func (h *hostFS) Chmod(name string, perm fs.FileMode) sys.Errno {
	name, errno := h.change(name)
	if errno != 0 {
		return errno
	}
	return hostErrno(h.root.Chmod(name, perm&fs.ModePerm))
}

// Utimens implements sys.FS.
func (h *hostFS) Utimens(name string, atim, mtim int64) sys.Errno {
	name, errno := h.change(name)
	if errno != 0 {
		return errno
	}
	return hostErrno(h.root.Chtimes(name, hostTime(atim), hostTime(mtim)))
}

// hostTime is a time for Chtimes, which leaves a time alone when it is zero.
func hostTime(t int64) time.Time {
	if t == sys.UTIME_OMIT {
		return time.Time{}
	}
	return time.Unix(0, t)
}

// Unlink implements sys.FS.
func (h *hostFS) Unlink(name string) sys.Errno {
	name, errno := h.change(name)
	if errno != 0 {
		return errno
	}
	info, err := h.root.Lstat(name)
	switch {
	case err != nil:
		return hostErrno(err)
	case info.IsDir():
		return sys.EISDIR
	}
	return hostErrno(h.root.Remove(name))
}

// Rmdir implements sys.FS.
func (h *hostFS) Rmdir(name string) sys.Errno {
	name, errno := h.change(name)
	if errno != 0 {
		return errno
	}
	info, err := h.root.Lstat(name)
	switch {
	case err != nil:
		return hostErrno(err)
	case !info.IsDir():
		return sys.ENOTDIR
	case name == ".":
		return EBUSY
	}
	return hostErrno(h.root.Remove(name))
}
