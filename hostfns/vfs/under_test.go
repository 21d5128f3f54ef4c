package vfs_test

import (
	"io/fs"
	"path"
	"strings"

	"github.com/tetratelabs/wazero/experimental/sys"
	wasys "github.com/tetratelabs/wazero/sys"
)

// under shows a directory of a file system as a root, as a guest sees it whose
// working directory it is.
type under struct {
	sys.FS
	dir string
}

func (u under) p(name string) string {
	switch {
	case name == "":
		return ""
	case strings.IndexByte(name, 0) >= 0, len(name) > 4096:
		return name
	}
	return path.Join(u.dir, path.Join("/", name))
}

func (u under) OpenFile(p string, flag sys.Oflag, perm fs.FileMode) (sys.File, sys.Errno) {
	return u.FS.OpenFile(u.p(p), flag, perm)
}
func (u under) Lstat(p string) (wasys.Stat_t, sys.Errno)   { return u.FS.Lstat(u.p(p)) }
func (u under) Stat(p string) (wasys.Stat_t, sys.Errno)    { return u.FS.Stat(u.p(p)) }
func (u under) Mkdir(p string, perm fs.FileMode) sys.Errno { return u.FS.Mkdir(u.p(p), perm) }
func (u under) Chmod(p string, perm fs.FileMode) sys.Errno { return u.FS.Chmod(u.p(p), perm) }
func (u under) Rename(a, b string) sys.Errno               { return u.FS.Rename(u.p(a), u.p(b)) }
func (u under) Rmdir(p string) sys.Errno                   { return u.FS.Rmdir(u.p(p)) }
func (u under) Unlink(p string) sys.Errno                  { return u.FS.Unlink(u.p(p)) }
func (u under) Link(a, b string) sys.Errno                 { return u.FS.Link(u.p(a), u.p(b)) }
func (u under) Symlink(t, p string) sys.Errno              { return u.FS.Symlink(t, u.p(p)) }
func (u under) Readlink(p string) (string, sys.Errno)      { return u.FS.Readlink(u.p(p)) }
func (u under) Utimens(p string, a, m int64) sys.Errno     { return u.FS.Utimens(u.p(p), a, m) }
