package engine

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"time"

	"github.com/tetratelabs/wazero/experimental/sys"

	"github.com/mayfly-run/mayfly/hostfns/cas"
	"github.com/mayfly-run/mayfly/hostfns/vfs"
	"github.com/mayfly-run/mayfly/wasm/wasi"
)

// Paths in a sandbox.
const (
	// GuestWorkspace is the current directory, and where a program's files belong.
	GuestWorkspace = "/workspace"
	// GuestTmp is for temporary files.
	GuestTmp = "/tmp"
)

// ownDevice is the device number of a sandbox's own file system: the root of a vfs.Tree.
const ownDevice = 1

// maxChanges bounds the files that a result lists; more than that nobody reads.
const maxChanges = 1000

// templateTime is what the file system's clock shows while a guest is initialised: images have to come out the same.
func templateTime() int64 { return time.Date(2025, time.January, 1, 0, 0, 0, 0, time.UTC).UnixNano() }

// files is the file system of a sandbox: one of its own, with mounts of host directories in it.
type files struct {
	own    *vfs.FS
	tree   *vfs.Tree
	closer []func() error
}

// newFiles returns an empty file system.
func newFiles(spec *Spec) (*files, error) {
	own := vfs.New(spec.fileOptions())
	for _, dir := range []string{GuestWorkspace, GuestTmp} {
		if err := own.MkdirAll(dir, 0o755); err != nil {
			return nil, err
		}
	}
	return mountFiles(own, spec)
}

// openFiles returns the file system of a stored state.
func openFiles(spec *Spec, frame cas.Hash) (*files, error) {
	own, err := vfs.Open(spec.store, frame, spec.fileOptions())
	if err != nil {
		return nil, err
	}
	return mountFiles(own, spec)
}

func (s *Spec) fileOptions() *vfs.Options {
	return &vfs.Options{MaxBytes: s.Workspace, MaxFiles: s.Files, Store: s.store, Now: s.now, Audit: s.audit}
}

// mountFiles puts the sandbox's mounts over its own file system.
func mountFiles(own *vfs.FS, spec *Spec) (*files, error) {
	f := &files{own: own, closer: []func() error{own.Close}}
	f.tree = vfs.NewTree(f.own)
	var random io.Reader
	if spec.tape != nil {
		random = spec.tape.Rand()
	}
	if err := f.tree.Mount("/dev", vfs.Devices(random)); err != nil {
		return nil, err
	}
	for _, m := range spec.Mounts {
		if err := f.mount(m); err != nil {
			return nil, errors.Join(err, f.close())
		}
	}
	f.own.Mark()
	return f, nil
}

func (f *files) mount(m Mount) error {
	host, closeHost, err := vfs.OpenHost(m.Host, m.Writable)
	if err != nil {
		hint := "mounts are directories of the host"
		if errors.Is(err, fs.ErrNotExist) {
			hint = "make the directory first"
		}
		return requestError(hint, "mount %s: %w", m.Host, unwrapPath(err))
	}
	f.closer = append(f.closer, closeHost)
	if err := f.tree.Mount(m.Guest, host); err != nil {
		return requestError("guest paths are absolute, like /data", "mount %s at %q: %w", m.Host, m.Guest, err)
	}
	return nil
}

// unwrapPath drops the operation and path that the message around it has already.
func unwrapPath(err error) error {
	var pe *os.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

// changes returns what was changed since the last call, and whether there was more. Mounts of the host are not watched.
func (f *files) changes() ([]FileChange, bool) {
	var out []FileChange
	more := f.own.ChangesTruncated()
	for _, c := range f.own.Changes() {
		if c.Dir {
			continue
		}
		if len(out) == maxChanges {
			more = true
			break
		}
		out = append(out, FileChange{Path: path.Join("/", c.Path), Op: string(c.Op), Size: c.Size})
	}
	f.own.Mark()
	return out, more
}

// reopen opens a file for a program that had it open when its state was stored.
func (f *files) reopen(o wasi.OpenFile) (sys.File, sys.Errno) {
	flag := sys.O_RDONLY
	switch {
	case o.Read && o.Write:
		flag = sys.O_RDWR
	case o.Write:
		flag = sys.O_WRONLY
	}
	if o.Append {
		flag |= sys.O_APPEND
	}
	if o.Dev == ownDevice {
		return f.tree.OpenInode(o.Dev, o.Ino, flag)
	}
	// A file of the host is the same one if its number is.
	if o.Dir {
		flag |= sys.O_DIRECTORY
	}
	file, errno := f.tree.OpenFile(o.Path, flag, 0)
	if errno != 0 {
		return nil, errno
	}
	if ino, errno := file.Ino(); errno != 0 || ino != o.Ino {
		file.Close()
		return nil, sys.ENOENT
	}
	return file, 0
}

func (f *files) close() error {
	var errs []error
	for _, c := range f.closer {
		errs = append(errs, c())
	}
	f.closer = nil
	return errors.Join(errs...)
}
