package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mayfly-run/mayfly/engine/internal/tape"
	"github.com/mayfly-run/mayfly/hostfns/cas"
)

// create makes a session: its first record says that nothing ran yet.
func (e *Engine) create(ctx context.Context, name string, o *SessionOptions) (*Session, error) {
	now := time.Now().UTC()
	h := &sessionHead{
		Version: headVersion, ID: name, Tenant: o.Tenant, Created: now, Active: now, IdleTTL: e.opts.IdleTTL, MaxAge: e.opts.MaxAge,
	}
	if err := e.change(h, o); err != nil {
		return nil, err
	}
	if err := e.checkTenant(ctx, o.Tenant); err != nil {
		return nil, err
	}
	rec := &Record{
		Version: recordVersion, Session: name, Kind: RecordCreate, Time: now,
		State: State{Guest: e.wasm.guestID(h.Sandbox.Language), Fresh: true, Reseed: true},
	}
	b := &cas.Batch{}
	if err := e.firstFiles(h, rec, b); err != nil {
		return nil, err
	}
	if err := e.commitFirst(ctx, h, rec, b); err != nil {
		return nil, err
	}
	return e.addDurable(h, rec)
}

// firstFiles fills in the files that a session begins with: a few directories, whose times are part of what can be repeated.
func (e *Engine) firstFiles(h *sessionHead, rec *Record, b *cas.Batch) error {
	spec := e.spec(h, nil)
	spec.Mounts, spec.now = nil, rec.Time.UnixNano
	fs, err := newFiles(&spec)
	if err != nil {
		return storeError(err)
	}
	c, err := fs.own.Commit(b)
	rec.State.Files, rec.State.Tree = c.Frame, c.Tree
	return storeError(errors.Join(err, fs.close()))
}

// commitFirst stores the first record of a new session.
func (e *Engine) commitFirst(ctx context.Context, h *sessionHead, rec *Record, b *cas.Batch) error {
	record, err := rec.encode()
	if err != nil {
		return storeError(err)
	}
	h.Step, h.First, h.Record, h.Snapshot = rec.Step, rec.Step, rec.hash, rec.Step
	h.Kept, h.Dropped = rec.Step, rec.Step
	head, err := h.encode()
	if err != nil {
		return storeError(err)
	}
	c := &Commit{Session: h.ID, Create: true, Step: rec.Step, Head: head, Record: record, Objects: b, Holds: rec.holds()}
	err = e.opts.Store.Commit(ctx, c)
	if errors.Is(err, ErrSessionExists) {
		return &Error{Err: fmt.Errorf("%w: %s", ErrSessionExists, h.ID), Phase: PhaseRequest, Hint: "choose another name, or remove it first"}
	}
	return storeError(err)
}

// addDurable makes an open session of a stored one.
func (e *Engine) addDurable(h *sessionHead, last *Record) (*Session, error) {
	t := tape.New()
	s := &Session{
		e: e, id: h.ID, turn: make(chan struct{}, 1), step: h.Step, spec: e.spec(h, t),
		kept: &kept{store: e.opts.Store, head: h, last: last, tape: t, opens: 1, ended: make(chan struct{})},
	}
	s.spec.audit = e.audit(s.id)
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil, &Error{Err: ErrClosed, Phase: PhaseRequest}
	}
	e.sessions[s] = struct{}{}
	e.durable[h.ID] = s
	return s, nil
}

// checkTenant refuses a session beyond Options.MaxSessions.
func (e *Engine) checkTenant(ctx context.Context, tenant string) error {
	limit := e.opts.MaxSessions
	if limit <= 0 {
		return nil
	}
	all, err := e.Sessions(ctx, nil)
	if err != nil {
		return err
	}
	have := 0
	for i := range all {
		if all[i].Tenant == tenant {
			have++
		}
	}
	if have >= limit {
		return &Error{Err: fmt.Errorf("%w: %d sessions, at most %d are allowed", ErrTooManySessions, have, limit), Phase: PhaseRequest, Hint: "remove some that are not needed any more"}
	}
	return nil
}
