package tape

import (
	"errors"
	"fmt"
	"io"
)

// How standard input ended, as far as the guest saw it.
const (
	inputOpen    = iota // it read no further
	inputEOF            // end of file
	inputFailed         // an error
	inputEnds           // the number of those
	inputWithEnd = 4    // added when the end came with the last bytes
)

// errInput is what the guest learns of errors: that there was one.
var errInput = errors.New("standard input failed")

// input is the standard input of a step.
type input struct {
	sizes  seriesWriter // of the reads, less one; in Record
	chunks seriesReader // the same in Play
	off    int          // bytes played
	ended  bool         // the end was played
	size   uint64       // of the read in progress, as far as it was not taken; zero if there is none
}

// Stdin wraps the standard input of the step in progress. While recording, reads of r are noted. While playing, r is
// ignored and may be nil. Otherwise it is r, or empty if that is nil.
// Reads must not happen at the same time.
func (t *Tape) Stdin(r io.Reader) io.Reader {
	if r == nil {
		r = empty{}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.step
	switch {
	case s == nil:
		return r
	case s.playing:
		return playedInput{t, s}
	}
	s.rec.Input = true
	if s.past != nil {
		r = pastInput{t, s}
	}
	return recordedInput{t, s, r}
}

type empty struct{}

func (empty) Read([]byte) (int, error) { return 0, io.EOF }

type recordedInput struct {
	t *Tape
	s *step
	r io.Reader
}

func (i recordedInput) Read(p []byte) (n int, err error) {
	if len(p) == 0 {
		return 0, nil
	}
	i.began(1)
	defer i.began(-1) // also when the reader panics
	n, err = i.r.Read(p)
	if n < 0 || n > len(p) {
		n, err = 0, fmt.Errorf("the reader returned %d bytes of %d", n, len(p))
	}
	switch {
	case errors.Is(err, io.EOF):
		err = io.EOF
	case err != nil: // a replay could not give the same one
		err = errInput
	}
	i.t.mu.Lock()
	defer i.t.mu.Unlock()
	if !i.s.ended && !i.s.dropped.stdin {
		i.s.noteInput(p[:n], err)
	}
	return n, err
}

func (i recordedInput) began(n int) {
	i.t.mu.Lock()
	defer i.t.mu.Unlock()
	i.s.inFlight += n
}

func (s *step) noteInput(p []byte, err error) {
	r := s.rec
	if len(p) > 0 {
		s.input.sizes.add(uint64(len(p) - 1))
		r.Stdin = append(r.Stdin, p...)
	}
	if err != nil {
		r.end = inputFailed
		if errors.Is(err, io.EOF) {
			r.end = inputEOF
		}
		if len(p) > 0 {
			r.end += inputWithEnd
		}
	}
	if len(r.Stdin)+s.input.sizes.size() > s.limits.Stdin {
		s.dropped.stdin = true
		s.input.sizes, r.Stdin, r.end = seriesWriter{}, nil, inputOpen
		s.unsteady(ReasonStdin)
	}
}

// pastInput is the standard input of a step that goes on: what it read before, and no more.
type pastInput struct {
	t *Tape
	s *step
}

func (i pastInput) Read(p []byte) (int, error) {
	i.t.mu.Lock()
	defer i.t.mu.Unlock()
	in, r := &i.s.past.input, i.s.past.rec
	if in.size == 0 {
		size, ok := in.chunks.next()
		if !ok {
			return 0, pastEnd(r)
		}
		in.size = size + 1
	}
	n := copy(p, r.Stdin[in.off:in.off+int(in.size)])
	in.off += n
	in.size -= uint64(n)
	if in.off == len(r.Stdin) && r.end >= inputWithEnd {
		return n, pastEnd(r)
	}
	return n, nil
}

func pastEnd(r *Recording) error {
	if r.end%inputWithEnd == inputFailed {
		return errInput
	}
	return io.EOF
}

type playedInput struct {
	t *Tape
	s *step
}

func (i playedInput) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	i.t.mu.Lock()
	defer i.t.mu.Unlock()
	s := i.s
	in, r := &s.input, s.rec
	if s.ended {
		return 0, io.EOF
	}
	if in.size == 0 {
		size, ok := in.chunks.next()
		if !ok {
			return 0, s.endOfInput()
		}
		in.size = size + 1
	}
	n := copy(p, r.Stdin[in.off:in.off+int(in.size)])
	in.off += n
	in.size -= uint64(n)
	if in.off == len(r.Stdin) && r.end >= inputWithEnd {
		return n, s.endOfInput()
	}
	return n, nil
}

// endOfInput is what comes after the recorded bytes.
func (s *step) endOfInput() error {
	switch s.rec.end % inputWithEnd {
	case inputEOF:
		s.input.ended = true
		return io.EOF
	case inputFailed:
		s.input.ended = true
		return errInput
	}
	if !s.dropped.stdin {
		n := uint64(len(s.rec.Stdin))
		s.diverge(KindStdin, n, "standard input was read beyond the %d bytes recorded", n)
	}
	return io.EOF
}
