package tools

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/mayfly-run/mayfly/hostfns"
)

// Back-off after a server failed to start, or ended by itself.
const (
	firstBackoff = 100 * time.Millisecond
	maxBackoff   = 30 * time.Second
	// A use of the server waits for its next start so long at most; else it fails at once, and says when to try again.
	maxBackoffWait = time.Second
	// A server that ran so long, or that answered a call, has not failed before.
	provenTime = time.Minute
)

// server is a tool server: its configuration, its connection when there is one, and what is known of its tools.
type server struct {
	name string
	conf Server
	all  *Servers

	mu      sync.Mutex
	current *start // that is under way, or led to the connection there is
	// failures are those in a row; after the last one, there is no start before next.
	failures int
	failure  *hostfns.Error
	next     time.Time

	listings *listings
}

// start is a start of a server, and what became of it.
type start struct {
	done chan struct{} // ss or err are known
	ss   *session
	err  error
	over chan struct{} // the session has ended
}

// session returns the connection; it starts the server when there is none. The caller calls release when it is done with it.
func (s *server) session(ctx context.Context) (ss *session, release func(), err error) {
	for {
		st, wait, err := s.attempt()
		if err != nil {
			return nil, nil, err
		}
		if st == nil {
			if err := sleep(ctx, wait); err != nil {
				return nil, nil, err
			}
			continue
		}
		select {
		case <-st.done:
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		}
		if st.err != nil {
			return nil, nil, st.err
		}
		if release = st.ss.use(); release != nil {
			return st.ss, release, nil
		}
		select {
		case <-st.over:
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		}
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// attempt returns the start that is under way, or that led to the connection there is. Nil: one has to wait.
func (s *server) attempt() (*start, time.Duration, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current != nil {
		return s.current, 0, nil
	}
	if wait := time.Until(s.next); wait > maxBackoffWait {
		e := *s.failure
		e.RetryAfter, e.Retryable = wait, true
		e.Hint = fmt.Sprintf("it failed %d times in a row and is started again in %s", s.failures, wait.Round(100*time.Millisecond))
		return nil, 0, &e
	} else if wait > 0 {
		return nil, wait, nil
	}
	st := &start{done: make(chan struct{}), over: make(chan struct{})}
	if !s.all.goRunning(func() { s.live(st) }) {
		return nil, 0, closedError(s.name)
	}
	s.current = st
	return st, 0, nil
}

// live starts the server, and waits for its end.
func (s *server) live(st *start) {
	defer close(st.over)
	ctx, cancel := context.WithCancelCause(s.all.ctx)
	defer cancel(nil)
	limit := s.conf.StartTimeout
	if limit <= 0 {
		limit = DefaultStartTimeout
	}
	timer := time.AfterFunc(limit, func() { cancel(fmt.Errorf("%w: %s", errStart, limit)) })
	ss, err := s.connect(ctx)
	if !timer.Stop() && err == nil {
		err = s.startError(context.Cause(ctx), ss.p)
		ss.close(err)
	}
	if err != nil {
		s.mu.Lock()
		s.current = nil
		s.fail(err)
		s.mu.Unlock()
		st.err = err
		close(st.done)
		return
	}
	st.ss = ss
	close(st.done)
	s.listings.began()
	why := ss.watch()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.current = nil
	if errors.Is(why, errIdle) || s.all.ctx.Err() != nil {
		return
	}
	ss.mu.Lock()
	if ss.worked || time.Since(ss.began) > provenTime {
		s.failures = 0
	}
	ss.mu.Unlock()
	s.fail(s.endError(ss, why))
}

func (s *server) endError(ss *session, why error) *hostfns.Error {
	e := &hostfns.Error{
		Code: hostfns.CodeServer, Server: s.name, Err: why,
		Message: fmt.Sprintf("the tool server %s ended by itself: %s", s.name, cut(plain(why), maxErrorText)),
	}
	if ss.p != nil {
		e.Message += said(ss.p)
	}
	s.all.log.Warn("a tool server ended by itself", "server", s.name, "reason", e.Message)
	return e
}

// fail notes a failure. The lock is held.
func (s *server) fail(err error) {
	if !errors.As(err, &s.failure) {
		s.failure = &hostfns.Error{Code: hostfns.CodeServer, Server: s.name, Message: err.Error(), Err: err}
	}
	s.failures++
	d := min(firstBackoff<<min(s.failures-1, 20), maxBackoff)
	// Half of it is by chance, so that many do not come back at once.
	s.next = time.Now().Add(d/2 + rand.N(d/2+1))
}
