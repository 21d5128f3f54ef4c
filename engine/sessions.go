package engine

import (
	"context"
	"errors"
)

// SessionFilter selects sessions; the zero value of a field selects all.
type SessionFilter struct {
	Tenant string
	// Labels have to be there with these values.
	Labels map[string]string
}

// Sessions describes the durable sessions that the filter selects, in the order of their names; nil selects all.
func (e *Engine) Sessions(ctx context.Context, f *SessionFilter) ([]SessionInfo, error) {
	if e.opts.Store == nil {
		return nil, &Error{Err: ErrNoStore, Phase: PhaseRequest, Hint: "set Options.Store"}
	}
	if f == nil {
		f = &SessionFilter{}
	}
	infos := []SessionInfo{}
	for b, err := range e.opts.Store.Heads(ctx) {
		if err != nil {
			return nil, storeError(err)
		}
		h, err := parseHead(b)
		if err != nil {
			// The others are to be had all the same, and the store's own check finds it.
			e.opts.Logger.Warn("session left out of a list", "error", err)
			continue
		}
		if h.Importing || f.Tenant != "" && f.Tenant != h.Tenant || !hasLabels(h.Labels, f.Labels) {
			continue
		}
		infos = append(infos, e.live(h.info()))
	}
	return infos, nil
}

func hasLabels(have, want map[string]string) bool {
	for k, v := range want {
		if got, ok := have[k]; !ok || got != v {
			return false
		}
	}
	return true
}

// Lookup describes a durable session.
func (e *Engine) Lookup(ctx context.Context, session string) (*SessionInfo, error) {
	h, err := e.readHead(ctx, session)
	if err != nil {
		return nil, err
	}
	info := e.live(h.info())
	return &info, nil
}

// live adds what only the process knows.
func (e *Engine) live(i SessionInfo) SessionInfo {
	e.mu.Lock()
	s := e.durable[i.ID]
	e.mu.Unlock()
	if s != nil {
		i.Open, i.Running = true, s.running()
	}
	return i
}

// Remove deletes a durable session and its journal. If it is open, it is closed first, whoever uses it.
func (e *Engine) Remove(ctx context.Context, session string) error {
	e.opening.Lock()
	defer e.opening.Unlock()
	if _, err := e.readHead(ctx, session); err != nil && !errors.Is(err, ErrStoreDamaged) {
		return err
	}
	return e.remove(ctx, session)
}

// remove needs Engine.opening.
func (e *Engine) remove(ctx context.Context, session string) error {
	e.mu.Lock()
	s := e.durable[session]
	if s != nil {
		s.kept.opens = 0
	}
	e.mu.Unlock()
	if s != nil {
		if err := s.end(); err != nil {
			e.opts.Logger.Warn("close removed session", "session", session, "error", err)
		}
		<-s.kept.ended // somebody else may be closing it, and a last step of it must not end up in another one of this name
	}
	return storeError(e.opts.Store.Remove(ctx, session))
}
