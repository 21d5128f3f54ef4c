package tape

import (
	crand "crypto/rand"
	"io"
	"math/rand/v2"
	"sync"
	"time"
)

// Fork returns the sources of a copy of the guest that runs in another goroutine, and outlives the step perhaps. Its random
// bytes are its own; its clocks are real and go on from those of the guest; nothing of it is noted. The step in progress
// cannot be expected to repeat, for ReasonProcesses.
func (t *Tape) Fork() (random io.Reader, walltime func() time.Time, monotonic, cputime func() time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	var f forked
	var seed [32]byte
	if s := t.step; s != nil {
		s.unsteady(ReasonProcesses)
		s.rng.Read(seed[:]) // it does not fail
		elapsed := s.elapsed
		if !s.playing {
			elapsed = max(t.live()-s.base, elapsed)
		}
		f.wall, f.mono = s.start+elapsed, s.base+elapsed
	} else {
		crand.Read(seed[:]) // it does not fail
		f.wall, f.mono = time.Now().UnixMicro(), t.live()
	}
	f.at, f.rng = time.Now(), rand.NewChaCha8(seed)
	return &f, f.walltime, f.monotonic, f.monotonic
}

type forked struct {
	at         time.Time // of the fork
	wall, mono int64     // clocks at that time, in microseconds

	mu  sync.Mutex
	rng *rand.ChaCha8
}

func (f *forked) Read(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.rng.Read(p)
}

func (f *forked) walltime() time.Time {
	return time.UnixMicro(f.wall + time.Since(f.at).Microseconds())
}

func (f *forked) monotonic() time.Duration { return micros(f.mono + time.Since(f.at).Microseconds()) }
