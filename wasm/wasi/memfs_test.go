package wasi

import (
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/tetratelabs/wazero/experimental/sys"
	wsys "github.com/tetratelabs/wazero/sys"
)

// memFS is a small file system without symbolic links. Fuzzing must not touch the host's files. It also checks what
// Options.FS promises about paths, by a panic.
type memFS struct {
	sys.UnimplementedFS
	nodes map[string]*memNode
}

type memNode struct {
	dir  bool
	data []byte
	ino  uint64
	mode fs.FileMode // of nodes that tests put there
}

const memFileMax = 1 << 16

func newMemFS() *memFS {
	return &memFS{nodes: map[string]*memNode{".": {dir: true, ino: 1}}}
}

func (m *memFS) node(name string) *memNode {
	if !fs.ValidPath(name) {
		panic("not a clean path: " + name)
	}
	return m.nodes[name]
}

func (m *memFS) parent(name string) sys.Errno {
	switch p := m.node(path.Dir(name)); {
	case p == nil:
		return sys.ENOENT
	case !p.dir:
		return sys.ENOTDIR
	}
	return 0
}

func (m *memFS) make(name string, dir bool) (*memNode, sys.Errno) {
	if e := m.parent(name); e != 0 {
		return nil, e
	}
	if len(m.nodes) > 64 {
		return nil, ENOSPC
	}
	n := &memNode{dir: dir, ino: uint64(len(m.nodes) + 1)}
	m.nodes[name] = n
	return n, 0
}

func (m *memFS) OpenFile(name string, flag sys.Oflag, _ fs.FileMode) (sys.File, sys.Errno) {
	n := m.node(name)
	switch {
	case n == nil && flag&sys.O_CREAT == 0:
		return nil, sys.ENOENT
	case n == nil:
		var e sys.Errno
		if n, e = m.make(name, false); e != 0 {
			return nil, e
		}
	case flag&sys.O_CREAT != 0 && flag&sys.O_EXCL != 0:
		return nil, sys.EEXIST
	case n.dir && flag&(sys.O_RDWR|sys.O_WRONLY) != 0:
		return nil, sys.EISDIR
	}
	if flag&sys.O_TRUNC != 0 {
		n.data = nil
	}
	return &memFile{fs: m, n: n, name: name, append: flag&sys.O_APPEND != 0}, 0
}

func (m *memFS) Lstat(name string) (wsys.Stat_t, sys.Errno) { return m.Stat(name) }

func (m *memFS) Stat(name string) (wsys.Stat_t, sys.Errno) {
	if n := m.node(name); n != nil {
		return n.stat(), 0
	}
	return wsys.Stat_t{}, sys.ENOENT
}

func (n *memNode) stat() wsys.Stat_t {
	st := wsys.Stat_t{Ino: n.ino, Size: int64(len(n.data)), Nlink: 1, Mode: n.mode}
	if n.dir {
		st.Mode = fs.ModeDir
	}
	return st
}

func (m *memFS) Mkdir(name string, _ fs.FileMode) sys.Errno {
	if m.node(name) != nil {
		return sys.EEXIST
	}
	_, e := m.make(name, true)
	return e
}

func (m *memFS) Unlink(name string) sys.Errno {
	switch n := m.node(name); {
	case n == nil:
		return sys.ENOENT
	case n.dir:
		return sys.EISDIR
	}
	delete(m.nodes, name)
	return 0
}

func (m *memFS) Rmdir(name string) sys.Errno {
	switch n := m.node(name); {
	case n == nil:
		return sys.ENOENT
	case !n.dir:
		return sys.ENOTDIR
	case len(m.names(name)) > 0:
		return sys.ENOTEMPTY
	}
	delete(m.nodes, name)
	return 0
}

func (m *memFS) Rename(from, to string) sys.Errno {
	n := m.node(from)
	if n == nil {
		return sys.ENOENT
	}
	if n.dir {
		return sys.ENOTSUP
	}
	if e := m.parent(to); e != 0 {
		return e
	}
	if old := m.node(to); old != nil && old.dir {
		return sys.EISDIR
	}
	delete(m.nodes, from)
	m.nodes[to] = n
	return 0
}

func (m *memFS) Utimens(string, int64, int64) sys.Errno { return 0 }

func (m *memFS) names(dir string) (names []string) {
	for name := range m.nodes {
		if name != "." && path.Dir(name) == dir {
			names = append(names, path.Base(name))
		}
	}
	slices.Sort(names)
	return names
}

type memFile struct {
	sys.UnimplementedFile
	fs     *memFS
	n      *memNode
	name   string
	pos    int64
	append bool
	list   []string
	listed bool
}

func (f *memFile) Ino() (uint64, sys.Errno)                    { return f.n.ino, 0 }
func (f *memFile) IsDir() (bool, sys.Errno)                    { return f.n.dir, 0 }
func (f *memFile) Stat() (wsys.Stat_t, sys.Errno)              { return f.n.stat(), 0 }
func (f *memFile) SetAppend(on bool) sys.Errno                 { f.append = on; return 0 }
func (f *memFile) Utimens(int64, int64) sys.Errno              { return 0 }
func (f *memFile) Read(b []byte) (int, sys.Errno)              { return f.advance(f.Pread(b, f.pos)) }
func (f *memFile) advance(n int, e sys.Errno) (int, sys.Errno) { f.pos += int64(n); return n, e }

func (f *memFile) Write(b []byte) (int, sys.Errno) {
	if f.append {
		f.pos = int64(len(f.n.data))
	}
	return f.advance(f.Pwrite(b, f.pos))
}

func (f *memFile) Pread(b []byte, off int64) (int, sys.Errno) {
	n, err := strings.NewReader(string(f.n.data)).ReadAt(b, off)
	if err != nil && err != io.EOF {
		return 0, sys.EINVAL
	}
	return n, 0
}

func (f *memFile) Pwrite(b []byte, off int64) (int, sys.Errno) {
	end := off + int64(len(b))
	if end > memFileMax {
		return 0, ENOSPC
	}
	if grow := end - int64(len(f.n.data)); grow > 0 {
		f.n.data = append(f.n.data, make([]byte, grow)...)
	}
	return copy(f.n.data[off:], b), 0
}

func (f *memFile) Truncate(size int64) sys.Errno {
	if size > memFileMax {
		return ENOSPC
	}
	f.n.data = append(f.n.data, make([]byte, max(0, size-int64(len(f.n.data))))...)[:size]
	return 0
}

// offset is another name of int64, since vet takes every Seek(int64, int) for that of package io.
type offset = int64

func (f *memFile) Seek(off offset, whence int) (int64, sys.Errno) {
	switch whence {
	case io.SeekCurrent:
		off += f.pos
	case io.SeekEnd:
		off += int64(len(f.n.data))
	}
	if off < 0 {
		return 0, sys.EINVAL
	}
	f.pos, f.listed = off, false
	return off, 0
}

func (f *memFile) Readdir(n int) ([]sys.Dirent, sys.Errno) {
	if !f.listed {
		f.list, f.listed = f.fs.names(f.name), true
	}
	n = min(n, len(f.list))
	var out []sys.Dirent
	for _, name := range f.list[:n] {
		out = append(out, sys.Dirent{Name: name})
	}
	f.list = f.list[n:]
	return out, 0
}
