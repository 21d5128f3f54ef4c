package vfs

import (
	"io"
	"io/fs"
	"strings"
	"sync"

	"github.com/tetratelabs/wazero/experimental/sys"
	wasys "github.com/tetratelabs/wazero/sys"
)

// treeFile gives a file the device number of its mount.
type treeFile struct {
	sys.File
	device uint64
}

// Dev implements sys.File.
func (f *treeFile) Dev() (uint64, sys.Errno) { return f.device, 0 }

// Stat implements sys.File.
func (f *treeFile) Stat() (wasys.Stat_t, sys.Errno) {
	st, errno := f.File.Stat()
	st.Dev = f.device
	return st, errno
}

// syntheticStat describes a directory that no file system has.
func syntheticStat(p place) wasys.Stat_t {
	return wasys.Stat_t{
		Dev: p.mount.device, Ino: viewIno(p.path), Mode: fs.ModeDir | 0o555, Nlink: 2, Size: 4096,
	}
}

// openAbove opens a directory that mounts lie below.
func openAbove(at place, mounts []mount, flag sys.Oflag) (sys.File, sys.Errno) {
	switch {
	case flag&(sys.O_CREAT|sys.O_EXCL) == sys.O_CREAT|sys.O_EXCL:
		return nil, sys.EEXIST
	case flag&(sys.O_CREAT|sys.O_TRUNC) != 0 || flag&accessMode != sys.O_RDONLY:
		return nil, sys.EISDIR
	}
	d := &treeDir{extra: children(at, mounts)}
	f, errno := at.mount.fs.OpenFile(at.rel, flag|sys.O_DIRECTORY, 0)
	if errno != 0 {
		f = syntheticDir{st: syntheticStat(at)}
	}
	d.treeFile = treeFile{File: f, device: at.mount.device}
	return d, 0
}

// children are the entries of a directory that mounts put there.
func children(at place, mounts []mount) []sys.Dirent {
	prefix := at.path
	if prefix != "" {
		prefix += "/"
	}
	var out []sys.Dirent
	seen := map[string]bool{}
	for i := len(mounts) - 1; i >= 0; i-- { // shortest first: points before what is below them
		m := &mounts[i]
		if !below(m.path, at.path) {
			continue
		}
		name, _, _ := strings.Cut(m.path[len(prefix):], "/")
		if seen[name] {
			continue
		}
		seen[name] = true
		child := lookup(mounts, prefix+name)
		st, errno := child.stat(mounts, true)
		if errno != 0 {
			st = syntheticStat(child) // a mount that is broken is still there
		}
		out = append(out, sys.Dirent{Ino: st.Ino, Name: name, Type: fs.ModeDir})
	}
	return out
}

// treeDir lists the entries of a directory, then the mount points in it.
type treeDir struct {
	treeFile
	mu    sync.Mutex
	extra []sys.Dirent
	next  int  // next of extra
	ended bool // the directory itself is read to its end
}

// Readdir implements sys.File.
func (d *treeDir) Readdir(n int) ([]sys.Dirent, sys.Errno) {
	d.mu.Lock()
	defer d.mu.Unlock()
	var out []sys.Dirent
	// Hidden entries are dropped, so one read may be too few: a short answer
	// would mean the end.
	for !d.ended && (n <= 0 || len(out) < n) {
		want := n - len(out)
		if n <= 0 {
			want = 0
		}
		got, errno := d.File.Readdir(want)
		if errno != 0 {
			return out, errno
		}
		d.ended = n <= 0 || len(got) < want
		for _, e := range got {
			if !d.hides(e.Name) {
				out = append(out, e)
			}
		}
	}
	for d.ended && d.next < len(d.extra) && (n <= 0 || len(out) < n) {
		out = append(out, d.extra[d.next])
		d.next++
	}
	return out, 0
}

func (d *treeDir) hides(name string) bool {
	for i := range d.extra {
		if d.extra[i].Name == name {
			return true
		}
	}
	return false
}

// Seek implements sys.File.
func (d *treeDir) Seek(offset fileOffset, whence int) (int64, sys.Errno) {
	if offset != 0 || whence != io.SeekStart {
		return 0, sys.EISDIR
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.next, d.ended = 0, false
	return d.File.Seek(0, io.SeekStart)
}

// syntheticDir is an open directory that no file system has: it is empty but
// for mount points.
type syntheticDir struct {
	sys.UnimplementedFile
	sys.DirFile
	st wasys.Stat_t
}

func (syntheticDir) IsDir() (bool, sys.Errno)                { return true, 0 }
func (syntheticDir) IsAppend() bool                          { return false }
func (syntheticDir) SetAppend(bool) sys.Errno                { return sys.EISDIR }
func (syntheticDir) Read([]byte) (int, sys.Errno)            { return 0, sys.EISDIR }
func (syntheticDir) Pread([]byte, int64) (int, sys.Errno)    { return 0, sys.EISDIR }
func (syntheticDir) Write([]byte) (int, sys.Errno)           { return 0, sys.EISDIR }
func (syntheticDir) Pwrite([]byte, int64) (int, sys.Errno)   { return 0, sys.EISDIR }
func (syntheticDir) Truncate(int64) sys.Errno                { return sys.EISDIR }
func (syntheticDir) Utimens(int64, int64) sys.Errno          { return sys.EROFS }
func (syntheticDir) Seek(fileOffset, int) (int64, sys.Errno) { return 0, 0 }
func (syntheticDir) Readdir(int) ([]sys.Dirent, sys.Errno)   { return nil, 0 }
func (d syntheticDir) Ino() (wasys.Inode, sys.Errno)         { return d.st.Ino, 0 }
func (d syntheticDir) Stat() (wasys.Stat_t, sys.Errno)       { return d.st, 0 }
