package wasi

import "github.com/tetratelabs/wazero/experimental/sys"

// Errors that a file system may return and that package experimental/sys has no name for. sys.Errno is an open integer
// type: its own values stay below 0x100. A file system that must not import this package may define the same values.
// Any other value unknown to this package reaches the guest as EIO.
const (
	ENOSPC       = sys.Errno(0x100) // no space left: a quota of bytes is used up
	EDQUOT       = sys.Errno(0x101) // quota exceeded: like ENOSPC where the limit belongs to a user
	EMFILE       = sys.Errno(0x102) // too many open files in this process
	ENAMETOOLONG = sys.ENAMETOOLONG // path or name too long; the same as in package sys
	EFBIG        = sys.Errno(0x104) // file would exceed the largest size
	EXDEV        = sys.Errno(0x105) // rename or link across mounts
	EBUSY        = sys.Errno(0x106) // the root or a mount point cannot be removed or renamed
	ESPIPE       = sys.Errno(0x107) // seek on a stream
	EPIPE        = sys.Errno(0x108) // nobody reads the other end
	EMLINK       = sys.Errno(0x109) // too many links
	ENOMEM       = sys.Errno(0x10a) // the host refuses to hold that much
	EILSEQ       = sys.Errno(0x10b) // a name is not UTF-8
	ESTALE       = sys.Errno(0x10c) // an open file that is no longer there
)

// errno is an error number as WASI preview 1 counts them; zero is success.
type errno uint32

const (
	success     errno = 0
	errAcces    errno = 2
	errAgain    errno = 6
	errBadf     errno = 8
	errBusy     errno = 10
	errDquot    errno = 19
	errExist    errno = 20
	errFault    errno = 21
	errFbig     errno = 22
	errIlseq    errno = 25
	errIntr     errno = 27
	errInval    errno = 28
	errIO       errno = 29
	errIsdir    errno = 31
	errLoop     errno = 32
	errMfile    errno = 33
	errMlink    errno = 34
	errNameLong errno = 37
	errNoent    errno = 44
	errNomem    errno = 48
	errNospc    errno = 51
	errNosys    errno = 52
	errNotdir   errno = 54
	errNotempty errno = 55
	errNotsock  errno = 57
	errNotsup   errno = 58
	errPerm     errno = 63
	errPipe     errno = 64
	errRange    errno = 68
	errRofs     errno = 69
	errSpipe    errno = 70
	errStale    errno = 72
	errXdev     errno = 75
)

// toErrno maps an error of a file system to the number the guest gets.
func toErrno(e sys.Errno) errno {
	switch e {
	case 0:
		return success
	case sys.EACCES:
		return errAcces
	case sys.EAGAIN:
		return errAgain
	case sys.EBADF:
		return errBadf
	case sys.EEXIST:
		return errExist
	case sys.EFAULT:
		return errFault
	case sys.EINTR:
		return errIntr
	case sys.EINVAL:
		return errInval
	case sys.EIO:
		return errIO
	case sys.EISDIR:
		return errIsdir
	case sys.ELOOP:
		return errLoop
	case sys.ENAMETOOLONG:
		return errNameLong
	case sys.ENOENT:
		return errNoent
	case sys.ENOSYS:
		return errNosys
	case sys.ENOTDIR:
		return errNotdir
	case sys.ERANGE:
		return errRange
	case sys.ENOTEMPTY:
		return errNotempty
	case sys.ENOTSOCK:
		return errNotsock
	case sys.ENOTSUP:
		return errNotsup
	case sys.EPERM:
		return errPerm
	case sys.EROFS:
		return errRofs
	case ENOSPC:
		return errNospc
	case EDQUOT:
		return errDquot
	case EMFILE:
		return errMfile
	case EFBIG:
		return errFbig
	case EXDEV:
		return errXdev
	case EBUSY:
		return errBusy
	case ESPIPE:
		return errSpipe
	case EPIPE:
		return errPipe
	case EMLINK:
		return errMlink
	case ENOMEM:
		return errNomem
	case EILSEQ:
		return errIlseq
	case ESTALE:
		return errStale
	}
	return errIO
}
