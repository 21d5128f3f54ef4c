package wasi

import (
	"io/fs"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/tetratelabs/wazero/experimental/sys"
	wsys "github.com/tetratelabs/wazero/sys"
)

// maxPath is the limit of a path in bytes, given or resolved, as on Linux (PATH_MAX).
const maxPath = 4096

// lookupFollow is the only bit of lookupflags: follow a symbolic link at the end of the path.
const lookupFollow = 1

// A target is a path of the guest, made relative to the root of the file system.
type target struct {
	fs      sys.FS
	name    string // clean, without a slash at either end; "." is the root
	mustDir bool   // the guest ended it as only a directory can be: "a/", "a/."
}

// target resolves the path at ptr against the directory fd. ".." never climbs above the root, and an absolute path is
// relative to the root.
func (c call) target(fd, ptr, n uint32) (target, errno) {
	dir := c.p.lookup(fd)
	if dir == nil {
		return target{}, errBadf
	}
	if dir.stale != nil {
		return target{}, errStale
	}
	if !dir.dir() {
		return target{}, errNotdir
	}
	given, e := c.pathString(ptr, n)
	if e != success {
		return target{}, e
	}
	base := dir.path
	if given[0] == '/' {
		base = ""
	}
	// Cleaning a rooted path is what keeps ".." inside.
	name := path.Clean("/" + base + "/" + given)[1:]
	if len(name) > maxPath {
		return target{}, errNameLong
	}
	if name == "" {
		name = "."
	}
	last := given[strings.LastIndexByte(given, '/')+1:]
	return target{c.p.fs, name, last == "" || last == "." || last == ".."}, success
}

// pathString copies a path from guest memory.
func (c call) pathString(ptr, n uint32) (string, errno) {
	switch {
	case n == 0:
		return "", errNoent
	case n > maxPath:
		return "", errNameLong
	}
	b, ok := c.mem.Read(ptr, n)
	if !ok {
		return "", errFault
	}
	s := string(b)
	if strings.IndexByte(s, 0) >= 0 {
		return "", errInval
	}
	if !utf8.ValidString(s) {
		return "", errIlseq // preview 1 paths are UTF-8
	}
	return s, success
}

func (t target) root() bool { return t.name == "." }

// stat is Stat or Lstat, and ENOTDIR if the guest asked for a directory.
func (t target) stat(follow bool) (wsys.Stat_t, errno) {
	stat := t.fs.Lstat
	if follow || t.mustDir {
		stat = t.fs.Stat
	}
	st, e := stat(t.name)
	if e == 0 && t.mustDir && !st.Mode.IsDir() {
		e = sys.ENOTDIR
	}
	return st, toErrno(e)
}

// symlink says whether the target itself is a symbolic link.
func (t target) symlink() bool {
	st, e := t.fs.Lstat(t.name)
	return e == 0 && st.Mode&fs.ModeSymlink != 0
}
