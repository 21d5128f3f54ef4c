package engine

import (
	"errors"
	"io/fs"
	"os"
	"path"

	"github.com/mayfly-run/mayfly/hostfns/vfs"
)

// Paths in a sandbox.
const (
	// GuestWorkspace is the current directory, and where a program's files belong.
	GuestWorkspace = "/workspace"
	// GuestTmp is for temporary files.
	GuestTmp = "/tmp"
)

// maxChanges bounds the files that a result lists; more than that nobody reads.
const maxChanges = 1000

// files is the file system of a sandbox: one in memory, with mounts of host directories in it.
type files struct {
	own    *vfs.FS
	tree   *vfs.Tree
	closer []func() error
}

func newFiles(sb *Sandbox) (*files, error) {
	f := &files{own: vfs.New(&vfs.Options{MaxBytes: sb.Workspace, MaxFiles: sb.Files})}
	for _, dir := range []string{GuestWorkspace, GuestTmp} {
		if err := f.own.MkdirAll(dir, 0o755); err != nil {
			return nil, err
		}
	}
	f.tree = vfs.NewTree(f.own)
	if err := f.tree.Mount("/dev", vfs.Devices()); err != nil {
		return nil, err
	}
	for _, m := range sb.Mounts {
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

func (f *files) close() error {
	var errs []error
	for _, c := range f.closer {
		errs = append(errs, c())
	}
	f.closer = nil
	return errors.Join(errs...)
}
