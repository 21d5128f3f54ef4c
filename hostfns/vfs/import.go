package vfs

import (
	"io"
	"io/fs"
	"os"
	"path"

	"github.com/tetratelabs/wazero/experimental/sys"
)

// ImportStats counts what an import took in.
type ImportStats struct {
	// Files is the number of regular files, links and directories taken.
	Files int
	// Bytes is the number of bytes of file data read.
	Bytes int64
	// Skipped is the number of devices, FIFOs and sockets left out.
	Skipped int
}

// ImportDir copies the host directory hostDir into the directory dst, which is
// made when missing. Symbolic links are copied as links and never followed, so
// nothing outside hostDir is read; permission bits and modification times are
// kept. The quotas of m bound the work. On an error what was copied stays.
func (m *FS) ImportDir(dst, hostDir string) (ImportStats, error) {
	root, err := os.OpenRoot(hostDir)
	if err != nil {
		return ImportStats{}, err
	}
	defer root.Close()
	return m.ImportRoot(dst, root)
}

// ImportRoot is ImportDir for a host directory that is open already.
func (m *FS) ImportRoot(dst string, root *os.Root) (ImportStats, error) {
	var stats ImportStats
	if err := m.MkdirAll(dst, 0o755); err != nil {
		return stats, err
	}
	times := dirTimes{}
	defer m.stampDirs(times)
	err := fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || name == "." {
			return err
		}
		return m.importEntry(&stats, times, root, name, path.Join(dst, name))
	})
	return stats, err
}

func (m *FS) importEntry(stats *ImportStats, times dirTimes, root *os.Root, name, to string) error {
	info, err := root.Lstat(name)
	if err != nil {
		return err
	}
	switch mode := info.Mode(); {
	case mode.IsDir():
		err = m.MkdirAll(to, mode.Perm())
	case mode.IsRegular():
		var f *os.File
		if f, err = openRegular(root, name, os.O_RDONLY, 0); err != nil {
			return err
		}
		defer f.Close()
		var n int64
		n, err = m.copyIn(to, f, mode.Perm())
		stats.Bytes += n
	case mode&fs.ModeSymlink != 0:
		var target string
		if target, err = root.Readlink(name); err == nil {
			err = pathError("symlink", to, m.Symlink(target, to))
		}
	default:
		stats.Skipped++
		return nil
	}
	if err != nil {
		return err
	}
	stats.Files++
	if info.IsDir() {
		times[to] = info.ModTime().UnixNano()
	} else {
		m.stamp(to, info.ModTime().UnixNano())
	}
	return nil
}

// dirTimes are the modification times of imported directories. They are set
// last, because making the entries changes them.
type dirTimes map[string]int64

func (m *FS) stampDirs(times dirTimes) {
	for name, t := range times {
		m.stamp(name, t)
	}
}

// stamp sets a modification time, of a symbolic link itself too.
func (m *FS) stamp(name string, mtim int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if at, errno := m.existing(name, false); errno == 0 {
		m.edit(at.node)
		at.node.setUtimes(sys.UTIME_OMIT, mtim, m.clock())
	}
}

// copyIn writes r to a new or emptied file until EOF or the quota.
func (m *FS) copyIn(name string, r io.Reader, perm fs.FileMode) (int64, error) {
	f, errno := m.OpenFile(name, sys.O_WRONLY|sys.O_CREAT|sys.O_TRUNC|sys.O_NOFOLLOW, perm)
	if errno != 0 {
		return 0, pathError("open", name, errno)
	}
	defer f.Close()
	// The wrapper hides ReadFrom and WriteTo, so chunks stay aligned and small.
	return io.CopyBuffer(writerFor{f, name}, struct{ io.Reader }{r}, make([]byte, chunkSize))
}

// writerFor makes an io.Writer of an open file.
type writerFor struct {
	f    sys.File
	name string
}

func (w writerFor) Write(p []byte) (int, error) {
	n, errno := w.f.Write(p)
	if errno == 0 && n < len(p) {
		errno = ENOSPC
	}
	return n, pathError("write", w.name, errno)
}

// readerFor makes an io.Reader of an open file.
type readerFor struct {
	f    sys.File
	name string
}

func (r readerFor) Read(p []byte) (int, error) {
	n, errno := r.f.Read(p)
	if errno != 0 {
		return n, pathError("read", r.name, errno)
	}
	if n == 0 && len(p) > 0 {
		return 0, io.EOF
	}
	return n, nil
}
