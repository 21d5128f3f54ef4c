package store

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// flock locks a file until it is closed. It returns errWouldBlock when somebody else has the lock.
func flock(f *os.File) error {
	err := windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY,
		0, 1, 0, new(windows.Overlapped))
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING) {
		return errWouldBlock
	}
	return err
}

// freeSpace returns the bytes that this user can still write to the disk of dir, and the size of the disk.
func freeSpace(dir string) (free, total int64, err error) {
	p, err := windows.UTF16PtrFromString(dir)
	if err != nil {
		return 0, 0, err
	}
	var f, t uint64
	if err := windows.GetDiskFreeSpaceEx(p, &f, &t, nil); err != nil {
		return 0, 0, &os.PathError{Op: "GetDiskFreeSpaceEx", Path: dir, Err: err}
	}
	return int64(f), int64(t), nil
}

// syncDir does nothing: Windows has no such thing.
func syncDir(string) error { return nil }

// allocated is the space that a file takes on the disk, or nearly so.
func allocated(fi os.FileInfo) int64 { return fi.Size() }

// isReadOnly reports whether the disk is write-protected.
func isReadOnly(err error) bool { return errors.Is(err, windows.ERROR_WRITE_PROTECT) }
