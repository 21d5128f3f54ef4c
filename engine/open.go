package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
)

// Open opens a durable session, making it when there is none of this name. A session is open once in a process: several
// calls return the same one, whose executions run one after the other, and each has to close it. Options that change one
// which is open wait for the code that runs in it. What a session holds in memory is had from the store when code first
// runs.
func (e *Engine) Open(ctx context.Context, name string, o *SessionOptions) (*Session, error) {
	if o == nil {
		o = &SessionOptions{}
	}
	if err := CheckSessionName(name); err != nil {
		return nil, err
	}
	s, open, err := e.openOrTake(ctx, name, o)
	if err != nil || !open {
		return s, err
	}
	// This may wait for code that runs, so nobody else's Open waits meanwhile.
	if err := s.reopen(ctx, o); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// openOrTake opens a session of the store or makes one. open tells that it was open, and the options are not applied.
func (e *Engine) openOrTake(ctx context.Context, name string, o *SessionOptions) (s *Session, open bool, err error) {
	e.opening.Lock()
	defer e.opening.Unlock()
	if s := e.take(name); s != nil {
		return s, true, nil
	}
	head, err := e.readHead(ctx, name)
	switch {
	case err == nil && o.New:
		err = &Error{
			Err: fmt.Errorf("%w: %s", ErrSessionExists, name), Phase: PhaseRequest, Hint: "choose another name, or remove it first",
		}
	case err == nil:
		s, err = e.openStored(ctx, head, o)
	case errors.Is(err, ErrNoSession) && !o.Existing:
		s, err = e.create(ctx, name, o)
	}
	return s, false, err
}

// take returns the session that is open under a name, counting the use; nil if there is none. It waits for one that is
// being closed.
func (e *Engine) take(name string) *Session {
	for {
		e.mu.Lock()
		s := e.durable[name]
		open := s != nil && s.kept.opens > 0
		if open {
			s.kept.opens++
		}
		e.mu.Unlock()
		if s == nil || open {
			return s
		}
		<-s.kept.ended
	}
}

// openStored opens a session of the store with what the options change.
func (e *Engine) openStored(ctx context.Context, head *sessionHead, o *SessionOptions) (*Session, error) {
	if o.Tenant != "" && o.Tenant != head.Tenant {
		// Whether there is a session of somebody else is nobody's business.
		return nil, &Error{Err: fmt.Errorf("%w: %s", ErrNoSession, head.ID), Phase: PhaseRequest}
	}
	j := &Journal{e, head}
	last, err := j.record(ctx, head.Step)
	if err != nil {
		return nil, err
	}
	if last.Hash() != head.Record {
		return nil, storeError(fmt.Errorf("%w: the last record of session %s is not the one that its head names", ErrStoreDamaged, head.ID))
	}
	changed, err := e.changeStored(ctx, head, last, o)
	if err != nil {
		return nil, err
	}
	e.dropStates(ctx, changed) // a process that ended may not have come to it
	return e.addDurable(changed, last)
}

// changeStored stores what options change in a head, and returns the new one, or the same.
func (e *Engine) changeStored(ctx context.Context, head *sessionHead, last *Record, o *SessionOptions) (*sessionHead, error) {
	changed := *head
	if err := e.change(&changed, o); err != nil {
		return nil, err
	}
	if err := e.checkSmaller(last, &head.Sandbox, &changed.Sandbox); err != nil {
		return nil, err
	}
	b, err := changed.encode()
	if err != nil {
		return nil, storeError(err)
	}
	if old, err := head.encode(); err == nil && bytes.Equal(b, old) {
		return head, nil
	}
	return &changed, storeError(e.opts.Store.SetHead(ctx, head.ID, b))
}

// reopen applies the options of one more Open to a session that is open. It waits for the code that runs, if there is
// something to change.
func (s *Session) reopen(ctx context.Context, o *SessionOptions) error {
	if o.New {
		return &Error{Err: fmt.Errorf("%w: %s", ErrSessionExists, s.id), Phase: PhaseRequest, Hint: "choose another name, or remove it first"}
	}
	s.state.Lock()
	head := s.kept.head
	s.state.Unlock()
	if o.Tenant != "" && o.Tenant != head.Tenant {
		return &Error{Err: fmt.Errorf("%w: %s", ErrNoSession, s.id), Phase: PhaseRequest}
	}
	if o.Sandbox == nil && o.Labels == nil && o.IdleTTL == 0 && o.MaxAge == 0 && o.Snapshots == nil {
		return nil
	}
	return s.durableTurn(ctx, func(ctx context.Context) error {
		if err := s.checkSuspended(nil); err != nil {
			return err
		}
		head := s.kept.head
		if box, ok := s.box.(*wasmSandbox); ok && o.Sandbox != nil && o.Sandbox.Memory > 0 && o.Sandbox.Memory < box.mem.Size() {
			return tooSmall(box.mem.Size(), o.Sandbox.Memory)
		}
		changed, err := s.e.changeStored(ctx, head, s.kept.last, o)
		if err != nil || changed == head {
			return err
		}
		s.state.Lock()
		s.kept.head = changed
		s.state.Unlock()
		if reflect.DeepEqual(changed.Sandbox, head.Sandbox) {
			return nil
		}
		return s.resize(ctx, &changed.Sandbox)
	})
}

// resize gives the session other limits and mounts: those of the next sandbox, which comes from the store.
func (s *Session) resize(ctx context.Context, sb *Sandbox) error {
	if s.box != nil {
		if !s.kept.last.State.stored() {
			if err := s.save(ctx, s.box.(keeper), s.record(RecordSnapshot)); err != nil {
				return err
			}
		}
		if err := s.abandon(ctx); err != nil {
			s.e.opts.Logger.Warn("close sandbox", "session", s.id, "error", err)
		}
	}
	to := &s.spec.Sandbox // the language stays, and may be read at any time
	to.Memory, to.Workspace, to.Files, to.Threads, to.Stacks, to.Mounts = sb.Memory, sb.Workspace, sb.Files, sb.Threads, sb.Stacks, sb.Mounts
	to.Policy = sb.Policy
	s.closeHost()
	return nil
}

// change applies options to a head.
func (e *Engine) change(h *sessionHead, o *SessionOptions) error {
	if sb := o.Sandbox; sb != nil {
		to := &h.Sandbox
		if sb.Language != "" && to.Language != "" && sb.Language != to.Language {
			return requestError("open another session", "the session runs %s, not %s", to.Language, sb.Language)
		}
		override(&to.Language, sb.Language)
		override(&to.Memory, sb.Memory)
		override(&to.Workspace, sb.Workspace)
		override(&to.Files, sb.Files)
		override(&to.Threads, sb.Threads)
		override(&to.Stacks, sb.Stacks)
		if sb.Mounts != nil {
			to.Mounts = slices.Clone(sb.Mounts)
		}
		if sb.Policy != nil {
			to.Policy = sb.Policy
		}
	}
	sb, err := e.fillSandbox(h.Sandbox)
	if err != nil {
		return err
	}
	h.Sandbox = sb
	if err := checkLabels(o.Labels); err != nil {
		return err
	}
	if o.Labels != nil {
		h.Labels = maps.Clone(o.Labels)
	}
	override(&h.IdleTTL, o.IdleTTL)
	override(&h.MaxAge, o.MaxAge)
	h.IdleTTL, h.MaxAge = max(h.IdleTTL, 0), max(h.MaxAge, 0)
	if o.Snapshots != nil {
		h.Snapshots = *o.Snapshots
	}
	return nil
}

// checkLabels bounds labels: they are read with every list of sessions.
func checkLabels(labels map[string]string) error {
	const most, longest = 64, 256
	if len(labels) > most {
		return requestError("", "%d labels, at most %d are allowed", len(labels), most)
	}
	for k, v := range labels {
		if k == "" || len(k) > longest || len(v) > longest {
			return requestError(fmt.Sprintf("names and values have at most %d bytes", longest), "label %.80q", k)
		}
	}
	return nil
}

func override[T comparable](v *T, with T) {
	var zero T
	if with != zero {
		*v = with
	}
}
