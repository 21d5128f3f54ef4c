package vfs

import (
	"hash/fnv"
	"io/fs"
	"path"
	"strings"

	"github.com/tetratelabs/wazero/experimental/sys"
	"github.com/tetratelabs/wazero/experimental/sysfs"
	wasys "github.com/tetratelabs/wazero/sys"
)

// FromFS returns a read-only view of an fs.FS, for embedded files and archives.
// Changes are EROFS. Symbolic links are what fsys makes of them. Files that
// cannot seek (those of a compressed zip) can only be read from start to end.
// Inode numbers are made from the paths, since io/fs has none.
func FromFS(fsys fs.FS) sys.FS {
	return &viewFS{ReadFS: sysfs.ReadFS{FS: &sysfs.AdaptFS{FS: fsys}}}
}

type viewFS struct{ sysfs.ReadFS }

// hasLinks implements linkProber.
func (v *viewFS) hasLinks(string, bool) bool { return false }

func viewPath(name string) (string, sys.Errno) {
	if errno := checkPath(name); errno != 0 {
		return "", errno
	}
	return cleanName(name), 0
}

func viewIno(name string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(name))
	return h.Sum64() | 1 // never 0, which means unknown
}

// OpenFile implements sys.FS.
func (v *viewFS) OpenFile(name string, flag sys.Oflag, perm fs.FileMode) (sys.File, sys.Errno) {
	name, errno := viewPath(name)
	if errno != 0 {
		return nil, errno
	}
	writes := flag&(sys.O_CREAT|sys.O_TRUNC) != 0 || flag&accessMode != sys.O_RDONLY
	st, errno := v.Stat(name)
	isDir := st.Mode.IsDir()
	switch {
	case errno == sys.ENOENT && flag&sys.O_CREAT != 0:
		return nil, sys.EROFS
	case errno != 0:
		return nil, errno
	case flag&(sys.O_CREAT|sys.O_EXCL) == sys.O_CREAT|sys.O_EXCL:
		return nil, sys.EEXIST
	case isDir && writes:
		return nil, sys.EISDIR
	case writes:
		return nil, sys.EROFS
	case !isDir && flag&sys.O_DIRECTORY != 0:
		return nil, sys.ENOTDIR
	}
	f, errno := v.ReadFS.OpenFile(name, sys.O_RDONLY, 0)
	if errno != 0 {
		return nil, errno
	}
	return &viewFile{File: f, name: name, isDir: isDir}, 0
}

// Stat implements sys.FS.
func (v *viewFS) Stat(name string) (wasys.Stat_t, sys.Errno) {
	name, errno := viewPath(name)
	if errno != 0 {
		return wasys.Stat_t{}, errno
	}
	// An fs.FS answers "not found" for a path below a file; POSIX says ENOTDIR.
	st, errno := v.ReadFS.Stat(name)
	if errno == sys.ENOENT && strings.Contains(name, "/") {
		if up, e := v.Stat(path.Dir(name)); e != 0 || !up.Mode.IsDir() {
			if e == 0 || e == sys.ENOTDIR {
				errno = sys.ENOTDIR
			}
		}
	}
	st.Ino = viewIno(name)
	return st, errno
}

// Lstat implements sys.FS.
func (v *viewFS) Lstat(name string) (wasys.Stat_t, sys.Errno) { return v.Stat(name) }

// Readlink implements sys.FS.
func (v *viewFS) Readlink(name string) (string, sys.Errno) {
	if _, errno := v.Stat(name); errno != 0 {
		return "", errno
	}
	return "", sys.EINVAL
}

type viewFile struct {
	sys.File
	name  string
	isDir bool
}

// Ino implements sys.File.
func (f *viewFile) Ino() (wasys.Inode, sys.Errno) { return viewIno(f.name), 0 }

// Stat implements sys.File.
func (f *viewFile) Stat() (wasys.Stat_t, sys.Errno) {
	st, errno := f.File.Stat()
	st.Ino = viewIno(f.name)
	return st, errno
}

// Readdir implements sys.File.
func (f *viewFile) Readdir(n int) ([]sys.Dirent, sys.Errno) {
	if !f.isDir {
		return nil, sys.ENOTDIR
	}
	entries, errno := f.File.Readdir(n)
	for i := range entries {
		entries[i].Ino = viewIno(cleanName(f.name + "/" + entries[i].Name))
	}
	return entries, errno
}

// Sync implements sys.File: there is nothing to write.
func (f *viewFile) Sync() sys.Errno { return 0 }

// Datasync implements sys.File.
func (f *viewFile) Datasync() sys.Errno { return 0 }

// Utimens implements sys.File.
func (f *viewFile) Utimens(int64, int64) sys.Errno { return sys.EROFS }
