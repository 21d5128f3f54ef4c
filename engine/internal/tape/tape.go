package tape

import (
	"cmp"
	crand "crypto/rand"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"
)

// Limits of what one step logs, in bytes. Beyond, a source goes on working, and its log is dropped. Zero stands for the
// default; a negative limit drops whatever there is.
type Limits struct {
	Clock int // readings of clocks, with the time stamps of files; default DefaultClock
	Stdin int // default DefaultStdin
	Calls int // answers of host functions, with some bytes for each call; default DefaultCalls
}

// Defaults of Limits.
const (
	// DefaultClock is enough for a program that does nothing but look at the clock for about a second.
	DefaultClock = 256 << 10
	// DefaultStdin is more than a person or an agent types.
	DefaultStdin = 1 << 20
	// DefaultCalls is what a thousand calls with answers of 8 KiB need.
	DefaultCalls = 8 << 20
)

func (l Limits) withDefaults() Limits {
	return Limits{cmp.Or(l.Clock, DefaultClock), cmp.Or(l.Stdin, DefaultStdin), cmp.Or(l.Calls, DefaultCalls)}
}

// started is the origin of monotonic clocks that were not told another. One second is added, since programs take zero for
// "never". It is what package wasi does, so a guest sees the same scale when it boots.
var started = time.Now()

// Tape serves the executions of one session, one step after another: it records, or plays back. All methods are safe for
// concurrent use, but steps do not overlap: beginning one drops another that has not ended.
type Tape struct {
	mu     sync.Mutex
	anchor time.Time // when the monotonic clock of the guest was at base
	base   int64     // microseconds, never zero
	step   *step     // nil when off
}

// A step is what is known of the step in progress. Tape.mu guards it. Goroutines may keep one that has ended.
type step struct {
	playing bool
	ended   bool
	past    *past // of a step that goes on, see Resume
	limits  Limits
	rec     *Recording // being written, or being played, when it is only read
	rng     *rand.ChaCha8
	reasons []string // why it cannot be repeated

	start   int64 // wall clock at the beginning, microseconds since 1970
	base    int64 // monotonic clock at the beginning, microseconds
	elapsed int64 // microseconds since, of the last reading

	clock  seriesWriter
	clockR seriesReader
	over   time.Time // when a reading last went beyond the log
	files  fileClock
	input  input
	calls  calls

	first    *Divergence // in Play; no consequence of an unsteady replay
	weak     *Divergence // the same for KindClock
	overrun  bool        // readings beyond the log, or no log
	dropped  dropped
	inFlight int // reads of standard input
}

// dropped tells which logs went beyond their limits.
type dropped struct{ clock, stdin, calls bool }

// New returns a Tape that is off.
func New() *Tape {
	return &Tape{anchor: started, base: int64(time.Second / time.Microsecond)}
}

// Record begins a step whose sources are real and noted. Now is the wall clock. The seed must be a fresh one; the zero
// seed stands for one from crypto/rand.
func (t *Tape) Record(seed [32]byte, now time.Time, limits Limits) {
	if seed == ([32]byte{}) {
		crand.Read(seed[:]) // it does not fail
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.leave()
	start, base := min(max(now.UnixMicro(), 0), maxClock), t.live()
	t.step = &step{
		limits: limits.withDefaults(), rng: rand.NewChaCha8(seed), start: start, base: base,
		rec: &Recording{Seed: seed, Start: time.UnixMicro(start).UTC(), Base: micros(base)},
	}
}

// Play begins a step that replays r, which must not be changed meanwhile. It fails when r is inconsistent.
func (t *Tape) Play(r *Recording) error {
	if r == nil {
		return fmt.Errorf("%w: there is none", ErrDamaged)
	}
	if err := r.check(); err != nil {
		return err
	}
	s := &step{
		playing: true, rec: r, rng: rand.NewChaCha8(r.Seed),
		start: r.Start.UnixMicro(), base: r.Base.Microseconds(),
		clockR: r.clock.reader(),
	}
	s.files.play(r.files)
	s.input.chunks = r.chunks.reader()
	s.dropped = dropped{r.has(ReasonClock), r.has(ReasonStdin), r.has(ReasonCalls)}
	s.overrun = s.dropped.clock
	t.mu.Lock()
	defer t.mu.Unlock()
	t.leave()
	t.step = s
	return nil
}

// Off drops the step in progress, if any. Sources are real then, and nothing is noted.
func (t *Tape) Off() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.leave()
}

// leave ends the step in progress. The monotonic clock goes on from where the guest saw it last.
func (t *Tape) leave() {
	s := t.step
	if s == nil {
		return
	}
	s.ended, t.step = true, nil
	if last := s.base + s.elapsed; last > t.live() {
		t.base, t.anchor = last, time.Now()
	}
}

// End ends the step. After Record it returns the recording; after Resume as well, with the first divergence. After Play it returns what was played, and the first
// divergence; nil if there is none. Without a step it returns nothing.
func (t *Tape) End() (*Recording, *Divergence) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.step
	if s == nil {
		return nil, nil
	}
	t.leave()
	if s.playing {
		return s.rec, s.verdict()
	}
	return s.finish(), s.first
}

// finish completes the recording.
func (s *step) finish() *Recording {
	if s.inFlight > 0 {
		s.unsteady(ReasonStdin) // the guest did not wait for it: what it did depends on when input comes
	}
	if s.calls.inFlight > 0 {
		s.unsteady(ReasonCalls)
	}
	r := s.rec
	if !s.dropped.clock {
		r.clock, r.files = s.clock.finish(), s.files.log
		r.fileCalls = s.files.calls
	}
	r.chunks = s.input.sizes.finish()
	r.Incomplete = s.reasons
	return r
}

// Playing reports whether a recording is being played back. Waiting is of no use then.
func (t *Tape) Playing() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.step
	if s != nil && s.past != nil {
		return s.calls.next < len(s.past.rec.Calls)
	}
	return s != nil && s.playing
}

// Unsteady notes that the step in progress cannot be expected to repeat, and why: at most MaxReason printable ASCII
// characters. The same reason is noted once, and no more than MaxReasons.
func (t *Tape) Unsteady(reason string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.step != nil {
		t.step.unsteady(reason)
	}
}

func (s *step) unsteady(reason string) {
	if len(s.reasons) >= MaxReasons {
		return
	}
	reason = strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, reason)
	reason = reason[:min(len(reason), MaxReason)]
	if reason != "" && !slices.Contains(s.reasons, reason) {
		s.reasons = append(s.reasons, reason)
	}
}

// Rand returns the source of random bytes.
func (t *Tape) Rand() io.Reader { return random{t} }

type random struct{ t *Tape }

func (r random) Read(p []byte) (int, error) {
	r.t.mu.Lock()
	if s := r.t.step; s != nil {
		defer r.t.mu.Unlock()
		return s.rng.Read(p)
	}
	r.t.mu.Unlock()
	return crand.Read(p)
}

func micros(n int64) time.Duration { return time.Duration(n) * time.Microsecond }
