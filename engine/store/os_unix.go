//go:build unix

package store

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// flock locks a file until it is closed. It returns errWouldBlock when somebody else has the lock.
func flock(f *os.File) error {
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, unix.EWOULDBLOCK):
			return errWouldBlock
		case !errors.Is(err, unix.EINTR):
			return fmt.Errorf("flock: %w", err)
		}
	}
}

// freeSpace returns the bytes that an ordinary user can still write to the disk of dir, and the size of the disk.
func freeSpace(dir string) (free, total int64, err error) {
	var st unix.Statfs_t
	for {
		err = unix.Statfs(dir, &st)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	if err != nil {
		return 0, 0, &os.PathError{Op: "statfs", Path: dir, Err: err}
	}
	size := int64(st.Bsize) //nolint:unconvert // the types differ between systems
	return int64(st.Bavail) * size, int64(st.Blocks) * size, nil
}

// syncDir makes the entries of a directory durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// allocated is the space that a file takes on the disk.
func allocated(fi os.FileInfo) int64 {
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		return int64(st.Blocks) * 512 //nolint:unconvert // the types differ between systems
	}
	return fi.Size()
}

// isReadOnly reports whether the file system is mounted read-only.
func isReadOnly(err error) bool { return errors.Is(err, unix.EROFS) }
