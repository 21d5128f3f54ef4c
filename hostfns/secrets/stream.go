package secrets

import "io"

// stream scrubs a text that comes in pieces, exactly as Scrub does the whole.
type stream struct {
	a     *automaton
	state int32
	pos   int64    // of the next byte
	base  int64    // of held[0]
	held  []byte   // what was taken and not given out, without what regions at its beginning cover
	found []region // that are not given out
	out   []byte
}

// add takes p and returns what is certain, which is part of p when that is possible, and else valid until the next call.
func (s *stream) add(p []byte) []byte {
	start := s.pos
	for i := 0; ; {
		var match int32
		s.state, i, match = s.a.scan(s.state, p, i)
		if match == 0 {
			break
		}
		s.found = cover(s.found, s.a.match(match, start+int64(i)))
	}
	s.pos += int64(len(p))
	hold := int64(s.a.hold[s.state])
	if len(s.held) == 0 && len(s.found) == 0 {
		certain := int64(len(p)) - hold
		s.held = append(s.held, p[certain:]...)
		s.base = s.pos - hold
		return p[:certain]
	}
	s.held = append(s.held, p...)
	s.out = s.emit(s.out[:0], s.pos-hold)
	return s.out
}

// emit appends what comes before safe: no later match begins there.
func (s *stream) emit(out []byte, safe int64) []byte {
	used, n := s.base, 0
	for _, r := range s.found {
		if to := min(safe, r.start); to > used {
			out = append(out, s.held[used-s.base:to-s.base]...)
			used = to
		}
		if r.start > used {
			break
		}
		// It may still grow, and yet its bytes are not needed any more.
		used = max(used, r.end)
		if r.end > safe {
			break
		}
		out = append(out, placeholder(s.a.names[r.name])...)
		n++
	}
	s.found = append(s.found[:0], s.found[n:]...)
	if len(s.found) == 0 && safe > used {
		out = append(out, s.held[used-s.base:safe-s.base]...)
		used = safe
	}
	s.held = append(s.held[:0], s.held[used-s.base:]...)
	s.base = used
	return out
}

// flush returns all that is held back, and begins anew.
func (s *stream) flush() []byte {
	s.state = 0
	s.out = s.emit(s.out[:0], s.pos)
	return s.out
}

// Writer is a scrubbing writer. It is not safe for concurrent use.
type Writer struct {
	w   io.Writer
	s   *stream // nil: there are no secrets
	err error
}

// Writer returns a writer that scrubs what is written, across the borders of writes. It holds back what may be the
// beginning of a secret until more comes, or Flush.
func (s *Set) Writer(w io.Writer) *Writer {
	if s.empty() {
		return &Writer{w: w}
	}
	return &Writer{w: w, s: &stream{a: s.in.find}}
}

// Write implements io.Writer. What it holds back counts as written. After an error of the writer below, that error is
// returned for ever: what got through is not known.
func (w *Writer) Write(p []byte) (int, error) {
	if w.err != nil {
		return 0, w.err
	}
	if w.s == nil {
		return w.w.Write(p)
	}
	out := w.s.add(p)
	if n, err := w.write(out); err != nil {
		if len(out) > 0 && &out[0] == &p[0] {
			return n, err
		}
		return 0, err
	}
	return len(p), nil
}

func (w *Writer) write(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	n, err := w.w.Write(p)
	if err == nil && n < len(p) {
		err = io.ErrShortWrite
	}
	w.err = err
	return min(max(n, 0), len(p)), err
}

// Flush writes what is held back. A secret of which one half was written before and the other comes after is not found.
func (w *Writer) Flush() error {
	if w.err != nil || w.s == nil {
		return w.err
	}
	_, err := w.write(w.s.flush())
	return err
}

// Reader returns a reader that scrubs what is read. It gives out what is held back at the end, or before an error.
func (s *Set) Reader(r io.Reader) io.Reader {
	if s.empty() {
		return r
	}
	return &reader{r: r, s: stream{a: s.in.find}}
}

const readSize = 32 << 10

type reader struct {
	r     io.Reader
	s     stream
	in    []byte
	out   []byte // scrubbed and not read
	ended bool   // nothing comes from r any more
	err   error
}

func (r *reader) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	for empty := 0; len(r.out) == 0; {
		switch {
		case r.ended:
			return 0, r.err
		case r.err != nil:
			r.ended = true
			r.out = r.s.flush()
			continue
		case r.in == nil:
			r.in = make([]byte, readSize)
		}
		n, err := r.r.Read(r.in)
		r.out, r.err = r.s.add(r.in[:n]), err
		if empty++; n > 0 {
			empty = 0
		} else if err == nil && empty > 100 {
			r.err = io.ErrNoProgress
		}
	}
	n := copy(p, r.out)
	r.out = r.out[n:]
	return n, nil
}
