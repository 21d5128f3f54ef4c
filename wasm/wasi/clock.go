package wasi

import "io"

// Clock ids of preview 1.
const (
	clockRealtime = iota
	clockMonotonic
	clockProcessCPU
	clockThreadCPU
)

// now reads a clock in nanoseconds; false for an unknown one.
func (p *Process) now(id uint32) (uint64, bool) {
	var ns int64
	switch id {
	case clockRealtime:
		ns = p.walltime().UnixNano()
	case clockMonotonic:
		ns = int64(p.monotonic())
	case clockProcessCPU, clockThreadCPU:
		ns = int64(p.cputime())
	default:
		return 0, false
	}
	return uint64(max(ns, 0)), true
}

func clockResGet(c call) errno {
	if c.u32(0) > clockThreadCPU {
		return errInval
	}
	return c.putU64(c.u32(1), 1) // Go's clocks count nanoseconds
}

func clockTimeGet(c call) errno {
	ns, ok := c.p.now(c.u32(0)) // parameter 1 is a wish for precision
	if !ok {
		return errInval
	}
	return c.putU64(c.u32(2), ns)
}

func randomGet(c call) errno {
	if c.u32(1) > maxIO { // an answer cannot be short
		return errInval
	}
	buf, ok := c.mem.Read(c.u32(0), c.u32(1))
	if !ok {
		return errFault
	}
	if _, err := io.ReadFull(c.p.rand, buf); err != nil {
		return errIO
	}
	return success
}
