package wasi

import (
	"io/fs"
	"sync"

	"github.com/tetratelabs/wazero/experimental/sys"
	wsys "github.com/tetratelabs/wazero/sys"
)

// outside has file operations run through Options.Block while the guest has several threads, so that the others do not
// wait for a disk. Operations still run one at a time.
type outside struct {
	p  *Process
	mu *sync.Mutex // one operation at a time; forks of the process have the same
}

// maxBounce is the limit of bytes that an operation outside moves at once. They go through a buffer, as guest memory may
// only be touched by the thread that runs.
const maxBounce = 1 << 20

// shared tells whether the guest has other threads than the one that calls.
func (o *outside) shared() bool {
	p := o.p
	return p.shared != nil && p.calling != nil && p.shared(p.calling)
}

// do runs f, and others may run meanwhile.
func (o *outside) do(f func()) {
	if !o.shared() {
		o.quick(f)
		return
	}
	ctx := o.p.calling
	o.p.block(ctx, func() { o.quick(f) })
	o.p.calling = ctx
}

// quick runs f, which never takes long, while all wait.
func (o *outside) quick(f func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	f()
}

func (o *outside) errno(f func() sys.Errno) (e sys.Errno) {
	o.do(func() { e = f() })
	return e
}

func (o *outside) stat(f func() (wsys.Stat_t, sys.Errno)) (st wsys.Stat_t, e sys.Errno) {
	o.do(func() { st, e = f() })
	return st, e
}

// outsideFS is the file system of a process.
type outsideFS struct {
	sys.FS
	o *outside
}

func (s outsideFS) OpenFile(path string, flag sys.Oflag, perm fs.FileMode) (sys.File, sys.Errno) {
	var f sys.File
	var e sys.Errno
	returned := false
	defer func() {
		// The thread may be ended while it is outside; then nobody gets the file.
		if !returned && f != nil {
			f.Close()
		}
	}()
	s.o.do(func() { f, e = s.FS.OpenFile(path, flag, perm) })
	returned = true
	if e != 0 {
		return f, e
	}
	return outsideFile{f, s.o}, 0
}

func (s outsideFS) Lstat(path string) (wsys.Stat_t, sys.Errno) {
	return s.o.stat(func() (wsys.Stat_t, sys.Errno) { return s.FS.Lstat(path) })
}

func (s outsideFS) Stat(path string) (wsys.Stat_t, sys.Errno) {
	return s.o.stat(func() (wsys.Stat_t, sys.Errno) { return s.FS.Stat(path) })
}

func (s outsideFS) Mkdir(path string, perm fs.FileMode) sys.Errno {
	return s.o.errno(func() sys.Errno { return s.FS.Mkdir(path, perm) })
}

func (s outsideFS) Chmod(path string, perm fs.FileMode) sys.Errno {
	return s.o.errno(func() sys.Errno { return s.FS.Chmod(path, perm) })
}

func (s outsideFS) Rename(from, to string) sys.Errno {
	return s.o.errno(func() sys.Errno { return s.FS.Rename(from, to) })
}

func (s outsideFS) Rmdir(path string) sys.Errno {
	return s.o.errno(func() sys.Errno { return s.FS.Rmdir(path) })
}

func (s outsideFS) Unlink(path string) sys.Errno {
	return s.o.errno(func() sys.Errno { return s.FS.Unlink(path) })
}

func (s outsideFS) Link(from, to string) sys.Errno {
	return s.o.errno(func() sys.Errno { return s.FS.Link(from, to) })
}

func (s outsideFS) Symlink(content, path string) sys.Errno {
	return s.o.errno(func() sys.Errno { return s.FS.Symlink(content, path) })
}

func (s outsideFS) Readlink(path string) (link string, e sys.Errno) {
	s.o.do(func() { link, e = s.FS.Readlink(path) })
	return link, e
}

func (s outsideFS) Utimens(path string, atim, mtim int64) sys.Errno {
	return s.o.errno(func() sys.Errno { return s.FS.Utimens(path, atim, mtim) })
}

