package tape

import (
	"encoding/binary"
	"fmt"
	"time"
)

const (
	// maxClock bounds the wall clock at the beginning, the base of the monotonic clock, and the length of a step, each in
	// microseconds (126 years), so that sums in nanoseconds fit an int64.
	maxClock = 4_000_000_000_000_000
	// fileTick is how often the clock of files changes, in microseconds: CONFIG_HZ=250, which is usual on Linux.
	fileTick = 4000
	// overStep is how much a clock advances at least by a reading beyond the log, in microseconds. A program that waits
	// for a time then ends soon, although nothing really waits.
	overStep = 1000
)

// Walltime is the wall clock.
func (t *Tape) Walltime() time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.step
	if s == nil {
		return time.Now()
	}
	return time.UnixMicro(s.start + t.reading(s))
}

// Monotonic is the monotonic clock. It is never zero, and never goes back but by SetBase. Its unit is a microsecond.
func (t *Tape) Monotonic() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.step
	if s == nil {
		return micros(t.live())
	}
	return micros(s.base + t.reading(s))
}

// CPUTime is a reading of Monotonic: a guest is taken to run all the time.
func (t *Tape) CPUTime() time.Duration { return t.Monotonic() }

// Base is where the monotonic clock is now. Keep it with the session, and hand it to SetBase when the session comes back in
// another process.
func (t *Tape) Base() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s := t.step; s != nil && s.playing {
		return micros(s.base + s.elapsed)
	}
	return micros(t.live())
}

// SetBase sets the monotonic clock, between two steps. Zero and below are ignored. It may go back when the memory of the
// guest does.
func (t *Tape) SetBase(d time.Duration) {
	if d < time.Microsecond {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.base, t.anchor = min(d.Microseconds(), maxClock), time.Now()
}

// live is the real monotonic clock in microseconds, on the guest's scale.
func (t *Tape) live() int64 {
	return min(t.base+int64(time.Since(t.anchor)/time.Microsecond), maxClock)
}

// reading is one of the clock: microseconds since the step began.
func (t *Tape) reading(s *step) int64 {
	if s.playing {
		return s.played()
	}
	e := max(t.live()-s.base, s.elapsed)
	if s.past != nil {
		e = s.pastReading()
	}
	if !s.dropped.clock {
		s.clock.add(uint64(e - s.elapsed))
		s.checkClock()
	}
	s.elapsed = e
	return e
}

func (s *step) checkClock() {
	if s.clock.size()+len(s.files.log) > s.limits.Clock {
		s.dropped.clock = true
		s.clock, s.files.log = seriesWriter{}, nil
		s.unsteady(ReasonClock)
	}
}

func (s *step) played() int64 {
	if d, ok := s.clockR.next(); ok {
		s.elapsed += int64(d) // check has seen to it that the sum is within maxClock
		return s.elapsed
	}
	if !s.dropped.clock {
		s.diverge(KindClock, s.rec.clock.count, "the clock was read more often than the %d times recorded", s.rec.clock.count)
	}
	now, by := time.Now(), int64(overStep)
	if !s.over.IsZero() {
		by = max(by, now.Sub(s.over).Microseconds())
	}
	s.over, s.overrun = now, true
	s.elapsed = min(s.elapsed+by, maxClock)
	return s.elapsed
}

// fileClock is the clock of time stamps. Its log has two numbers for each change: the calls since the change before, that
// one included, and by how many ticks it went on.
type fileClock struct {
	log   []byte
	calls uint64
	since uint64 // calls since the last change
	tick  int64

	// Of a replay: the next change, if pending, is due after that many calls, by that many ticks.
	pending   bool
	left, by  uint64
	remaining []byte
}

// FileTime is the clock of files, in nanoseconds since 1970.
func (t *Tape) FileTime() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.step
	if s == nil {
		return time.Now().UnixNano()
	}
	f := &s.files
	f.calls++
	if s.playing {
		f.next()
		if s.overrun && !f.pending {
			f.tick = max(f.tick, s.elapsed/fileTick)
		}
	} else if now := t.fileTick(s); now > f.tick {
		if !s.dropped.clock {
			f.log = binary.AppendUvarint(f.log, f.since)
			f.log = binary.AppendUvarint(f.log, uint64(now-f.tick))
			s.checkClock()
		}
		f.tick, f.since = now, 1
	} else {
		f.since++
	}
	return (s.start + f.tick*fileTick) * 1000
}

func (t *Tape) fileTick(s *step) int64 {
	if s.past != nil {
		return s.pastTick()
	}
	return (t.live() - s.base) / fileTick
}

func (f *fileClock) play(log []byte) {
	f.remaining = log
	f.load()
}

func (f *fileClock) load() {
	if f.pending = len(f.remaining) > 0; f.pending {
		var n int
		f.left, n = binary.Uvarint(f.remaining)
		f.remaining = f.remaining[n:]
		f.by, n = binary.Uvarint(f.remaining)
		f.remaining = f.remaining[n:]
	}
}

func (f *fileClock) next() {
	if f.pending && f.left == 0 {
		f.tick += int64(f.by)
		f.load()
	}
	if f.pending {
		f.left--
	}
}

// checkFiles makes sure that a log can be played: no change is due before the one ahead of it, and the time has bounds.
func checkFiles(log []byte, calls uint64) error {
	var ticks, seen uint64
	for i := 0; len(log) > 0; i++ {
		since, n := binary.Uvarint(log)
		if n <= 0 {
			return fmt.Errorf("%w: time stamps are cut off", ErrDamaged)
		}
		log = log[n:]
		by, n := binary.Uvarint(log)
		if n <= 0 {
			return fmt.Errorf("%w: time stamps are cut off", ErrDamaged)
		}
		log = log[n:]
		if (i > 0 && since == 0) || by == 0 || by > maxClock/fileTick-ticks || since >= calls-seen {
			return fmt.Errorf("%w: time stamp %d is impossible", ErrDamaged, i)
		}
		ticks, seen = ticks+by, seen+since
	}
	return nil
}
