package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mayfly-run/mayfly/engine"
	"github.com/mayfly-run/mayfly/hostfns"
)

// builder makes hosts of {"name": N}, and counts them.
type builder struct {
	built, closed atomic.Int64
	// wait, if it is there, is waited for by each build.
	wait chan struct{}
	// ended gets one for each host that is closed.
	ended chan struct{}
}

type watched struct {
	hostfns.Provider
	b *builder
}

func (w watched) Close() error {
	w.b.closed.Add(1)
	w.b.ended <- struct{}{}
	return w.Provider.Close()
}

func (b *builder) build(ctx context.Context, config json.RawMessage) (*hostfns.Host, error) {
	var c struct{ Name string }
	if err := json.Unmarshal(config, &c); err != nil {
		return nil, err
	}
	if b.wait != nil {
		select {
		case <-b.wait:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	if c.Name == "" {
		return nil, errors.New("there is no name")
	}
	b.built.Add(1)
	return hostfns.New(&hostfns.Options{Providers: []hostfns.Provider{watched{hostfns.NewTools(c.Name), b}}})
}

func newHosts(t *testing.T, keep time.Duration) (*hosts, *builder) {
	b := &builder{ended: make(chan struct{}, 1000)}
	s := &hosts{build: b.build, keep: keep, log: slog.New(slog.NewTextHandler(t.Output(), nil))}
	t.Cleanup(s.close)
	return s, b
}

func TestHostIsShared(t *testing.T) {
	t.Parallel()
	s, b := newHosts(t, time.Hour)
	h1, release1, err := s.use(t.Context(), json.RawMessage(`{"name": "a"}`))
	if err != nil {
		t.Fatal(err)
	}
	h2, release2, err := s.use(t.Context(), json.RawMessage(`{ "name":"a" }`)) // the same, but for blanks
	if err != nil || h1 != h2 || b.built.Load() != 1 {
		t.Errorf("%v, the same host: %v, built %d", err, h1 == h2, b.built.Load())
	}
	h3, release3, err := s.use(t.Context(), json.RawMessage(`{"name": "b"}`))
	if err != nil || h3 == h1 {
		t.Errorf("%v, another host: %v", err, h3 != h1)
	}
	release1()
	release1() // once is enough
	release3()
	if b.closed.Load() != 0 {
		t.Error("a host was closed while it is kept or used")
	}
	h4, release4, err := s.use(t.Context(), json.RawMessage(`{"name": "b"}`))
	if err != nil || h4 != h3 {
		t.Errorf("%v, the host that was kept: %v", err, h4 == h3)
	}
	release4()
	release2()
	s.close()
	if b.closed.Load() != 2 {
		t.Errorf("%d hosts were closed", b.closed.Load())
	}
	if _, _, err := s.use(t.Context(), json.RawMessage(`{"name": "a"}`)); !errors.Is(err, engine.ErrClosed) {
		t.Errorf("after the end: %v", err)
	}
}

// TestHostExpires: a host that nobody uses is closed some time later, and made anew when it is needed.
func TestHostExpires(t *testing.T) {
	t.Parallel()
	s, b := newHosts(t, time.Millisecond)
	for range 2 {
		_, release, err := s.use(t.Context(), json.RawMessage(`{"name": "a"}`))
		if err != nil {
			t.Fatal(err)
		}
		release()
		<-b.ended
	}
	if b.built.Load() != 2 {
		t.Errorf("%d hosts were made", b.built.Load())
	}
}

// TestCloseWaitsForHost: a host is closed when its last execution has ended, and not before.
func TestCloseWaitsForHost(t *testing.T) {
	t.Parallel()
	s, b := newHosts(t, time.Hour)
	_, release, err := s.use(t.Context(), json.RawMessage(`{"name": "a"}`))
	if err != nil {
		t.Fatal(err)
	}
	closed := make(chan struct{})
	go func() {
		s.close()
		close(closed)
	}()
	for { // until the end has begun
		_, again, err := s.use(t.Context(), json.RawMessage(`{"name": "a"}`))
		if err != nil {
			break
		}
		again()
	}
	if b.closed.Load() != 0 {
		t.Error("it was closed in use")
	}
	release()
	<-closed
	if b.closed.Load() != 1 {
		t.Error("it was not closed")
	}
}

// TestHostFails: what is wrong is the caller's mistake, and is not remembered.
func TestHostFails(t *testing.T) {
	t.Parallel()
	s, b := newHosts(t, time.Hour)
	for _, config := range []string{`{}`, `{"name": 1}`, `[]`, `{`, ``, `"x"`, `{"name": ""}`} {
		if _, _, err := s.use(t.Context(), json.RawMessage(config)); !errors.Is(err, engine.ErrRequest) {
			t.Errorf("%s: %v", config, err)
		}
	}
	if len(s.all) != 0 || b.built.Load() != 0 {
		t.Errorf("%d hosts are kept, %d were made", len(s.all), b.built.Load())
	}
	none := &hosts{}
	if _, _, err := none.use(t.Context(), json.RawMessage(`{"name": "a"}`)); !errors.Is(err, engine.ErrRequest) {
		t.Errorf("where none are taken: %v", err)
	}
}

// TestHostCancelled: nobody waits for a host any more, so making it ends.
func TestHostCancelled(t *testing.T) {
	t.Parallel()
	s, b := newHosts(t, time.Hour)
	b.wait = make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		_, _, err := s.use(ctx, json.RawMessage(`{"name": "a"}`))
		done <- err
	}()
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	close(b.wait)
	h, release, err := s.use(t.Context(), json.RawMessage(`{"name": "a"}`))
	if err != nil || h == nil {
		t.Fatal(err)
	}
	release()
}

// TestManyHosts: their number is bounded; those that are not used go first.
func TestManyHosts(t *testing.T) {
	t.Parallel()
	s, b := newHosts(t, time.Hour)
	var releases []func()
	use := func(i int) error {
		_, release, err := s.use(t.Context(), json.RawMessage(fmt.Sprintf(`{"name": "s%d"}`, i)))
		if err == nil {
			releases = append(releases, release)
		}
		return err
	}
	for i := range maxHosts {
		if err := use(i); err != nil {
			t.Fatal(err)
		}
	}
	if err := use(maxHosts); !errors.Is(err, engine.ErrBusy) {
		t.Errorf("one too many: %v", err)
	}
	releases[7]()
	if err := use(maxHosts); err != nil {
		t.Errorf("when one is idle: %v", err)
	}
	<-b.ended
	for _, release := range releases {
		release()
	}
}

// TestHostsHammer: many at once, with the race detector.
func TestHostsHammer(t *testing.T) {
	t.Parallel()
	s, b := newHosts(t, 0)
	var work sync.WaitGroup
	for i := range 8 {
		work.Go(func() {
			for j := range 50 {
				ctx, cancel := context.WithCancel(t.Context())
				if j%5 == 4 {
					cancel()
				}
				h, release, err := s.use(ctx, json.RawMessage(fmt.Sprintf(`{"name": "s%d"}`, (i+j)%3)))
				if err == nil {
					if len(h.Servers()) != 1 {
						t.Error("a host that is not one")
					}
					release()
				}
				cancel()
			}
		})
	}
	work.Wait()
	s.close()
	if b.built.Load() != b.closed.Load() {
		t.Errorf("%d were made, %d closed", b.built.Load(), b.closed.Load())
	}
}
