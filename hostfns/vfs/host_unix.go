//go:build unix

package vfs

import (
	"syscall"

	"github.com/tetratelabs/wazero/experimental/sys"
)

// openNonblock keeps an open of a FIFO that appeared after the check from
// waiting for its other end. It means nothing for regular files.
const openNonblock = syscall.O_NONBLOCK | syscall.O_NOCTTY

func hostExtension(errno syscall.Errno) (sys.Errno, bool) {
	switch errno {
	case syscall.ENOSPC:
		return ENOSPC, true
	case syscall.EDQUOT:
		return EDQUOT, true
	case syscall.EMFILE, syscall.ENFILE:
		return EMFILE, true
	case syscall.EXDEV:
		return EXDEV, true
	case syscall.EBUSY:
		return EBUSY, true
	case syscall.EFBIG:
		return EFBIG, true
	case syscall.EMLINK:
		return EMLINK, true
	case syscall.ENXIO, syscall.ENODEV: // a FIFO without a reader, a device
		return sys.EACCES, true
	}
	return 0, false
}