// Lutimens implements Lutimenser as far as the file system does.
func (s outsideFS) Lutimens(path string, atim, mtim int64) sys.Errno {
	l, ok := s.FS.(Lutimenser)
	if !ok {
		return sys.ENOTSUP
	}
	return s.o.errno(func() sys.Errno { return l.Lutimens(path, atim, mtim) })
}

// outsideFile is an open file of a process.
type outsideFile struct {
	sys.File
	o *outside
}

func (f outsideFile) Ino() (ino wsys.Inode, e sys.Errno) {
	f.o.quick(func() { ino, e = f.File.Ino() })
	return ino, e
}

func (f outsideFile) IsDir() (dir bool, e sys.Errno) {
	f.o.quick(func() { dir, e = f.File.IsDir() })
	return dir, e
}

func (f outsideFile) SetAppend(on bool) (e sys.Errno) {
	f.o.quick(func() { e = f.File.SetAppend(on) })
	return e
}

// fileOffset is int64 by a name that go vet does not take for io.Seeker's.
type fileOffset = int64

func (f outsideFile) Seek(offset fileOffset, whence int) (pos int64, e sys.Errno) {
	f.o.quick(func() { pos, e = f.File.Seek(offset, whence) })
	return pos, e
}

// Readdir is quick so that a directory is listed in one go, whoever else may list it.
func (f outsideFile) Readdir(n int) (list []sys.Dirent, e sys.Errno) {
	f.o.quick(func() { list, e = f.File.Readdir(n) })
	return list, e
}

func (f outsideFile) Stat() (wsys.Stat_t, sys.Errno) { return f.o.stat(f.File.Stat) }

func (f outsideFile) Truncate(size int64) sys.Errno {
	return f.o.errno(func() sys.Errno { return f.File.Truncate(size) })
}

func (f outsideFile) Sync() sys.Errno { return f.o.errno(f.File.Sync) }

func (f outsideFile) Datasync() sys.Errno { return f.o.errno(f.File.Datasync) }

func (f outsideFile) Utimens(atim, mtim int64) sys.Errno {
	return f.o.errno(func() sys.Errno { return f.File.Utimens(atim, mtim) })
}

func (f outsideFile) Close() sys.Errno { return f.o.errno(f.File.Close) }

func (f outsideFile) Read(buf []byte) (int, sys.Errno) {
	return f.o.move(buf, false, func(b []byte, _ int) (int, sys.Errno) { return f.File.Read(b) })
}

func (f outsideFile) Pread(buf []byte, off int64) (int, sys.Errno) {
	return f.o.move(buf, false, func(b []byte, done int) (int, sys.Errno) { return f.File.Pread(b, off+int64(done)) })
}

func (f outsideFile) Write(buf []byte) (int, sys.Errno) {
	return f.o.move(buf, true, func(b []byte, _ int) (int, sys.Errno) { return f.File.Write(b) })
}

func (f outsideFile) Pwrite(buf []byte, off int64) (int, sys.Errno) {
	return f.o.move(buf, true, func(b []byte, done int) (int, sys.Errno) { return f.File.Pwrite(b, off+int64(done)) })
}

// move reads into buf or writes from it, a view of guest memory, piece by piece. op gets what came before its piece.
func (o *outside) move(buf []byte, write bool, op func(b []byte, done int) (int, sys.Errno)) (n int, e sys.Errno) {
	if !o.shared() {
		o.quick(func() { n, e = op(buf, 0) })
		return n, e
	}
	bounce := make([]byte, min(len(buf), maxBounce))
	for done := 0; ; {
		piece := buf[done:min(done+maxBounce, len(buf))]
		b := bounce[:len(piece)]
		if write {
			copy(b, piece)
		}
		o.do(func() { n, e = op(b, done) })
		n = min(max(n, 0), len(piece))
		if !write {
			copy(piece, b[:n])
		}
		done += n
		switch {
		case e != 0 && done > 0:
			return done, 0 // the next call meets the error again
		case e != 0 || n < len(piece) || done == len(buf):
			return done, e
		}
	}
}
