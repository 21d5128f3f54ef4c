package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/mayfly-run/mayfly/engine/internal/tape"
	"github.com/mayfly-run/mayfly/hostfns/cas"
)

// Open opens a durable session, making it when there is none of this name. A session is open once in a process: several
// calls return the same one, whose executions run one after the other, and each has to close it. What it holds in memory
// is had from the store when code first runs.
func (e *Engine) Open(ctx context.Context, name string, o *SessionOptions) (*Session, error) {
	if o == nil {
		o = &SessionOptions{}
	}
	if err := CheckSessionName(name); err != nil {
		return nil, err
	}
	e.opening.Lock()
	defer e.opening.Unlock()
	if s := e.take(name); s != nil {
		var err error
		switch tenant := s.Info().Tenant; {
		case o.Tenant != "" && o.Tenant != tenant:
			err = ErrNoSession
		case o.New:
			err = ErrSessionExists
		default:
			return s, nil
		}
		return nil, errors.Join(&Error{Err: fmt.Errorf("%w: %s", err, name), Phase: PhaseRequest}, s.Close())
	}
	head, err := e.readHead(ctx, name)
	switch {
	case err == nil && o.New:
		return nil, &Error{Err: fmt.Errorf("%w: %s", ErrSessionExists, name), Phase: PhaseRequest, Hint: "choose another name, or remove it first"}
	case err == nil:
		return e.openStored(ctx, head, o)
	case errors.Is(err, ErrNoSession) && !o.Existing:
		return e.create(ctx, name, o)
	}
	return nil, err
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
	changed := *head
	if err := e.change(&changed, o); err != nil {
		return nil, err
	}
	if b, err := changed.encode(); err != nil {
		return nil, storeError(err)
	} else if old, _ := head.encode(); string(b) != string(old) {
		if err := e.opts.Store.SetHead(ctx, head.ID, b); err != nil {
			return nil, storeError(err)
		}
	}
	return e.addDurable(&changed, last)
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
			return nil, storeError(err)
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
	}
	return storeError(e.opts.Store.Remove(ctx, session))
}
