package tape

import (
	"cmp"
	"fmt"
	"strings"
)

// Kinds of a Divergence.
const (
	// KindCalls: a call of a host function is not the recorded one, or there were more or fewer.
	KindCalls = "calls"
	// KindStdin: more or less was read of standard input.
	KindStdin = "stdin"
	// KindClock: clocks were read more or less often. It is a weak sign: what the guest computed may be the same.
	KindClock = "clock"
	// KindUnverified: it is not known. The recording is incomplete, or the replay was stopped.
	KindUnverified = "unverified"
)

// Divergence is where a replay is not as recorded.
type Divergence struct {
	Kind   string
	Detail string
	// Index is the number of the reading or of the call, from 0, or the offset in standard input in bytes.
	Index uint64
}

// String says what happened, in one line.
func (d *Divergence) String() string {
	if d.Kind == KindUnverified {
		return d.Detail
	}
	return d.Kind + ": " + d.Detail
}

// diverge notes the first divergence. What an unsteady replay does is no sign of anything.
func (s *step) diverge(kind string, index uint64, format string, args ...any) {
	at := &s.first
	if kind == KindClock {
		at = &s.weak
	}
	if *at == nil && len(s.reasons) == 0 && !s.ended {
		*at = &Divergence{kind, fmt.Sprintf(format, args...), index}
	}
}

// verdict is the divergence of a replay that has ended.
func (s *step) verdict() *Divergence {
	met := cmp.Or(s.first, s.weak)
	if r := s.rec; len(r.Incomplete) > 0 {
		d := &Divergence{Kind: KindUnverified, Detail: "the recording is incomplete: " + strings.Join(r.Incomplete, ", ")}
		if met != nil {
			d.Detail += "; first difference: " + met.String()
			d.Index = met.Index
		}
		return d
	}
	if len(s.reasons) == 0 {
		return cmp.Or(s.first, s.unused(), s.weak, s.unread())
	}
	if met != nil {
		return met
	}
	return &Divergence{Kind: KindUnverified, Detail: "the replay cannot be compared: " + strings.Join(s.reasons, ", ")}
}

// unused is what a replay left of the calls and of standard input.
func (s *step) unused() *Divergence {
	r := s.rec
	if n := s.calls.next; n < len(r.Calls) {
		return &Divergence{KindCalls, fmt.Sprintf("there were %d calls of host functions instead of the %d recorded", n, len(r.Calls)),
			uint64(n)}
	}
	if s.input.off < len(r.Stdin) {
		return &Divergence{KindStdin, fmt.Sprintf("%d bytes of standard input were read instead of the %d recorded",
			s.input.off, len(r.Stdin)), uint64(s.input.off)}
	}
	if r.end != inputOpen && !s.input.ended {
		return &Divergence{KindStdin, "the end of standard input was not read, as it was in the recording", uint64(s.input.off)}
	}
	return nil
}

// unread is what a replay left of the clocks.
func (s *step) unread() *Divergence {
	r, f := s.rec, &s.files
	if left := s.clockR.left(); left > 0 {
		n := r.clock.count - left
		return &Divergence{KindClock, fmt.Sprintf("the clock was read %d times instead of the %d recorded", n, r.clock.count), n}
	}
	if f.calls != r.fileCalls {
		return &Divergence{KindClock, fmt.Sprintf("files took the time %d times instead of the %d recorded", f.calls, r.fileCalls),
			min(f.calls, r.fileCalls)}
	}
	return nil
}
