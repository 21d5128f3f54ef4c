package vfs

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"

	"github.com/tetratelabs/wazero/experimental/sys"
)

// ExportDir copies the directory or file src into the host directory hostDir, which is made when missing. It works on a
// clone, so m may be used meanwhile. Nothing outside hostDir is written or linked to: symbolic links that lead out of it
// by their text are left out and counted as skipped. A file that exists is an error that matches [fs.ErrExist], unless
// overwrite says that it is replaced; it is never written through. Permission bits, modification times of files and hard
// links are kept. More file data than the MaxBytes of m (holes count) is refused with EFBIG. On an error what was copied
// stays.
func (m *FS) ExportDir(src, hostDir string, overwrite bool) (ImportStats, error) {
	if err := os.MkdirAll(hostDir, 0o755); err != nil {
		return ImportStats{}, err
	}
	root, err := os.OpenRoot(hostDir)
	if err != nil {
		return ImportStats{}, err
	}
	defer root.Close()
	return m.ExportRoot(src, root, overwrite)
}

// ExportRoot is ExportDir for a host directory that is open already.
func (m *FS) ExportRoot(src string, root *os.Root, overwrite bool) (ImportStats, error) {
	c := m.Clone()
	defer c.Close()
	x := &exporter{fs: c, root: root, overwrite: overwrite, seen: map[uint64]string{}, room: m.maxBytes}
	base := cleanName(src)
	err := c.WalkDir(base, func(i Info) error {
		name := strings.TrimPrefix(strings.TrimPrefix(i.Path, base), "/")
		switch {
		case base == ".":
			name = i.Path
		case i.Path == base && i.IsDir():
			name = "."
		case i.Path == base:
			name = path.Base(base)
		}
		if name == "." {
			return nil
		}
		return x.export(i, name)
	})
	return x.stats, errors.Join(err, x.finish())
}

type exporter struct {
	fs        *FS
	root      *os.Root
	overwrite bool
	seen      map[uint64]string // names of files that may have another one
	room      int64
	dirs      []Info // whose mode is set last
	stats     ImportStats
}

func (x *exporter) export(i Info, name string) error {
	if i.IsDir() {
		err := x.root.Mkdir(name, 0o700)
		if errors.Is(err, fs.ErrExist) {
			var old fs.FileInfo
			switch old, err = x.root.Lstat(name); {
			case err != nil:
			case !old.IsDir():
				err = &fs.PathError{Op: "export", Path: name, Err: fs.ErrExist}
			case x.overwrite:
				err = x.root.Chmod(name, old.Mode().Perm()|0o700)
			}
		}
		if err != nil {
			return err
		}
		i.Path = name
		x.dirs = append(x.dirs, i)
		x.stats.Files++
		return nil
	}
	if i.Mode&fs.ModeSymlink != 0 && leads(path.Dir(name), i.Target) {
		x.stats.Skipped++
		return nil
	}
	if x.overwrite {
		if old, err := x.root.Lstat(name); err == nil && !old.IsDir() {
			if err := x.root.Remove(name); err != nil {
				return err
			}
		}
	}
	if err := x.make(i, name); err != nil {
		return err
	}
	x.stats.Files++
	return nil
}

// make makes a file or link, which must not exist.
func (x *exporter) make(i Info, name string) error {
	if i.Mode&fs.ModeSymlink != 0 {
		return x.root.Symlink(i.Target, name)
	}
	if first, again := x.seen[i.Ino]; again {
		return x.root.Link(first, name)
	}
	x.seen[i.Ino] = name
	if x.room -= i.Size; x.room < 0 {
		return pathError("export", i.Path, EFBIG)
	}
	f, err := x.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	n, err := x.copy(f, i)
	x.stats.Bytes += n
	if err = errors.Join(err, f.Chmod(i.Mode.Perm()), f.Close()); err != nil {
		return err
	}
	return x.root.Chtimes(name, time.Time{}, i.ModTime)
}

// copy writes a file's data and leaves out blocks of zeros, so that holes stay holes where the host can do that.
func (x *exporter) copy(w *os.File, i Info) (int64, error) {
	f, errno := x.fs.OpenFile(i.Path, sys.O_RDONLY, 0)
	if errno != 0 {
		return 0, pathError("export", i.Path, errno)
	}
	defer f.Close()
	r, buf, zeros := readerFor{f, i.Path}, make([]byte, chunkSize), make([]byte, chunkSize)
	off := int64(0)
	for {
		n, err := r.Read(buf)
		if n > 0 && !bytes.Equal(buf[:n], zeros[:n]) {
			if _, err := w.WriteAt(buf[:n], off); err != nil {
				return off, err
			}
		}
		off += int64(n)
		switch {
		case errors.Is(err, io.EOF):
			return off, w.Truncate(off)
		case err != nil:
			return off, err
		}
	}
}

// finish sets the modes of directories, which might not let the host make anything in them, and their times.
func (x *exporter) finish() error {
	var errs []error
	for _, i := range x.dirs {
		errs = append(errs, x.root.Chmod(i.Path, i.Mode.Perm()), x.root.Chtimes(i.Path, time.Time{}, i.ModTime))
	}
	return errors.Join(errs...)
}
