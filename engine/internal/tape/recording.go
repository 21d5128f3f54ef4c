package tape

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// Reasons in Recording.Incomplete that this package gives. Others come from Tape.Unsteady.
const (
	ReasonClock     = "clock"     // the log of the clocks was beyond its limit
	ReasonStdin     = "stdin"     // so was standard input; or the guest did not wait for it
	ReasonCalls     = "calls"     // so were host functions; or one was under way when the step ended
	ReasonProcesses = "processes" // the guest made copies of itself
)

// Bounds of Recording.Incomplete.
const (
	MaxReasons = 32 // how many
	MaxReason  = 64 // characters of each
)

// Errors of Decode and Tape.Play.
var (
	// ErrDamaged: it is not a recording, or an impossible one.
	ErrDamaged = errors.New("recording is damaged")
	// ErrVersion: another version of Mayfly made the recording.
	ErrVersion = errors.New("recording has an unknown version")
)

// Recording is what a step learned from outside. It must not be changed.
type Recording struct {
	// Seed is that of the random bytes.
	Seed [32]byte
	// Start is the wall clock at the beginning, Base the monotonic clock. Both have microseconds.
	Start time.Time
	Base  time.Duration
	// Input tells whether the step had a standard input, and Stdin is what was read of it.
	Input bool
	Stdin []byte
	// Calls are the host functions, in the order in which they were called.
	Calls []HostCall
	// Incomplete says why the step cannot be expected to repeat, in the order met; empty when it can.
	Incomplete []string

	clock     series // microseconds between readings
	files     []byte // see fileClock
	fileCalls uint64
	chunks    series // bytes of each read of standard input, less one
	end       byte   // of standard input
}

// Readings returns how often a clock was read, if the log was not dropped. Time stamps of files do not count.
func (r *Recording) Readings() uint64 { return r.clock.count }

// Steady reports whether the step can be expected to repeat.
func (r *Recording) Steady() bool { return len(r.Incomplete) == 0 }

func (r *Recording) has(reason string) bool { return slices.Contains(r.Incomplete, reason) }

// check makes sure that playing cannot go wrong.
func (r *Recording) check() error {
	if start := r.Start.UnixMicro(); start < 0 || start > maxClock {
		return fmt.Errorf("%w: it begins in the year %d", ErrDamaged, r.Start.Year())
	}
	if base := r.Base.Microseconds(); base < 1 || base > maxClock {
		return fmt.Errorf("%w: the monotonic clock begins at %v", ErrDamaged, r.Base)
	}
	if _, err := r.clock.check(maxClock); err != nil {
		return fmt.Errorf("%w, in the log of clocks", err)
	}
	if err := checkFiles(r.files, r.fileCalls); err != nil {
		return err
	}
	size := uint64(len(r.Stdin))
	if r.chunks.count > size {
		return fmt.Errorf("%w: %d reads of %d bytes of input", ErrDamaged, r.chunks.count, size)
	}
	if sum, err := r.chunks.check(size); err != nil {
		return fmt.Errorf("%w, in standard input", err)
	} else if sum+r.chunks.count != size {
		return fmt.Errorf("%w: reads of %d bytes, but %d bytes of input", ErrDamaged, sum+r.chunks.count, size)
	}
	if r.end%inputWithEnd >= inputEnds || r.end >= 2*inputWithEnd || r.end == inputWithEnd ||
		(r.end >= inputWithEnd && size == 0) || (!r.Input && (size > 0 || r.end != inputOpen)) {
		return fmt.Errorf("%w: standard input ends with code %d", ErrDamaged, r.end)
	}
	return checkReasons(r.Incomplete)
}

func checkReasons(list []string) error {
	if len(list) > MaxReasons {
		return fmt.Errorf("%w: %d reasons why it is incomplete; at most %d are possible", ErrDamaged, len(list), MaxReasons)
	}
	for i, s := range list {
		if s == "" || len(s) > MaxReason || slices.Contains(list[:i], s) {
			return fmt.Errorf("%w: reason %d is empty, too long, or there twice", ErrDamaged, i)
		}
		for _, c := range []byte(s) {
			if c < ' ' || c > '~' {
				return fmt.Errorf("%w: reason %d is not text", ErrDamaged, i)
			}
		}
	}
	return nil
}
