package vfs

import (
	"errors"
	"io/fs"

	"github.com/tetratelabs/wazero/experimental/sys"
)

// Error codes that wazero's experimental/sys does not define. The values are
// shared by convention with the WASI host layer, which maps them to WASI codes;
// a host layer that does not know them should report EIO.
const (
	// ENOSPC is returned when a quota of the file system is used up, of bytes or
	// of files.
	ENOSPC sys.Errno = 0x100
	// EDQUOT is returned when a quota that spans file systems is used up. No
	// file system of this package returns it; a host directory may.
	EDQUOT sys.Errno = 0x101
	// EMFILE is returned when the host has no file descriptors left.
	EMFILE sys.Errno = 0x102
	// EFBIG is returned when a file would become longer than
	// [Options.MaxFileSize].
	EFBIG sys.Errno = 0x104
	// EXDEV is returned by a rename or a hard link across mounts. Callers such
	// as Python's shutil.move then copy and delete.
	EXDEV sys.Errno = 0x105
	// EBUSY is returned when a mount point, or a parent of one, would be
	// removed, renamed or replaced.
	EBUSY sys.Errno = 0x106
	// EMLINK is returned when a file has too many hard links.
	EMLINK sys.Errno = 0x109
	// ESTALE is returned for a file whose creation was rolled back, and by
	// [FS.OpenInode] for a number that no file has.
	ESTALE sys.Errno = 0x10c
)

// ENAMETOOLONG is wazero's own code, repeated here beside its siblings. It is
// returned for a name over [MaxName] bytes, a path over [MaxPath] bytes and a
// tree deeper than [MaxDepth].
const ENAMETOOLONG = sys.ENAMETOOLONG

var extensionText = map[sys.Errno]string{
	ENOSPC: "no space left in the file system (quota)",
	EDQUOT: "disk quota exceeded",
	EMFILE: "too many open files",
	EXDEV:  "cross-device link",
	EBUSY:  "device or resource busy",
	EFBIG:  "file too large",
	EMLINK: "too many links",
	ESTALE: "stale file handle",
}

// errnoError gives an extension code a readable text on the Go side.
type errnoError struct{ errno sys.Errno }

func (e errnoError) Error() string { return extensionText[e.errno] }

// Unwrap lets callers write errors.Is(err, vfs.ENOSPC).
func (e errnoError) Unwrap() error { return e.errno }

// pathError is what the Go-side API returns: nil on success, else a
// *fs.PathError whose Err matches the errno and, where one exists, the
// corresponding fs.ErrNotExist, fs.ErrExist, ... with errors.Is.
func pathError(op, path string, errno sys.Errno) error {
	if errno == 0 {
		return nil
	}
	var err error = errno
	if _, ok := extensionText[errno]; ok {
		err = errnoError{errno}
	}
	return &fs.PathError{Op: op, Path: path, Err: err}
}

// ErrnoOf returns the code that an error of this package carries, 0 for nil and
// EIO for an error that carries none.
func ErrnoOf(err error) sys.Errno {
	if err == nil {
		return 0
	}
	var errno sys.Errno
	if errors.As(err, &errno) {
		return errno
	}
	return sys.EIO
}
