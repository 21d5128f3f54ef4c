package vfs

import (
	"errors"
	"syscall"

	"github.com/tetratelabs/wazero/experimental/sys"
)

// hostErrno turns an error of package os into a code. Only the code goes to the
// guest, so no host path can leak through a message.
func hostErrno(err error) sys.Errno {
	if err == nil {
		return 0
	}
	var own sys.Errno
	if errors.As(err, &own) {
		return own
	}
	var errno syscall.Errno
	if errors.As(err, &errno) {
		if e, ok := hostExtension(errno); ok {
			return e
		}
		return sys.UnwrapOSError(errno)
	}
	if isEscape(err) || errors.Is(err, errSpecial) {
		return sys.EACCES
	}
	return sys.UnwrapOSError(err)
}

// isEscape reports whether os.Root refused a path because it leaves the root.
// The os package does not export that error; what is known is that it is no
// system error and none of the fs sentinels.
func isEscape(err error) bool {
	if err == nil {
		return false
	}
	for {
		next := errors.Unwrap(err)
		if next == nil {
			return err.Error() == "path escapes from parent"
		}
		err = next
	}
}
