package tools

import (
	"context"
	"errors"
	"sync"

	"github.com/mayfly-run/mayfly/hostfns"
)

// listings keeps what is known of a server's tools.
type listings struct {
	s *server

	mu     sync.Mutex
	loaded bool // the cache on disk was looked at
	last   *hostfns.Listing
	// stale tells that the server said that its tools changed after the last listing began.
	stale  bool
	flight *flight
	// relists bounds how often a server can have itself listed by saying that its tools changed.
	relists *bucket
}

// flight is a listing under way.
type flight struct {
	done chan struct{}
	l    *hostfns.Listing
	err  error
	// stale is what listings.stale was.
	stale bool
}

// get returns the listing. Fresh is past what is known.
func (ls *listings) get(ctx context.Context, fresh bool) (*hostfns.Listing, error) {
	for {
		f, l, joined := ls.begin(fresh)
		if f == nil {
			return l, nil
		}
		select {
		case <-f.done:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		// One that was under way before is not fresh.
		if !joined || !fresh {
			return f.l, f.err
		}
	}
}

func (ls *listings) begin(fresh bool) (f *flight, l *hostfns.Listing, joined bool) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if !ls.loaded {
		ls.loaded = true
		ls.last = ls.s.loadListing()
	}
	if !fresh && ls.last != nil && (!ls.stale || ls.flight == nil && !ls.relists.take()) {
		return nil, ls.last, false
	}
	if ls.flight != nil {
		return ls.flight, nil, true
	}
	return ls.list(), nil, false
}

// list begins a listing. The lock is held.
func (ls *listings) list() *flight {
	f := &flight{done: make(chan struct{}), stale: ls.stale}
	ls.flight = f
	ls.stale = false
	if !ls.s.all.goRunning(func() { ls.fly(f) }) {
		ls.flight = nil
		f.err = closedError(ls.s.name)
		close(f.done)
	}
	return f
}

func (ls *listings) fly(f *flight) {
	defer close(f.done)
	l, err := ls.ask()
	if errors.Is(err, errAgain) {
		l, err = ls.ask()
	}
	changed := false
	ls.mu.Lock()
	ls.flight = nil
	if err != nil {
		f.err = ls.s.listError(err)
		ls.stale = ls.stale || f.stale
	} else {
		if old := ls.last; old != nil && old.Version == l.Version {
			l = old
		}
		f.l, ls.last, changed = l, l, true
	}
	ls.mu.Unlock()
	if changed {
		ls.s.saveListing(l)
	}
}

// ask asks the server once.
func (ls *listings) ask() (*hostfns.Listing, error) {
	ss, release, err := ls.s.session(ls.s.all.ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	return ss.list(ss.ctx)
}

// began is told of a new connection: what is known from before may be out of date.
func (ls *listings) began() {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if ls.last != nil && ls.flight == nil {
		ls.list()
	}
}

// changed is told that the server says that its tools changed.
func (ls *listings) changed() {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if ls.stale = ls.last != nil || ls.flight != nil; ls.stale && ls.flight == nil && ls.relists.take() {
		ls.list()
	}
}
