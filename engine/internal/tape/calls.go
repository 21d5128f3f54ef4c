package tape

import (
	"bytes"
	"crypto/sha256"
)

// HostCall is a recorded call of a host function.
type HostCall struct {
	Request [RequestSize]byte // the beginning of the SHA-256 of the request
	Answer  []byte            // nil: there was none
}

// RequestSize is the length of HostCall.Request: 128 bits cannot be met by chance, and a guest that makes two requests
// alike on purpose deceives itself alone.
const RequestSize = 16

// callOverhead is what a call counts against the limit besides its answer, in bytes.
const callOverhead = 48

// calls are the host calls of a step.
type calls struct {
	next     int // index of the next call
	size     int // against the limit
	inFlight int
	done     []bool // of each, while recording
}

// Call is a call of a host function. While playing it returns the recorded answer, and do is not called; nil if there is
// none for this request. Otherwise it returns what do does. The answer that was noted is a copy.
//
// The index of a call is given when Call begins. Calls at the same time must begin in an order that the guest decides.
func (t *Tape) Call(request []byte, do func() []byte) []byte {
	t.mu.Lock()
	s := t.step
	if s == nil || (!s.playing && s.dropped.calls) {
		t.mu.Unlock()
		return do()
	}
	i := s.calls.next
	s.calls.next++
	if !s.playing {
		// The place is taken now. The hash and the answer follow, unless the step ends or the limit is met before.
		s.rec.Calls = append(s.rec.Calls, HostCall{})
		s.calls.done = append(s.calls.done, false)
		s.calls.inFlight++
	}
	t.mu.Unlock()

	sum := sha256.Sum256(request)
	hash := [RequestSize]byte(sum[:])
	if s.playing {
		return t.playCall(s, i, hash)
	}
	done := false
	var answer []byte
	defer func() { t.called(s, i, hash, answer, done) }() // also when do panics
	var past bool
	if answer, past = t.pastCall(s, i, request, hash); !past {
		answer = do()
	}
	done = true
	return answer
}

func (t *Tape) playCall(s *step, i int, hash [RequestSize]byte) []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch list := s.rec.Calls; {
	case s.dropped.calls && len(list) == 0, s.ended:
	case i >= len(list):
		s.diverge(KindCalls, uint64(i), "there were more calls of host functions than the %d recorded", len(list))
	case list[i].Request != hash:
		s.diverge(KindCalls, uint64(i), "call %d of a host function has another request than recorded", i+1)
	default:
		return bytes.Clone(list[i].Answer)
	}
	return nil
}

// pastCall answers a call of a step that goes on from what was recorded of it.
func (t *Tape) pastCall(s *step, i int, request []byte, hash [RequestSize]byte) (answer []byte, ok bool) {
	t.mu.Lock()
	if answer, ok = s.pastCall(i, request, hash); ok || s.past == nil {
		t.mu.Unlock()
		return answer, ok
	}
	live := s.past.live
	s.past.live = nil
	t.mu.Unlock()
	if live != nil {
		live()
	}
	return nil, false
}

// called notes an answer.
func (t *Tape) called(s *step, i int, hash [RequestSize]byte, answer []byte, done bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s.ended {
		return
	}
	s.calls.inFlight--
	if !done {
		s.unsteady(ReasonCalls)
	}
	if s.dropped.calls {
		return
	}
	if s.calls.size += len(answer) + callOverhead; s.calls.size > s.limits.Calls {
		s.dropped.calls = true
		s.rec.Calls, s.calls.done = nil, nil
		s.unsteady(ReasonCalls)
		return
	}
	s.rec.Calls[i] = HostCall{hash, bytes.Clone(answer)}
	s.calls.done[i] = true
}
