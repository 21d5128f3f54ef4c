package vfs

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"sync"

	"github.com/tetratelabs/wazero/experimental/sys"
	wasys "github.com/tetratelabs/wazero/sys"
)

var errSpecial = errors.New("not a regular file or directory")

// openRegular opens a regular file or directory. The type is checked before, so
// that a device is not even opened, and on the open file, so that a file put in
// its place meanwhile does not get through; the open itself does not wait.
func openRegular(root *os.Root, name string, flag int, perm fs.FileMode) (*os.File, error) {
	if info, err := root.Stat(name); err == nil && special(info) {
		return nil, errSpecial
	}
	f, _, err := openChecked(root, name, flag, perm)
	return f, err
}

// openChecked is openRegular without the check before.
func openChecked(root *os.Root, name string, flag int, perm fs.FileMode) (*os.File, fs.FileInfo, error) {
	f, err := root.OpenFile(name, flag|openNonblock, perm)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil && special(info) {
		err = errSpecial
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

func special(info fs.FileInfo) bool { return !info.Mode().IsRegular() && !info.IsDir() }

// OpenFile implements sys.FS.
func (h *hostFS) OpenFile(name string, flag sys.Oflag, perm fs.FileMode) (sys.File, sys.Errno) {
	name, errno := hostPath(name)
	if errno != 0 {
		return nil, errno
	}
	goFlag, errno := h.openFlags(flag)
	if errno != 0 {
		return nil, errno
	}
	if errno = h.checkOpen(name, flag, goFlag); errno != 0 {
		return nil, errno
	}
	f, info, err := openChecked(h.root, name, goFlag, perm&fs.ModePerm)
	if err != nil {
		return nil, hostErrno(err)
	}
	if flag&sys.O_DIRECTORY != 0 && !info.IsDir() {
		f.Close()
		return nil, sys.ENOTDIR
	}
	return &hostFile{fs: h, f: f, name: name, st: wasys.NewStat_t(info), flag: flag}, 0
}

// checkOpen looks at what is there before it is opened. What is missing, or
// cannot be looked at, is left to the open itself.
func (h *hostFS) checkOpen(name string, flag sys.Oflag, goFlag int) sys.Errno {
	exclusive := goFlag&(os.O_CREATE|os.O_EXCL) == os.O_CREATE|os.O_EXCL
	info, err := h.stat(name, !exclusive && flag&sys.O_NOFOLLOW == 0)
	switch {
	case err != nil:
		return 0
	case exclusive:
		return sys.EEXIST
	case info.Mode()&fs.ModeSymlink != 0:
		return sys.ELOOP
	case info.IsDir() && goFlag&^os.O_SYNC != os.O_RDONLY:
		return sys.EISDIR
	case special(info):
		return sys.EACCES
	}
	return 0
}

// openFlags translates flags. O_APPEND is not passed on: hostFile appends by
// itself, because the Go runtime refuses WriteAt on a file in append mode.
func (h *hostFS) openFlags(flag sys.Oflag) (int, sys.Errno) {
	goFlag := os.O_RDONLY
	switch flag & accessMode {
	case sys.O_RDONLY:
	case sys.O_RDWR:
		goFlag = os.O_RDWR
	case sys.O_WRONLY:
		goFlag = os.O_WRONLY
	default:
		return 0, sys.EINVAL
	}
	if flag&(sys.O_CREAT|sys.O_DIRECTORY) == sys.O_CREAT|sys.O_DIRECTORY {
		return 0, sys.EINVAL
	}
	if flag&sys.O_CREAT != 0 {
		goFlag |= os.O_CREATE
		if flag&sys.O_EXCL != 0 {
			goFlag |= os.O_EXCL
		}
	}
	if flag&sys.O_TRUNC != 0 {
		goFlag |= os.O_TRUNC
	}
	if flag&(sys.O_SYNC|sys.O_DSYNC) != 0 {
		goFlag |= os.O_SYNC
	}
	if h.readOnly && goFlag&(os.O_RDWR|os.O_WRONLY|os.O_CREATE|os.O_TRUNC) != 0 {
		return 0, sys.EROFS
	}
	return goFlag, 0
}

// hostFile is an open host file. The mutex orders appends and directory reads.
type hostFile struct {
	sys.UnimplementedFile
	fs   *hostFS
	f    *os.File
	name string
	st   wasys.Stat_t // as of open: dev, ino and type do not change

	mu   sync.Mutex
	flag sys.Oflag
}

func (f *hostFile) isDir() bool { return f.st.Mode.IsDir() }

// Dev implements sys.File.
func (f *hostFile) Dev() (uint64, sys.Errno) { return f.st.Dev, 0 }

// Ino implements sys.File.
func (f *hostFile) Ino() (wasys.Inode, sys.Errno) { return f.st.Ino, 0 }

// IsDir implements sys.File.
func (f *hostFile) IsDir() (bool, sys.Errno) { return f.isDir(), 0 }

// IsAppend implements sys.File.
func (f *hostFile) IsAppend() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.flag&sys.O_APPEND != 0
}

// SetAppend implements sys.File.
func (f *hostFile) SetAppend(enable bool) sys.Errno {
	if f.isDir() {
		return sys.EISDIR
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.flag &^= sys.O_APPEND; enable {
		f.flag |= sys.O_APPEND
	}
	return 0
}

// Stat implements sys.File.
func (f *hostFile) Stat() (wasys.Stat_t, sys.Errno) { return statResult(f.f.Stat()) }

// Read implements sys.File.
func (f *hostFile) Read(buf []byte) (int, sys.Errno) {
	if len(buf) == 0 && !f.isDir() {
		return 0, 0
	}
	n, err := f.f.Read(buf)
	return n, hostErrno(ignoreEOF(err))
}

// Pread implements sys.File.
func (f *hostFile) Pread(buf []byte, off int64) (int, sys.Errno) {
	switch {
	case f.isDir():
		return 0, sys.EISDIR
	case off < 0:
		return 0, sys.EINVAL
	}
	n, err := f.f.ReadAt(buf, off)
	return n, hostErrno(ignoreEOF(err))
}

func ignoreEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// Write implements sys.File.
func (f *hostFile) Write(buf []byte) (int, sys.Errno) {
	if f.isDir() {
		return 0, sys.EISDIR
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.flag&sys.O_APPEND != 0 {
		if _, err := f.f.Seek(0, io.SeekEnd); err != nil {
			return 0, hostErrno(err)
		}
	}
	n, err := f.f.Write(buf)
	return shortWrite(n, err)
}

// Pwrite implements sys.File.
func (f *hostFile) Pwrite(buf []byte, off int64) (int, sys.Errno) {
	switch {
	case f.isDir():
		return 0, sys.EISDIR
	case off < 0:
		return 0, sys.EINVAL
	}
	n, err := f.f.WriteAt(buf, off)
	return shortWrite(n, err)
}

// shortWrite gives back write(2)'s answer: some bytes written is a success.
func shortWrite(n int, err error) (int, sys.Errno) {
	if n > 0 {
		return n, 0
	}
	return 0, hostErrno(err)
}

// Truncate implements sys.File.
func (f *hostFile) Truncate(size int64) sys.Errno {
	switch {
	case f.isDir():
		return sys.EISDIR
	case size < 0:
		return sys.EINVAL
	}
	return hostErrno(f.f.Truncate(size))
}

// Seek implements sys.File.
func (f *hostFile) Seek(offset fileOffset, whence int) (int64, sys.Errno) {
	if f.isDir() && (offset != 0 || whence != io.SeekStart) {
		return 0, sys.EISDIR
	}
	if whence < io.SeekStart || whence > io.SeekEnd {
		return 0, sys.EINVAL
	}
	n, err := f.f.Seek(offset, whence)
	return n, hostErrno(err)
}

// Readdir implements sys.File.
func (f *hostFile) Readdir(n int) ([]sys.Dirent, sys.Errno) {
	if !f.isDir() {
		return nil, sys.ENOTDIR
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	entries, err := f.f.ReadDir(n)
	if errno := hostErrno(ignoreEOF(err)); errno != 0 {
		return nil, errno
	}
	out := make([]sys.Dirent, len(entries))
	for i, e := range entries {
		out[i] = sys.Dirent{Name: e.Name(), Type: e.Type()}
	}
	inodes(f.f, out)
	return out, 0
}

// Utimens implements sys.File.
func (f *hostFile) Utimens(atim, mtim int64) sys.Errno {
	if f.fs.readOnly {
		return sys.EROFS
	}
	return f.fs.futimens(f.f, f.name, atim, mtim)
}

// Sync implements sys.File.
func (f *hostFile) Sync() sys.Errno { return hostErrno(f.f.Sync()) }

// Datasync implements sys.File.
func (f *hostFile) Datasync() sys.Errno { return f.Sync() }

// Close implements sys.File. Closing twice does nothing.
func (f *hostFile) Close() sys.Errno {
	if err := f.f.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
		return hostErrno(err)
	}
	return 0
}
