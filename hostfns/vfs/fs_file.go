package vfs

import (
	"io"

	"github.com/tetratelabs/wazero/experimental/sys"
	wasys "github.com/tetratelabs/wazero/sys"
)

// fileOffset is int64 under a name that keeps go vet from taking sys.File's Seek
// for a misspelt io.Seeker.
type fileOffset = int64

// memFile is an open file or directory of a FS. The FS's mutex guards
// it; node is never nil.
type memFile struct {
	sys.UnimplementedFile
	fs     *FS
	node   *inode
	flag   sys.Oflag
	closed bool
	offset int64 // regular files

	// Directories: entries with cursor <= seq < end are still to be read. end is
	// fixed when reading begins so that a loop that adds entries ends.
	cursor, end uint64
	reading     bool
}

func (f *memFile) reads() bool  { return f.flag&accessMode != sys.O_WRONLY }
func (f *memFile) writes() bool { return f.flag&accessMode != sys.O_RDONLY }

// lock takes the mutex and checks the file; on success the caller unlocks.
func (f *memFile) lock() sys.Errno {
	f.fs.mu.Lock()
	switch {
	case f.closed:
		f.fs.mu.Unlock()
		return sys.EBADF
	case f.node.flags&dead != 0:
		f.fs.mu.Unlock()
		return ESTALE
	}
	return 0
}

// Dev implements sys.File.
func (f *memFile) Dev() (uint64, sys.Errno) { return f.fs.device, 0 }

// Ino implements sys.File.
func (f *memFile) Ino() (wasys.Inode, sys.Errno) { return f.node.ino, 0 }

// IsDir implements sys.File.
func (f *memFile) IsDir() (bool, sys.Errno) {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	return f.node.isDir(), 0
}

// IsAppend implements sys.File.
func (f *memFile) IsAppend() bool {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	return f.flag&sys.O_APPEND != 0
}

// SetAppend implements sys.File.
func (f *memFile) SetAppend(enable bool) sys.Errno {
	if errno := f.lock(); errno != 0 {
		return errno
	}
	defer f.fs.mu.Unlock()
	switch {
	case f.node.isDir():
		return sys.EISDIR
	case enable:
		f.flag |= sys.O_APPEND
	default:
		f.flag &^= sys.O_APPEND
	}
	return 0
}

// Stat implements sys.File.
func (f *memFile) Stat() (wasys.Stat_t, sys.Errno) {
	if errno := f.lock(); errno != 0 {
		return wasys.Stat_t{}, errno
	}
	defer f.fs.mu.Unlock()
	f.audited("stat", 0, 0, 0)
	return f.node.stat(f.fs.device), 0
}

// Read implements sys.File.
func (f *memFile) Read(buf []byte) (int, sys.Errno) {
	if errno := f.lock(); errno != 0 {
		return 0, errno
	}
	defer f.fs.mu.Unlock()
	n, errno := f.readAt(buf, f.offset)
	f.offset += int64(n)
	return n, errno
}

// Pread implements sys.File.
func (f *memFile) Pread(buf []byte, off int64) (int, sys.Errno) {
	if errno := f.lock(); errno != 0 {
		return 0, errno
	}
	defer f.fs.mu.Unlock()
	return f.readAt(buf, off)
}

func (f *memFile) readAt(buf []byte, off int64) (n int, errno sys.Errno) {
	switch {
	case f.node.isDir():
		errno = sys.EISDIR
	case !f.reads():
		errno = sys.EBADF
	case off < 0:
		errno = sys.EINVAL
	default:
		n, errno = f.fs.readAt(f.node, buf, off)
	}
	f.audited("read", off, int64(n), errno)
	return n, errno
}

// Write implements sys.File. A short count without an error means that the
// quota ended there, as on a full disk; the next write is ENOSPC.
func (f *memFile) Write(buf []byte) (int, sys.Errno) {
	if errno := f.lock(); errno != 0 {
		return 0, errno
	}
	defer f.fs.mu.Unlock()
	if f.flag&sys.O_APPEND != 0 && f.writes() {
		f.offset = f.node.size
	}
	n, errno := f.writeAt(buf, f.offset)
	f.offset += int64(n)
	return n, errno
}

