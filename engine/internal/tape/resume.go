package tape

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// past is a recording of the beginning of a step that goes on. Each source gives what was recorded, and then what is real;
// both is recorded anew.
type past struct {
	rec    *Recording
	clock  seriesReader
	files  fileClock
	input  input
	called func(request, answer []byte)
	// live is told once, at the first call that was not recorded.
	live func()
}

// ResumeOptions of Tape.Resume.
type ResumeOptions struct {
	// Called is told of each call that was answered from the recording, in order.
	Called func(request, answer []byte)
	// Live is called before the first call that was not recorded is made.
	Live func()
}

// Resume begins a step that was under way when r was taken by Peek: the guest is run from the beginning of the step, gets
// what was recorded as long as there is any, and goes on with real sources from there. All of it is recorded, so that the
// step can be played as a whole afterwards. Standard input ends with what was recorded.
//
// A guest that does not do the same again has its calls refused; End tells of the divergence.
func (t *Tape) Resume(r *Recording, limits Limits, o *ResumeOptions) error {
	if r == nil {
		return fmt.Errorf("%w: there is none", ErrDamaged)
	}
	if err := r.check(); err != nil {
		return err
	}
	if len(r.Incomplete) > 0 {
		return fmt.Errorf("%w: it is incomplete: %v", ErrDamaged, r.Incomplete)
	}
	p := &past{rec: r, clock: r.clock.reader(), input: input{chunks: r.chunks.reader()}}
	p.files.play(r.files)
	if o != nil {
		p.called, p.live = o.Called, o.Live
	}
	s := &step{
		limits: limits.withDefaults(), rng: rand.NewChaCha8(r.Seed), past: p,
		start: r.Start.UnixMicro(), base: r.Base.Microseconds(),
		rec: &Recording{Seed: r.Seed, Start: r.Start, Base: r.Base, Input: r.Input},
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.leave()
	t.step = s
	return nil
}

// Peek returns what was recorded so far of the step in progress, which goes on. Calls that are under way are left out. It
// is nil when there is nothing to go on from: no step is being recorded, or it cannot be expected to repeat.
func (t *Tape) Peek() *Recording {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.step
	if s == nil || s.playing || len(s.reasons) > 0 || s.dropped != (dropped{}) || s.inFlight > 0 {
		return nil
	}
	r := *s.rec
	n := len(r.Calls)
	for n > 0 && !s.calls.done[n-1] {
		n--
	}
	if slices.Contains(s.calls.done[:n], false) {
		return nil // several threads call: the order of what follows is anybody's guess
	}
	r.Calls = slices.Clone(r.Calls[:n])
	r.Stdin = bytes.Clone(r.Stdin)
	clock, sizes := s.clock, s.input.sizes
	clock.data, sizes.data = bytes.Clone(clock.data), bytes.Clone(sizes.data)
	r.clock, r.chunks = clock.finish(), sizes.finish()
	r.files, r.fileCalls = bytes.Clone(s.files.log), s.files.calls
	return &r
}

// pastReading is a reading of the clock in a step that goes on: microseconds since it began.
func (s *step) pastReading() int64 {
	if d, ok := s.past.clock.next(); ok {
		return s.elapsed + int64(d)
	}
	// The time between is part of the step, so that the wall clock is right.
	return min(max(time.Now().UnixMicro()-s.start, s.elapsed), maxClock)
}

// pastTick is the same for the clock of files.
func (s *step) pastTick() int64 {
	f := &s.past.files
	if f.calls < s.past.rec.fileCalls {
		f.calls++
		f.next()
		return f.tick
	}
	return max((time.Now().UnixMicro()-s.start)/fileTick, s.files.tick)
}

// pastCall answers call i from the past. It is false when that has none.
func (s *step) pastCall(i int, request []byte, hash [RequestSize]byte) (answer []byte, ok bool) {
	p := s.past
	if p == nil || i >= len(p.rec.Calls) {
		return nil, false
	}
	if p.rec.Calls[i].Request != hash {
		s.diverge(KindCalls, uint64(i), "call %d of a host function has another request than recorded", i+1)
		return nil, true
	}
	answer = bytes.Clone(p.rec.Calls[i].Answer)
	if p.called != nil {
		p.called(request, answer)
	}
	return answer, true
}
