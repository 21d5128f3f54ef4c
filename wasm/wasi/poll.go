package wasi

import (
	"context"
	"math"
	"time"
)

const (
	subscriptionSize = 48
	eventSize        = 32
	// maxSubscriptions bounds what a guest can make the host hold; no program polls more descriptors than it can have.
	maxSubscriptions = 4096

	pollClock = 0
	pollRead  = 1
	pollWrite = 2

	pollHangup = 1
)

// A subscription is one thing to wait for, and the event once it has happened.
type subscription struct {
	userdata uint64
	kind     uint8
	err      errno
	fired    bool
	due      time.Duration // clocks: from now
	stdin    *Stdin        // reads that may have to wait, which poll finds out
	nbytes   uint64
	flags    uint16
}

// pollOneoff waits until at least one subscription has happened and writes those that have. When the wait ends early
// the clock that would have been first counts as expired, since wasi-libc takes a missing event for an error and EINTR
// for ENOTSUP.
func pollOneoff(c call) errno {
	in, out, n, result := c.u32(0), c.u32(1), c.u32(2), c.u32(3)
	if n == 0 || n > maxSubscriptions {
		return errInval
	}
	raw, ok := c.mem.Read(in, n*subscriptionSize)
	if !ok || !c.writable(out, n*eventSize) || !c.writable(result, 4) {
		return errFault
	}
	subs := make([]subscription, n)
	for i := range subs {
		if e := c.p.subscribe(&subs[i], raw[i*subscriptionSize:]); e != success {
			return e
		}
	}
	c.p.poll(c.ctx, subs)

	// Other calls may have run, and the memory may have moved.
	count := uint32(0)
	for i := range subs {
		if s := &subs[i]; s.fired {
			var b [eventSize]byte
			le.PutUint64(b[0:], s.userdata)
			le.PutUint16(b[8:], uint16(s.err))
			b[10] = s.kind
			le.PutUint64(b[16:], s.nbytes)
			le.PutUint16(b[24:], s.flags)
			if !c.mem.Write(out+count*eventSize, b[:]) {
				return errFault
			}
			count++
		}
	}
	return c.putU32(result, count)
}

// subscribe decodes a subscription, and finds out whether it has happened; not for standard input.
func (p *Process) subscribe(s *subscription, raw []byte) errno {
	s.userdata, s.kind = le.Uint64(raw), raw[8]
	switch s.kind {
	case pollClock:
		s.due, s.err = p.due(le.Uint32(raw[16:]), le.Uint64(raw[24:]), le.Uint16(raw[40:]))
		s.fired = s.err != success || s.due <= 0
	case pollRead, pollWrite:
		p.mu.Lock()
		f, stdin := p.fds.get(le.Uint32(raw[16:])), p.stdin
		p.mu.Unlock()
		switch {
		case f == nil:
			s.err, s.fired = errBadf, true
		case f.stale != nil:
			s.err, s.fired = errStale, true
		case s.kind == pollRead && f.kind == kindStdin && stdin != nil:
			s.stdin = stdin
		case s.kind == pollRead && f.kind == kindStdin:
			s.flags, s.fired = pollHangup, true
		default: // files and writers do not wait
			s.nbytes, s.fired = 1, true
		}
	default:
		return errInval
	}
	return success
}

// due is how long a clock subscription has to wait.
func (p *Process) due(id uint32, timeout uint64, flags uint16) (time.Duration, errno) {
	if id > clockMonotonic {
		if id <= clockThreadCPU {
			return 0, errNotsup // CPU time stands still in a sleep
		}
		return 0, errInval
	}
	switch flags {
	case 0:
	case 1: // absolute
		now, _ := p.now(id)
		if timeout <= now {
			return 0, success
		}
		timeout -= now
	default:
		return 0, errInval
	}
	return time.Duration(min(timeout, math.MaxInt64)), success
}

// poll waits until a subscription has fired. Standard input is looked at once for all, and comes before a clock that has
// to be waited for: then what a guest is told depends on what its input is, unless NotReady is called.
func (p *Process) poll(ctx context.Context, subs []subscription) {
	var first *subscription // clock that is not due yet
	var stdin *Stdin
	due, other := false, false // what has fired
	for i := range subs {
		switch s := &subs[i]; {
		case s.stdin != nil:
			stdin = s.stdin
		case s.fired && s.kind == pollClock:
			due = true
		case s.fired:
			other = true
		case first == nil || s.due < first.due:
			first = s
		}
	}
	var n int
	var again <-chan struct{}
	look := func() (ready bool) {
		if stdin != nil {
			n, again = p.input(ctx, stdin)
		}
		return stdin != nil && again == nil
	}
	ready, expired := look(), false
	switch {
	case ready || other:
	case due || first != nil && p.noWait():
		expired = !due
		p.block(ctx, func() {}) // sleep(0) lets others run
	default:
		var timer <-chan time.Time
		if first != nil {
			t := time.NewTimer(first.due)
			defer t.Stop()
			timer = t.C
		}
		for waiting := true; waiting && !ready; ready = look() {
			p.block(ctx, func() {
				select {
				case <-again:
					return
				case <-timer:
				case <-ctx.Done():
				}
				waiting = false
			})
		}
		expired = !ready
	}
	for i := range subs {
		switch s := &subs[i]; {
		case s.stdin != nil && ready:
			s.fired, s.nbytes = true, uint64(n)
			if n == 0 {
				s.flags = pollHangup
			}
		case s.stdin == nil && expired && first != nil && s.due <= first.due:
			s.fired = true
		}
	}
	if stdin != nil && !ready {
		p.notReady()
	}
}
