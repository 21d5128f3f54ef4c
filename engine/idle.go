package engine

import (
	"context"
	"time"
)

// rest has the sandbox trimmed when the session stays idle.
func (s *Session) rest() {
	s.trimmed = false
	switch {
	case s.spec.Ephemeral:
	case s.idle == nil:
		s.idle = time.AfterFunc(TrimAfter, s.trim)
	default:
		s.idle.Reset(TrimAfter)
	}
}

// trim gives back what an idle session does not need: at first a little, and when it has been idle for long, a durable
// session gives up all of it.
func (s *Session) trim() {
	if !s.e.enter() {
		return
	}
	defer s.e.running.Done()
	select {
	case s.turn <- struct{}{}:
	default:
		return // it is not idle
	}
	defer func() { <-s.turn }()
	if s.box == nil {
		return
	}
	unload := s.e.opts.UnloadAfter
	if s.kept != nil && s.trimmed {
		if !s.kept.last.State.stored() {
			return // having it again would take running it again
		}
		if err := s.abandon(context.Background()); err != nil {
			s.e.opts.Logger.Warn("unload idle session", "session", s.id, "error", err)
		}
		return
	}
	if t, ok := s.box.(interface{ Trim() error }); ok {
		if err := t.Trim(); err != nil {
			s.e.opts.Logger.Warn("trim idle session", "session", s.id, "error", err)
		}
	}
	if s.kept != nil && unload > 0 {
		s.trimmed = true
		s.idle.Reset(unload)
	}
}