// Pwrite implements sys.File. The offset counts even with O_APPEND (POSIX).
func (f *memFile) Pwrite(buf []byte, off int64) (int, sys.Errno) {
	if errno := f.lock(); errno != 0 {
		return 0, errno
	}
	defer f.fs.mu.Unlock()
	return f.writeAt(buf, off)
}

func (f *memFile) writeAt(buf []byte, off int64) (n int, errno sys.Errno) {
	if f.writes() {
		n, errno = f.fs.writeAt(f.node, buf, off)
	} else {
		errno = f.notWritable(sys.EBADF)
	}
	f.audited("write", off, int64(n), errno)
	return n, errno
}

// Truncate implements sys.File. A file not open for writing is EINVAL, as
// ftruncate(2) says.
func (f *memFile) Truncate(size int64) sys.Errno {
	if errno := f.lock(); errno != 0 {
		return errno
	}
	defer f.fs.mu.Unlock()
	errno := f.notWritable(sys.EINVAL)
	if f.writes() {
		errno = f.fs.truncate(f.node, size)
	}
	f.audited("truncate", 0, size, errno)
	return errno
}

func (f *memFile) notWritable(otherwise sys.Errno) sys.Errno {
	if f.node.isDir() {
		return sys.EISDIR
	}
	return otherwise
}

// Seek implements sys.File. Seeking past the end is allowed and allocates
// nothing. A directory can only be rewound.
func (f *memFile) Seek(offset fileOffset, whence int) (int64, sys.Errno) {
	if errno := f.lock(); errno != 0 {
		return 0, errno
	}
	defer f.fs.mu.Unlock()
	if f.node.isDir() {
		if offset != 0 || whence != io.SeekStart {
			return 0, sys.EISDIR
		}
		f.rewind()
		return 0, 0
	}
	base := int64(0)
	switch whence {
	case io.SeekStart:
	case io.SeekCurrent:
		base = f.offset
	case io.SeekEnd:
		base = f.node.size
	default:
		return 0, sys.EINVAL
	}
	at := base + offset
	if at < 0 { // also an overflow, as both sides are bounded by int64
		return 0, sys.EINVAL
	}
	f.offset = at
	return at, 0
}

func (f *memFile) rewind() { f.cursor, f.end, f.reading = 0, 0, false }

// Readdir implements sys.File: entries in the order they were made. Those that
// are added after reading began are not returned, those that are removed before
// they are reached neither, all others exactly once.
func (f *memFile) Readdir(n int) ([]sys.Dirent, sys.Errno) {
	if errno := f.lock(); errno != 0 {
		return nil, errno
	}
	defer f.fs.mu.Unlock()
	switch {
	case !f.node.isDir():
		return nil, sys.ENOTDIR
	case f.node.nlink == 0:
		return nil, sys.ENOENT
	}
	if !f.reading {
		f.reading = true
		if f.node.dir != nil {
			f.end = f.node.dir.next
		}
	}
	var out []sys.Dirent
	out, f.cursor = f.node.dir.list(f.cursor, f.end, n)
	f.audited("readdir", 0, int64(len(out)), 0)
	return out, 0
}

// Utimens implements sys.File.
func (f *memFile) Utimens(atim, mtim int64) sys.Errno {
	if errno := f.lock(); errno != 0 {
		return errno
	}
	defer f.fs.mu.Unlock()
	f.fs.edit(f.node)
	f.node.setUtimes(atim, mtim, f.fs.clock())
	f.audited("utimens", 0, 0, 0)
	return 0
}

// Sync implements sys.File.
func (f *memFile) Sync() sys.Errno {
	errno := f.lock()
	if errno == 0 {
		f.audited("sync", 0, 0, 0)
		f.fs.mu.Unlock()
	}
	return errno
}

// Datasync implements sys.File.
func (f *memFile) Datasync() sys.Errno { return f.Sync() }

// Close implements sys.File. Closing twice does nothing.
func (f *memFile) Close() sys.Errno {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if !f.closed {
		f.closed = true
		f.fs.closed(f.node)
		f.audited("close", 0, 0, 0)
	}
	return 0
}
