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
)

// pack returns a directory as a tar stream. Closing it ends the work.
func pack(dir string) io.ReadCloser {
	r, w := io.Pipe()
	go func() {
		tw := tar.NewWriter(w)
		err := tw.AddFS(os.DirFS(dir))
		if err == nil {
			err = tw.Close()
		}
		w.CloseWithError(err)
	}()
	return r
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
		if path.IsAbs(h.Linkname) || strings.Contains(h.Linkname, `\`) || !filepath.IsLocal(filepath.Join(filepath.Dir(name), filepath.FromSlash(h.Linkname))) {
			fmt.Fprintf(warnings, "mayfly: left out: link %s -> %s leads out of the directory\n", printable(h.Name), printable(h.Linkname))
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
	fmt.Fprintf(warnings, "mayfly: left out: %s is no file, directory or link\n", printable(h.Name))
	return nil
}
