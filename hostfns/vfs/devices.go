package vfs

import (
	"crypto/rand"
	"errors"
	"io"
	"io/fs"

	"github.com/tetratelabs/wazero/experimental/sys"
	wasys "github.com/tetratelabs/wazero/sys"
)

// Devices returns the file system for /dev: null, zero, random and urandom, which programs take for granted. The last two
// read from random, which has to be safe for concurrent use; nil stands for crypto/rand. It is read-only as a directory and
// safe for concurrent use.
func Devices(random io.Reader) sys.FS {
	if random == nil {
		random = rand.Reader
	}
	return devices{random: random}
}

type devices struct {
	sys.UnimplementedFS
	random io.Reader
}

// reader says what reading a device gives; writing is dropped everywhere, as the kernel does.
func (d devices) reader(name string) io.Reader {
	switch name {
	case "null":
		return eof{}
	case "zero":
		return zeros{}
	case "random", "urandom":
		return d.random
	}
	return nil
}

var deviceNames = []string{"null", "random", "urandom", "zero"}

type eof struct{}

func (eof) Read([]byte) (int, error) { return 0, io.EOF }

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func (d devices) stat(name string) (wasys.Stat_t, sys.Errno) {
	name, errno := viewPath(name)
	if errno != 0 {
		return wasys.Stat_t{}, errno
	}
	st := wasys.Stat_t{Ino: viewIno(name), Nlink: 1, Mode: fs.ModeDevice | fs.ModeCharDevice | 0o666}
	if name == "." {
		st.Mode = fs.ModeDir | 0o755
		return st, 0
	}
	if d.reader(name) == nil {
		return wasys.Stat_t{}, sys.ENOENT
	}
	return st, 0
}

// Stat implements sys.FS.
func (d devices) Stat(name string) (wasys.Stat_t, sys.Errno) { return d.stat(name) }

// Lstat implements sys.FS.
func (d devices) Lstat(name string) (wasys.Stat_t, sys.Errno) { return d.stat(name) }

// hasLinks implements linkProber.
func (devices) hasLinks(string, bool) bool { return false }

// OpenFile implements sys.FS.
func (d devices) OpenFile(name string, flag sys.Oflag, _ fs.FileMode) (sys.File, sys.Errno) {
	st, errno := d.stat(name)
	switch {
	case errno == sys.ENOENT && flag&sys.O_CREAT != 0:
		return nil, sys.EROFS
	case errno != 0:
		return nil, errno
	case flag&(sys.O_CREAT|sys.O_EXCL) == sys.O_CREAT|sys.O_EXCL:
		return nil, sys.EEXIST
	case st.Mode.IsDir() && flag&accessMode != sys.O_RDONLY:
		return nil, sys.EISDIR
	case !st.Mode.IsDir() && flag&sys.O_DIRECTORY != 0:
		return nil, sys.ENOTDIR
	case st.Mode.IsDir():
		return &deviceDir{st: st}, 0
	}
	return &device{st: st, reader: d.reader(cleanName(name))}, 0
}

func readOnly() sys.Errno { return sys.EROFS }

// Mkdir implements sys.FS.
func (devices) Mkdir(string, fs.FileMode) sys.Errno { return readOnly() }

// Chmod implements sys.FS.
func (devices) Chmod(string, fs.FileMode) sys.Errno { return readOnly() }

// Rename implements sys.FS.
func (devices) Rename(string, string) sys.Errno { return readOnly() }

// Rmdir implements sys.FS.
func (devices) Rmdir(string) sys.Errno { return readOnly() }

// Unlink implements sys.FS.
func (devices) Unlink(string) sys.Errno { return readOnly() }

// Link implements sys.FS.
func (devices) Link(string, string) sys.Errno { return readOnly() }

// Symlink implements sys.FS.
func (devices) Symlink(string, string) sys.Errno { return readOnly() }

// Readlink implements sys.FS.
func (d devices) Readlink(name string) (string, sys.Errno) {
	if _, errno := d.stat(name); errno != 0 {
		return "", errno
	}
	return "", sys.EINVAL
}

// Utimens implements sys.FS.
func (devices) Utimens(string, int64, int64) sys.Errno { return readOnly() }

// device is an open device. It has no position.
type device struct {
	sys.UnimplementedFile
	st     wasys.Stat_t
	reader io.Reader
}

func (f *device) Dev() (uint64, sys.Errno)        { return f.st.Dev, 0 }
func (f *device) Ino() (wasys.Inode, sys.Errno)   { return f.st.Ino, 0 }
func (f *device) IsDir() (bool, sys.Errno)        { return false, 0 }
func (f *device) IsAppend() bool                  { return false }
func (f *device) SetAppend(bool) sys.Errno        { return 0 }
func (f *device) Stat() (wasys.Stat_t, sys.Errno) { return f.st, 0 }
func (f *device) Write(p []byte) (int, sys.Errno) { return len(p), 0 }
func (f *device) Truncate(int64) sys.Errno        { return 0 }
func (f *device) Sync() sys.Errno                 { return 0 }
func (f *device) Datasync() sys.Errno             { return 0 }
func (f *device) Utimens(int64, int64) sys.Errno  { return 0 }
func (f *device) Close() sys.Errno                { return 0 }

func (f *device) Read(p []byte) (int, sys.Errno) {
	n, err := f.reader.Read(p)
	if err != nil && n == 0 && !errors.Is(err, io.EOF) {
		return 0, sys.EIO
	}
	return n, 0
}

func (f *device) Pread(p []byte, _ int64) (int, sys.Errno)  { return f.Read(p) }
func (f *device) Pwrite(p []byte, _ int64) (int, sys.Errno) { return len(p), 0 }

// Seek succeeds and goes nowhere, as on Linux.
func (f *device) Seek(fileOffset, int) (int64, sys.Errno) { return 0, 0 }

// deviceDir is the open directory.
type deviceDir struct {
	sys.UnimplementedFile
	st   wasys.Stat_t
	next int
}

func (f *deviceDir) Dev() (uint64, sys.Errno)        { return f.st.Dev, 0 }
func (f *deviceDir) Ino() (wasys.Inode, sys.Errno)   { return f.st.Ino, 0 }
func (f *deviceDir) IsDir() (bool, sys.Errno)        { return true, 0 }
func (f *deviceDir) Stat() (wasys.Stat_t, sys.Errno) { return f.st, 0 }
func (f *deviceDir) Read([]byte) (int, sys.Errno)    { return 0, sys.EISDIR }
func (f *deviceDir) Sync() sys.Errno                 { return 0 }
func (f *deviceDir) Datasync() sys.Errno             { return 0 }
func (f *deviceDir) Close() sys.Errno                { return 0 }

// Seek rewinds.
func (f *deviceDir) Seek(offset fileOffset, whence int) (int64, sys.Errno) {
	if offset != 0 || whence != io.SeekStart {
		return 0, sys.EISDIR
	}
	f.next = 0
	return 0, 0
}

func (f *deviceDir) Readdir(n int) ([]sys.Dirent, sys.Errno) {
	left := deviceNames[f.next:]
	if n >= 0 && n < len(left) {
		left = left[:n]
	}
	f.next += len(left)
	var out []sys.Dirent
	for _, name := range left {
		out = append(out, sys.Dirent{Ino: viewIno(name), Name: name, Type: fs.ModeDevice | fs.ModeCharDevice})
	}
	return out, 0
}
