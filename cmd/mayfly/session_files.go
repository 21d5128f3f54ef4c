package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/mayfly-run/mayfly/engine"
	"github.com/mayfly-run/mayfly/internal/httpapi"
)

func newSessionsFiles() *cobra.Command {
	var asJSON, recursive bool
	step := stepValue(engine.Latest)
	c := storeCommand(&cobra.Command{
		Use:   "files NAME [PATH]",
		Short: "List the files of a session",
		Long:  `Lists a directory of a session. PATH is below /workspace unless it is absolute.`,
		Example: `  mayfly sessions files demo
  mayfly sessions files demo data --recursive
  mayfly sessions files demo / --step 3 --json`,
		Args: cobra.RangeArgs(1, 2),
	}, &asJSON, func(ctx context.Context, s *sessions, args []string) error {
		name := engine.GuestWorkspace
		if len(args) > 1 {
			name = httpapi.GuestPath(args[1])
		}
		files, err := s.Files(ctx, args[0], name, int(step), recursive)
		if err != nil {
			return err
		}
		if asJSON {
			return writeJSON(os.Stdout, files)
		}
		t := newTable(os.Stdout)
		for _, f := range files {
			short, err := filepath.Rel(name, f.Path)
			if err != nil || short == "." {
				short = f.Path
			}
			switch f.Type {
			case "directory":
				short += "/"
			case "symlink":
				short += " -> " + f.Target
			}
			t.row(f.Mode, fmt.Sprintf("%10s", bytesText(f.Size)), localTime(f.ModTime), short)
		}
		return t.flush()
	})
	c.Flags().Var(&step, "step", "as they were after this step")
	c.Flags().BoolVarP(&recursive, "recursive", "r", false, "list what is in directories, too")
	return c
}

func newSessionsGet() *cobra.Command {
	step := stepValue(engine.Latest)
	c := storeCommand(&cobra.Command{
		Use:   "get NAME PATH [DEST]",
		Short: "Copy a file or a directory out of a session",
		Long: `Copies a file, or a directory with all in it, to DEST: by default to its own name in
the current directory. What is in a directory goes into DEST, over files of the same
names. DEST "-" is standard output, where a directory comes as a tar stream.
Symbolic links that lead out of a directory are left out.`,
		Example: `  mayfly sessions get demo notes.txt
  mayfly sessions get demo notes.txt - --step 3
  mayfly sessions get demo /workspace ./demo-files`,
		Args: cobra.RangeArgs(2, 3),
	}, nil, func(ctx context.Context, s *sessions, args []string) error {
		name := httpapi.GuestPath(args[1])
		dest := path.Base(name)
		if len(args) > 2 {
			dest = args[2]
		}
		if dest == "/" || dest == "" {
			return usageError("name a directory for it", "no DEST")
		}
		content, err := s.Content(ctx, args[0], name, int(step))
		if err != nil {
			return err
		}
		defer content.Close()
		if dest == "-" {
			if content.Tar && isTerminal(os.Stdout) {
				return usageError("write it to a file: ... > "+path.Base(name)+".tar",
					"a directory is a tar stream, which is nothing for a terminal")
			}
			_, err := io.Copy(os.Stdout, content)
			return err
		}
		if content.Tar {
			return unpack(content, dest, os.Stderr)
		}
		if i, err := os.Stat(dest); err == nil && i.IsDir() {
			dest = filepath.Join(dest, path.Base(name))
		}
		return writeWhole(dest, fs.FileMode(content.Mode&0o777), content)
	})
	c.Flags().Var(&step, "step", "as it was after this step")
	return c
}

// writeWhole writes a file, or leaves what was there: it gets its name when all of it has come. A device or pipe is
// written to as it is.
func writeWhole(name string, mode fs.FileMode, r io.Reader) error {
	if to, err := filepath.EvalSymlinks(name); err == nil {
		name = to
	}
	if i, err := os.Stat(name); err == nil && !i.Mode().IsRegular() {
		f, err := os.OpenFile(name, os.O_WRONLY, 0)
		if err != nil {
			return outputError(err)
		}
		_, err = io.Copy(f, r)
		if err = errors.Join(err, f.Close()); err != nil {
			return outputError(err)
		}
		return nil
	}
	f, err := os.CreateTemp(filepath.Dir(name), ".mayfly-*")
	if err != nil {
		var p *fs.PathError
		if errors.As(err, &p) { // nobody has asked for the temporary one
			p.Path = name
		}
		return outputError(err)
	}
	_, err = io.Copy(f, r)
	if err == nil {
		err = f.Chmod(mode)
	}
	if closing := f.Close(); err == nil {
		err = closing
	}
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		return outputError(errors.Join(err, os.Remove(f.Name())))
	}
	return nil
}

// outputError is a failure to write on this side. Those of the other side keep their own codes.
func outputError(err error) error {
	var e *engine.Error
	if errors.As(err, &e) {
		return e
	}
	return &exitError{exitFailure, err.Error(), ""}
}

func newSessionsPut() *cobra.Command {
	var asJSON bool
	return storeCommand(&cobra.Command{
		Use:   "put NAME SRC PATH",
		Short: "Copy a file or a directory into a session",
		Long: `Copies the file SRC, a directory with all in it, or standard input ("-") to PATH in a
session, which is below /workspace unless it is absolute. This is a step of the
session, which can be gone back from.`,
		Example: `  mayfly sessions put demo data.csv data.csv
  mayfly sessions put demo ./src /workspace/src
  echo hello | mayfly sessions put demo - hello.txt`,
		Args: cobra.ExactArgs(3),
	}, &asJSON, func(ctx context.Context, s *sessions, args []string) error {
		step, err := put(ctx, s, args[0], args[1], httpapi.GuestPath(args[2]))
		if err != nil {
			return err
		}
		if asJSON {
			return writeJSON(os.Stdout, step)
		}
		return nil
	})
}

// openFile opens a file that the command line names.
func openFile(name string) (*os.File, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, usageError("", "%v", err)
	}
	if i, err := f.Stat(); err == nil && i.IsDir() {
		f.Close()
		return nil, usageError("name a file", "%s is a directory", name)
	}
	return f, nil
}

func put(ctx context.Context, s *sessions, session, src, dest string) (*httpapi.Step, error) {
	if src == "-" {
		return s.PutFile(ctx, session, dest, 0o644, os.Stdin)
	}
	info, err := os.Stat(src)
	if err != nil {
		return nil, usageError("", "%v", err)
	}
	if info.IsDir() {
		r := pack(src, os.Stderr)
		defer r.Close()
		return s.PutTar(ctx, session, dest, r)
	}
	f, err := openFile(src)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return s.PutFile(ctx, session, dest, uint32(info.Mode().Perm()), f)
}
