package hostfns

import "sync"

// Session is what one sandbox may use of a Host. It is safe for concurrent use.
type Session struct {
	h       *Host
	rules   *rules
	handles *handles

	mu     sync.Mutex
	calls  map[*Calls]struct{}
	closed bool
	// always are replies that hold for all further questions about a tool.
	always map[string]*Reply
}

// NewSession returns a session under a policy besides the host's; nil: none. Close frees it.
func (h *Host) NewSession(p *Policy) *Session {
	return &Session{
		h: h, rules: h.rules.and(p), calls: map[*Calls]struct{}{}, handles: newHandles(h.o.MaxHandles, h.o.MaxInline),
	}
}

// Close ends the executions that are still under way, and forgets the handles.
func (s *Session) Close() {
	s.mu.Lock()
	s.closed = true
	calls := make([]*Calls, 0, len(s.calls))
	for c := range s.calls {
		calls = append(calls, c)
	}
	s.mu.Unlock()
	var all sync.WaitGroup
	for _, c := range calls {
		all.Go(func() { c.End() })
	}
	all.Wait()
	s.handles.clear()
}

func (s *Session) add(c *Calls) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.calls[c] = struct{}{}
	return true
}

func (s *Session) remove(c *Calls) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.calls, c)
}

func (s *Session) answered(t *tool) *Reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.always[t.destination]
}

func (s *Session) remember(t *tool, r *Reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.always == nil {
		s.always = map[string]*Reply{}
	}
	s.always[t.destination] = r
}
