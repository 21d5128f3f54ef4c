package main

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"unicode/utf8"
)

// pack returns a directory as a tar stream; warnings tells of what is left out. Closing it ends the work.
func pack(dir string, warnings io.Writer) io.ReadCloser {
	r, w := io.Pipe()
	go func() {
		tw := tar.NewWriter(w)
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || path == dir {
				return err
			}
			name, err := filepath.Rel(dir, path)
			if err != nil {
				return err
			}
			if !d.IsDir() && !d.Type().IsRegular() && d.Type() != fs.ModeSymlink {
				fmt.Fprintf(warnings, notPortable, printable(name))
				return nil
			}
			if !utf8.ValidString(name) {
				fmt.Fprintf(warnings, "mayfly: left out: %s: programs see names in UTF-8 only\n", printable(name))
				if d.IsDir() {
					return fs.SkipDir
				}
				return nil
			}
			return packEntry(tw, path, filepath.ToSlash(name), d)
		})
		if err == nil {
			err = tw.Close()
		}
		w.CloseWithError(err)
	}()
	return r
}

const notPortable = "mayfly: left out: %s is no file, directory or link\n"

func packEntry(tw *tar.Writer, path, name string, d fs.DirEntry) error {
	info, err := d.Info()
	if err != nil {
		return err
	}
	h := &tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: int64(info.Mode().Perm()), ModTime: info.ModTime()}
	switch {
	case d.IsDir():
		h.Typeflag, h.Name = tar.TypeDir, name+"/"
		return tw.WriteHeader(h)
	case d.Type() == fs.ModeSymlink:
		h.Typeflag = tar.TypeSymlink
		if h.Linkname, err = os.Readlink(path); err != nil {
			return err
		}
		h.Linkname = filepath.ToSlash(h.Linkname)
		return tw.WriteHeader(h)
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	h.Size = info.Size()
	if err := tw.WriteHeader(h); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	n, err := io.Copy(tw, f)
	if errors.Is(err, tar.ErrWriteTooLong) || err == nil && n != h.Size {
		return fmt.Errorf("%s: it had %d bytes, and changed while it was read", path, h.Size)
	}
	return err
}

// unpack writes a tar stream of a session into a directory, which is made. What the stream says is not trusted: nothing
// outside of the directory can be reached, and links that lead there are not made: warnings tells of what is left out.
func unpack(r io.Reader, dir string, warnings io.Writer) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return outputError(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return outputError(err)
	}
	defer root.Close()
	tr := tar.NewReader(r)
	for {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			// The stream may end with an error of the other side.
			_, err := io.Copy(io.Discard, r)
			return err
		}
		if err != nil {
			return err
		}
		if err := unpackEntry(root, h, tr, warnings); err != nil {
			return outputError(fmt.Errorf("%s: %w", printable(h.Name), err))
		}
	}
}

func unpackEntry(root *os.Root, h *tar.Header, r io.Reader, warnings io.Writer) error {
	name := path.Clean(h.Name)
	if !filepath.IsLocal(filepath.FromSlash(name)) {
		return errors.New("the name leads out of the directory")
	}
	// Sessions make no sparse files, and a few bytes could stand for a disk full of zeros.
	for key := range h.PAXRecords {
		if strings.HasPrefix(key, "GNU.sparse.") {
			return errors.New("a sparse file")
		}
	}
	name = filepath.FromSlash(name)
	if parent := filepath.Dir(name); parent != "." {
		if err := root.MkdirAll(parent, 0o777); err != nil {
			return err
		}
	}
	mode := fs.FileMode(h.Mode) & fs.ModePerm
	switch h.Typeflag {
	case tar.TypeDir:
		// Without the owner's bits nothing could be written into it.
		if err := root.Mkdir(name, mode|0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		return nil
	case tar.TypeReg:
		if err := root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
		if err != nil {
			return err
		}
		_, err = io.Copy(f, r)
		return errors.Join(err, f.Close())
	case tar.TypeSymlink:
		to := filepath.Join(filepath.Dir(name), filepath.FromSlash(h.Linkname))
		if path.IsAbs(h.Linkname) || strings.Contains(h.Linkname, `\`) || !filepath.IsLocal(to) {
			fmt.Fprintf(warnings, "mayfly: left out: link %s -> %s leads out of the directory\n",
				printable(h.Name), printable(h.Linkname))
			return nil
		}
		if err := root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return root.Symlink(h.Linkname, name)
	case tar.TypeLink:
		if err := root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return root.Link(filepath.FromSlash(path.Clean(h.Linkname)), name)
	}
	fmt.Fprintf(warnings, notPortable, printable(h.Name))
	return nil
}
