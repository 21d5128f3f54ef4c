package wasi

import (
	"io"
	"math"

	"github.com/tetratelabs/wazero/experimental/sys"
)

func fdRead(c call) errno {
	f := c.p.lookup(c.u32(0))
	if e := readable(f); e != success {
		return e
	}
	if !c.writable(c.u32(3), 4) {
		return errFault
	}
	if f.stream() {
		return c.readStdin(f)
	}
	return c.transfer(f.f.Read, c.u32(3), true)
}

func fdPread(c call) errno {
	f := c.p.lookup(c.u32(0))
	if e := readable(f); e != success {
		return e
	}
	return c.transferAt(f, func(buf []byte, off int64) (int, sys.Errno) { return f.f.Pread(buf, off) }, true)
}

func fdWrite(c call) errno {
	f := c.p.lookup(c.u32(0))
	if f == nil || !f.write {
		return errBadf
	}
	if !c.writable(c.u32(3), 4) {
		return errFault
	}
	if f.stream() {
		var store [8][]byte
		bufs, e := c.iovecs(store[:0], c.u32(1), c.u32(2))
		if e != success {
			return e
		}
		n, e := c.p.writeStream(f.kind, bufs)
		if e != success {
			return e
		}
		return c.putU32(c.u32(3), uint32(n))
	}
	return c.transfer(f.f.Write, c.u32(3), false)
}

func fdPwrite(c call) errno {
	f := c.p.lookup(c.u32(0))
	if f == nil || !f.write {
		return errBadf
	}
	return c.transferAt(f, func(buf []byte, off int64) (int, sys.Errno) { return f.f.Pwrite(buf, off) }, false)
}

// readable is the error of reading a file.
func readable(f *file) errno {
	switch {
	case f == nil || !f.read:
		return errBadf
	case f.dir():
		return errIsdir
	}
	return success
}

// transferAt is transfer at the offset of parameter 3, the result at parameter 4.
func (c call) transferAt(f *file, move func([]byte, int64) (int, sys.Errno), read bool) errno {
	if f.stream() {
		return errSpipe
	}
	off := int64(c.stack[3])
	if off < 0 || off > math.MaxInt64-maxIO {
		return errInval
	}
	if !c.writable(c.u32(4), 4) {
		return errFault
	}
	return c.transfer(func(buf []byte) (int, sys.Errno) {
		n, e := move(buf, off)
		off += int64(n)
		return n, e
	}, c.u32(4), read)
}

// transfer moves bytes between a file and the iovecs of parameters 1 and 2, and writes the count at result. An error
// after some bytes is a short transfer; the next call meets it again.
func (c call) transfer(move func([]byte) (int, sys.Errno), result uint32, read bool) errno {
	var store [8][]byte
	bufs, e := c.iovecs(store[:0], c.u32(1), c.u32(2))
	if e != success {
		return e
	}
	total := 0
	for _, buf := range bufs {
		n, fe := move(buf)
		n = min(max(n, 0), len(buf))
		total += n
		if fe != 0 && total == 0 {
			if fe == sys.ENOSYS {
				fe = sys.EBADF // a file that cannot do it at all
			}
			return toErrno(fe)
		}
		if fe != 0 || n < len(buf) {
			break
		}
	}
	if !read && total == 0 && len(bufs) > 0 {
		return errIO // libc would try for ever
	}
	return c.putU32(result, uint32(total))
}

func fdSeek(c call) errno {
	return c.seek(int64(c.stack[1]), c.u32(2), c.u32(3))
}

func fdTell(c call) errno {
	return c.seek(0, io.SeekCurrent, c.u32(1))
}

func (c call) seek(off int64, whence, result uint32) errno {
	f := c.p.lookup(c.u32(0))
	switch {
	case f == nil:
		return errBadf
	case f.stream():
		return errSpipe
	case f.dir():
		return errIsdir
	case whence > io.SeekEnd:
		return errInval
	case !c.writable(result, 8):
		return errFault
	}
	pos, e := f.f.Seek(off, int(whence))
	if e != 0 {
		return toErrno(e)
	}
	return c.putU64(result, uint64(pos))
}

func fdSync(c call) errno { return c.sync(sys.File.Sync) }

func fdDatasync(c call) errno { return c.sync(sys.File.Datasync) }

func (c call) sync(do func(sys.File) sys.Errno) errno {
	f := c.p.lookup(c.u32(0))
	if f == nil {
		return errBadf
	}
	if f.f == nil { // nothing to do is the friendlier answer for streams, and true of the root
		return success
	}
	return toErrno(do(f.f))
}

func fdAdvise(c call) errno {
	f := c.p.lookup(c.u32(0))
	switch {
	case f == nil:
		return errBadf
	case f.stream():
		return errSpipe
	case c.u32(3) > 5 || int64(c.stack[1]) < 0 || int64(c.stack[2]) < 0:
		return errInval
	}
	return success // advice may be ignored
}

// fdAllocate makes a file at least offset+length long. The bytes are not reserved: a quota is met when they are written.
func fdAllocate(c call) errno {
	f, e := c.writableFile()
	if e != success {
		return e
	}
	off, n := int64(c.stack[1]), int64(c.stack[2])
	if off < 0 || n <= 0 {
		return errInval
	}
	if off > math.MaxInt64-n {
		return errFbig
	}
	st, fe := f.f.Stat()
	if fe == 0 && st.Size < off+n {
		fe = f.f.Truncate(off + n)
	}
	return toErrno(fe)
}

func fdFilestatSetSize(c call) errno {
	f, e := c.writableFile()
	if e != success {
		return e
	}
	size := int64(c.stack[1])
	if size < 0 {
		return errInval
	}
	return toErrno(f.f.Truncate(size))
}

// writableFile is the file of parameter 0, for changes of its size.
func (c call) writableFile() (*file, errno) {
	f := c.p.lookup(c.u32(0))
	switch {
	case f == nil:
		return nil, errBadf
	case f.stream():
		return nil, errSpipe
	case f.dir():
		return nil, errIsdir
	case !f.write:
		return nil, errBadf
	}
	return f, success
}
