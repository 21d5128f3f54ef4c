package vfs

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/tetratelabs/wazero/experimental/sys"
)

// ErrUnsafeTar is returned by ImportTar for an entry that would land outside
// the directory it is imported into.
var ErrUnsafeTar = errors.New("tar entry leaves the target directory")

// ImportTar unpacks an uncompressed tar stream into the directory dst, which is
// made when missing. Names with ".." and names that pass through a symbolic
// link are refused with [ErrUnsafeTar]; leading slashes are dropped. Owners,
// devices and extended attributes are ignored. The quotas of m bound the work,
// and the number of entries is bounded by twice MaxFiles. On an error what was
// unpacked stays.
func (m *FS) ImportTar(dst string, r io.Reader) (ImportStats, error) {
	var stats ImportStats
	if err := m.MkdirAll(dst, 0o755); err != nil {
		return stats, err
	}
	times := dirTimes{}
	defer m.stampDirs(times)
	tr := tar.NewReader(r)
	for entries := 0; ; entries++ {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return stats, nil
		}
		if err != nil {
			return stats, fmt.Errorf("vfs: import tar: %w", err)
		}
		if entries >= 2*m.maxFiles {
			return stats, pathError("import", h.Name, ENOSPC)
		}
		if err := m.importHeader(&stats, times, dst, h, tr); err != nil {
			return stats, err
		}
	}
}

func (m *FS) importHeader(stats *ImportStats, times dirTimes, dst string, h *tar.Header, r io.Reader) error {
	name, err := m.tarName(dst, h.Name)
	if err != nil {
		return err
	}
	if name == cleanName(dst) {
		return nil
	}
	if err := m.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	perm := fs.FileMode(h.Mode) & fs.ModePerm
	switch h.Typeflag {
	case tar.TypeDir:
		if err = m.MkdirAll(name, perm); err == nil {
			err = pathError("chmod", name, m.Chmod(name, perm))
		}
	case tar.TypeReg, tar.TypeGNUSparse:
		m.replaceable(name)
		var n int64
		n, err = m.copyIn(name, r, perm)
		stats.Bytes += n
	case tar.TypeSymlink:
		m.replaceable(name)
		err = pathError("symlink", name, m.Symlink(h.Linkname, name))
	case tar.TypeLink:
		var old string
		if old, err = m.tarName(dst, h.Linkname); err == nil && old != name {
			m.replaceable(name)
			err = pathError("link", name, m.Link(old, name))
		}
	default:
		stats.Skipped++
		return nil
	}
	if err != nil {
		return err
	}
	stats.Files++
	if h.Typeflag == tar.TypeDir {
		times[name] = h.ModTime.UnixNano()
	} else {
		m.stamp(name, h.ModTime.UnixNano())
	}
	return nil
}

// replaceable removes what is not a directory from where an entry will go, as
// tar does, so that a file never writes through an older link.
func (m *FS) replaceable(name string) { m.Unlink(name) }

// tarName is where an entry goes.
func (m *FS) tarName(dst, name string) (string, error) {
	if !utf8.ValidString(name) { // no program could open it
		return "", pathError("import", strings.ToValidUTF8(name, "?"), sys.EINVAL)
	}
	for _, c := range strings.Split(name, "/") {
		if c == ".." {
			return "", &fs.PathError{Op: "import", Path: name, Err: ErrUnsafeTar}
		}
	}
	base := cleanName(dst)
	full := cleanName(base + "/" + name)
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := len(base) + 1; i < len(full); i++ {
		if full[i] != '/' {
			continue
		}
		if at, errno := m.walk(full[:i], false); errno == 0 && at.node != nil && at.node.isSymlink() {
			return "", &fs.PathError{Op: "import", Path: name, Err: ErrUnsafeTar}
		}
	}
	return full, nil
}

// ExportTar writes the directory or file src as an uncompressed tar stream with
// names relative to src, sorted, hard links kept: equal content gives equal
// bytes, if the time stamps are equal. It works on a clone, so m may be used
// meanwhile. More than maxBytes of file data (holes count; 0 means the MaxBytes
// of m) is refused with EFBIG.
func (m *FS) ExportTar(w io.Writer, src string, maxBytes int64) error {
	if maxBytes <= 0 {
		maxBytes = m.maxBytes
	}
	c := m.Clone()
	defer c.Close()
	tw := tar.NewWriter(w)
	base := cleanName(src)
	seen := map[uint64]string{}
	err := c.WalkDir(base, func(i Info) error {
		name := strings.TrimPrefix(strings.TrimPrefix(i.Path, base), "/")
		if base == "." {
			name = i.Path
		}
		if i.Path == base {
			if i.IsDir() {
				return nil
			}
			name = path.Base(base)
		}
		if maxBytes -= regularSize(i); maxBytes < 0 {
			return pathError("export", i.Path, EFBIG)
		}
		return c.exportFile(tw, name, i, seen)
	})
	if err != nil {
		return err
	}
	return tw.Close()
}

func regularSize(i Info) int64 {
	if i.Mode.IsRegular() {
		return i.Size
	}
	return 0
}

func (m *FS) exportFile(tw *tar.Writer, name string, i Info, seen map[uint64]string) error {
	h := &tar.Header{Name: name, Mode: int64(i.Mode.Perm()), ModTime: i.ModTime, Format: tar.FormatPAX}
	first, again := seen[i.Ino]
	switch {
	case i.IsDir():
		h.Typeflag, h.Name = tar.TypeDir, name+"/"
	case i.Mode&fs.ModeSymlink != 0:
		h.Typeflag, h.Linkname = tar.TypeSymlink, i.Target
	case again:
		h.Typeflag, h.Linkname = tar.TypeLink, first
	default:
		h.Typeflag, h.Size = tar.TypeReg, i.Size
		seen[i.Ino] = name
	}
	if err := tw.WriteHeader(h); err != nil {
		return err
	}
	if h.Typeflag != tar.TypeReg {
		return nil
	}
	f, errno := m.OpenFile(i.Path, sys.O_RDONLY, 0)
	if errno != 0 {
		return pathError("export", i.Path, errno)
	}
	defer f.Close()
	_, err := io.CopyBuffer(tw, struct{ io.Reader }{readerFor{f, i.Path}}, make([]byte, chunkSize))
	return err
}
