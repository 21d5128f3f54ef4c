package wasi

import "encoding/binary"

const (
	// maxIovecs is the limit of buffers in one call, as on Linux (IOV_MAX).
	maxIovecs = 1024
	// maxIO is the limit of bytes moved by one call. More is a short read or write, which bounds the time for which
	// a guest can stay in one host call.
	maxIO = 16 << 20
)

var le = binary.LittleEndian

// writable says whether the guest's memory holds n bytes at ptr. Checking results before the work is done keeps a bad
// pointer from losing data.
func (c call) writable(ptr, n uint32) bool {
	_, ok := c.mem.Read(ptr, n)
	return ok
}

func (c call) putU32(ptr, v uint32) errno {
	if !c.mem.WriteUint32Le(ptr, v) {
		return errFault
	}
	return success
}

func (c call) putU64(ptr uint32, v uint64) errno {
	if !c.mem.WriteUint64Le(ptr, v) {
		return errFault
	}
	return success
}

// iovecs appends views of the n buffers described at ptr to bufs, leaves out empty ones, and cuts the total at maxIO.
// The views are good until the guest runs.
func (c call) iovecs(bufs [][]byte, ptr, n uint32) ([][]byte, errno) {
	if n > maxIovecs {
		return nil, errInval
	}
	raw, ok := c.mem.Read(ptr, n*8)
	if !ok {
		return nil, errFault
	}
	left := uint32(maxIO)
	for ; len(raw) > 0; raw = raw[8:] {
		buf, ok := c.mem.Read(le.Uint32(raw), le.Uint32(raw[4:]))
		if !ok {
			return nil, errFault
		}
		if uint32(len(buf)) > left {
			buf = buf[:left]
		}
		if len(buf) > 0 {
			bufs = append(bufs, buf)
			left -= uint32(len(buf))
		}
	}
	return bufs, success
}
