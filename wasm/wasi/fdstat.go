package wasi

import (
	"io/fs"

	"github.com/tetratelabs/wazero/experimental/sys"
	wsys "github.com/tetratelabs/wazero/sys"
)

// Bits of fdflags.
const (
	fdAppend   = 1 << 0
	fdDsync    = 1 << 1
	fdNonblock = 1 << 2
	fdRsync    = 1 << 3
	fdSyncFlag = 1 << 4
)

// Rights that decide something in wasi-libc, and all of them.
const (
	rightRead       = 1 << 1
	rightSeek       = 1 << 2
	rightTell       = 1 << 5
	rightWrite      = 1 << 6
	rightAllocate   = 1 << 8
	rightReaddir    = 1 << 14
	rightSetSize    = 1 << 22
	rightsAll       = 1<<30 - 1
	rightsForWrites = rightWrite | rightAllocate | rightSetSize
)

// File types of preview 1.
const (
	typeUnknown = iota
	typeBlockDevice
	typeCharacterDevice
	typeDirectory
	typeRegular
	typeSocketDgram
	typeSocketStream
	typeSymlink
)

func fileType(m fs.FileMode) uint8 {
	switch {
	case m.IsRegular():
		return typeRegular
	case m.IsDir():
		return typeDirectory
	case m&fs.ModeSymlink != 0:
		return typeSymlink
	case m&fs.ModeCharDevice != 0:
		return typeCharacterDevice
	case m&fs.ModeDevice != 0:
		return typeBlockDevice
	case m&fs.ModeSocket != 0:
		return typeSocketStream
	}
	return typeUnknown // a pipe among others, for which there is no type
}

// streamType is the type of a standard stream: isatty in wasi-libc asks for a character device.
func (p *Process) streamType() uint8 {
	if p.terminal {
		return typeCharacterDevice
	}
	return typeUnknown
}

// stat is fstat of any descriptor.
func (p *Process) stat(f *file) (wsys.Stat_t, uint8, errno) {
	var st wsys.Stat_t
	var e sys.Errno
	switch {
	case f.stream():
		return wsys.Stat_t{Nlink: 1}, p.streamType(), success
	case f.kind == kindRoot:
		st, e = p.fs.Stat(".")
	default:
		st, e = f.f.Stat()
	}
	return st, fileType(st.Mode), toErrno(e)
}

func fdFdstatGet(c call) errno {
	f := c.p.lookup(c.u32(0))
	if f == nil {
		return errBadf
	}
	typ := uint8(typeRegular)
	switch {
	case f.stream():
		typ = c.p.streamType()
	case f.dir():
		typ = typeDirectory
	default:
		if st, e := f.f.Stat(); e == 0 {
			typ = fileType(st.Mode)
		}
	}
	rights, inherit := uint64(rightsAll), uint64(0)
	if f.dir() {
		inherit = rightsAll // wasi-libc opens with no more than these
	}
	if !f.read {
		rights &^= rightRead | rightReaddir
	}
	if !f.write {
		rights &^= rightsForWrites
	}
	if f.stream() {
		rights &^= rightSeek | rightTell // isatty asks for this, too
	}
	var b [24]byte
	b[0] = typ
	le.PutUint16(b[2:], f.flags)
	le.PutUint64(b[8:], rights)
	le.PutUint64(b[16:], inherit)
	if !c.mem.Write(c.u32(1), b[:]) {
		return errFault
	}
	return success
}

// fdFdstatSetFlags changes what fcntl(F_SETFL) can: APPEND and NONBLOCK. The others stay as they are, as on Linux.
func fdFdstatSetFlags(c call) errno {
	f, want := c.p.lookup(c.u32(0)), c.u32(1)
	if f == nil {
		return errBadf
	}
	if want > fdAppend|fdDsync|fdNonblock|fdRsync|fdSyncFlag {
		return errInval
	}
	const changeable = fdAppend | fdNonblock
	flags := f.flags&^changeable | uint16(want)&changeable
	if f.f != nil && !f.isDir && (flags^f.flags)&fdAppend != 0 {
		switch e := f.f.SetAppend(flags&fdAppend != 0); e {
		case 0:
		case sys.ENOSYS:
			return errNotsup
		default:
			return toErrno(e)
		}
	}
	f.flags = flags
	return success
}

// fdFdstatSetRights accepts everything: rights were removed from WASI, and giving some up is no use to a sandbox.
func fdFdstatSetRights(c call) errno {
	if c.p.lookup(c.u32(0)) == nil {
		return errBadf
	}
	return success
}

func fdFilestatGet(c call) errno {
	f := c.p.lookup(c.u32(0))
	if f == nil {
		return errBadf
	}
	st, typ, e := c.p.stat(f)
	if e != success {
		return e
	}
	return c.putStat(c.u32(1), &st, typ)
}

func (c call) putStat(ptr uint32, st *wsys.Stat_t, typ uint8) errno {
	var b [64]byte
	le.PutUint64(b[0:], st.Dev)
	le.PutUint64(b[8:], st.Ino)
	b[16] = typ
	le.PutUint64(b[24:], st.Nlink)
	le.PutUint64(b[32:], uint64(st.Size))
	le.PutUint64(b[40:], uint64(st.Atim))
	le.PutUint64(b[48:], uint64(st.Mtim))
	le.PutUint64(b[56:], uint64(st.Ctim))
	if !c.mem.Write(ptr, b[:]) {
		return errFault
	}
	return success
}

func fdFilestatSetTimes(c call) errno {
	f := c.p.lookup(c.u32(0))
	if f == nil {
		return errBadf
	}
	atim, mtim, e := c.times(1)
	if e != success {
		return e
	}
	switch {
	case f.stream():
		return errNotsup
	case f.kind == kindRoot:
		return toErrno(c.p.fs.Utimens(".", atim, mtim))
	}
	fe := f.f.Utimens(atim, mtim)
	if f.isDir && (fe == sys.ENOSYS || fe == sys.EPERM) {
		// Not every system can change an open directory. For a file the name may be another's by now.
		fe = c.p.fs.Utimens(f.path, atim, mtim)
	}
	return toErrno(fe)
}

// times decodes access time, modification time and fstflags, three parameters from i on.
func (c call) times(i int) (atim, mtim int64, e errno) {
	flags := c.u32(i + 2)
	if flags > 15 {
		return 0, 0, errInval
	}
	now := c.p.walltime().UnixNano()
	pick := func(given uint64, bits uint32) int64 {
		switch bits {
		case 0:
			return sys.UTIME_OMIT
		case 1:
			if int64(given) < 0 { // beyond the year 2262
				e = errInval
			}
			return int64(given)
		case 2:
			return now
		}
		e = errInval // both "given" and "now"
		return 0
	}
	atim = pick(c.stack[i], flags&3)
	mtim = pick(c.stack[i+1], flags>>2)
	return atim, mtim, e
}

// fdPrestatGet tells wasi-libc that the root is a pre-opened directory with a name of one byte.
func fdPrestatGet(c call) errno {
	if f := c.p.lookup(c.u32(0)); f == nil || f.kind != kindRoot {
		return errBadf
	}
	return c.putU64(c.u32(1), 1<<32) // tag 0: directory; then the length
}

func fdPrestatDirName(c call) errno {
	if f := c.p.lookup(c.u32(0)); f == nil || f.kind != kindRoot {
		return errBadf
	}
	if c.u32(2) < 1 {
		return errNameLong
	}
	if !c.mem.WriteByte(c.u32(1), '/') {
		return errFault
	}
	return success
}
