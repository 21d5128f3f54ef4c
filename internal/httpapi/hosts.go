package httpapi

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/mayfly-run/mayfly/engine"
	"github.com/mayfly-run/mayfly/hostfns"
)

// A host that a caller described stays for a while after its last execution, since the next one has its tool servers
// running then. maxHosts bounds how many there are: each may have processes.
const (
	keepHost = time.Minute
	maxHosts = 64
)

// hosts are those that callers described, by what they said. Callers that say the same share one.
type hosts struct {
	build func(ctx context.Context, config json.RawMessage) (*hostfns.Host, error)
	keep  time.Duration
	log   *slog.Logger

	mu     sync.Mutex
	all    map[[sha256.Size]byte]*sharedHost
	closed bool
	open   sync.WaitGroup // each that is not closed yet
}

// sharedHost is a host and those that use it. The lock of hosts guards users, idle and timer.
type sharedHost struct {
	key    [sha256.Size]byte
	users  int
	idle   time.Time
	timer  *time.Timer
	cancel context.CancelFunc // ends the building

	ready chan struct{} // closed when the rest is there
	host  *hostfns.Host
	err   error
}

// use returns the host that a configuration describes; release gives it back.
func (s *hosts) use(ctx context.Context, config json.RawMessage) (h *hostfns.Host, release func(), err error) {
	if s.build == nil {
		return nil, nil, badRequest("it offers what it was started with", "this server takes no host configurations")
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, config); err != nil {
		return nil, nil, badRequest("", "host configuration: %w", err)
	}
	x, err := s.take(ctx, compact.Bytes())
	if err != nil {
		return nil, nil, err
	}
	select {
	case <-x.ready:
		err = x.err
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err != nil {
		s.release(x)
		if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
			return nil, nil, &engine.Error{Err: err, Phase: engine.PhaseRequest}
		}
		return nil, nil, badRequest("", "host configuration: %w", err)
	}
	return x.host, sync.OnceFunc(func() { s.release(x) }), nil
}

// take counts one more user of a host, which is built when it is not there.
func (s *hosts) take(ctx context.Context, config []byte) (*sharedHost, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, &engine.Error{Err: engine.ErrClosed, Phase: engine.PhaseRequest}
	}
	key := sha256.Sum256(config)
	if x := s.all[key]; x != nil {
		x.users++
		if x.timer != nil {
			x.timer.Stop()
			x.timer = nil
		}
		return x, nil
	}
	if len(s.all) >= maxHosts && !s.dropOldest() {
		return nil, &engine.Error{
			Err: fmt.Errorf("%w: %d host configurations are in use", engine.ErrBusy, maxHosts), Phase: engine.PhaseRequest,
		}
	}
	building, cancel := context.WithCancel(context.WithoutCancel(ctx))
	x := &sharedHost{key: key, users: 1, cancel: cancel, ready: make(chan struct{})}
	if s.all == nil {
		s.all = map[[sha256.Size]byte]*sharedHost{}
	}
	s.all[key] = x
	s.open.Add(1)
	go func() {
		defer close(x.ready)
		x.host, x.err = s.build(building, config)
	}()
	return x, nil
}

func (s *hosts) release(x *sharedHost) {
	s.mu.Lock()
	defer s.mu.Unlock()
	x.users--
	if x.users > 0 {
		return
	}
	failed := true // or nobody waited for it
	select {
	case <-x.ready:
		failed = x.err != nil
	default:
	}
	if failed || s.closed {
		s.drop(x)
		return
	}
	x.idle = time.Now()
	x.timer = time.AfterFunc(s.keep, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if x.users == 0 && s.all[x.key] == x {
			s.drop(x)
		}
	})
}

// drop closes a host that nobody uses.
func (s *hosts) drop(x *sharedHost) {
	if s.all[x.key] == x {
		delete(s.all, x.key)
	}
	if x.timer != nil {
		x.timer.Stop()
	}
	x.cancel()
	go func() {
		defer s.open.Done()
		<-x.ready
		if x.host == nil {
			return
		}
		if err := x.host.Close(); err != nil {
			s.log.Warn("close tool servers", "error", err)
		}
	}()
}

func (s *hosts) dropOldest() bool {
	var oldest *sharedHost
	for _, x := range s.all {
		if x.users == 0 && (oldest == nil || x.idle.Before(oldest.idle)) {
			oldest = x
		}
	}
	if oldest != nil {
		s.drop(oldest)
	}
	return oldest != nil
}

// close lets nobody in any more, closes all hosts, those in use when they are not any more, and waits for that.
func (s *hosts) close() {
	s.mu.Lock()
	s.closed = true
	for _, x := range s.all {
		if x.users == 0 {
			s.drop(x)
		}
	}
	s.mu.Unlock()
	s.open.Wait()
}
