package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/mayfly-run/mayfly/engine"
	"github.com/mayfly-run/mayfly/engine/store"
	"github.com/mayfly-run/mayfly/hostfns/cas"
)

// stateStore is a store with the engine that uses it.
type stateStore struct {
	*engine.Engine
	store *store.Store
	meter *meter
	dir   string
}

// open opens the store of a name, making it when it is not there.
func (b *stateRun) open(ctx context.Context, name string, d store.Durability) (*stateStore, error) {
	s := &stateStore{dir: filepath.Join(b.dir, name)}
	var err error
	if s.store, err = store.Open(s.dir, &store.Options{Durability: d}); err != nil {
		return nil, err
	}
	s.meter = &meter{Store: s.store}
	s.Engine, err = engine.New(ctx, &engine.Options{
		Guests: []engine.Guest{b.guest}, CacheDir: b.opts.CacheDir, Progress: b.opts.EngineProgress, Store: s.meter,
	})
	if err == nil {
		err = s.Warm(ctx, "")
	}
	if err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

func (s *stateStore) close() error {
	var err error
	if s.Engine != nil {
		err = s.Engine.Close()
		s.Engine = nil
	}
	if s.store != nil {
		err = errors.Join(err, s.store.Close())
		s.store = nil
	}
	return err
}

// remove closes the store and deletes it.
func (s *stateStore) remove() error { return errors.Join(s.close(), os.RemoveAll(s.dir)) }

// runCode runs code in a session and expects that it goes well.
func runCode(ctx context.Context, s *engine.Session, code string) (*engine.Result, error) {
	r, err := s.Exec(ctx, engine.Request{Code: code, Timeout: time.Minute})
	switch {
	case err != nil:
		return r, err
	case r.Status != engine.StatusOK:
		return r, fmt.Errorf("%.60q: status %s: %+v", code, r.Status, r.Error)
	}
	return r, nil
}

// timeCode runs code and returns the milliseconds that it took.
func timeCode(ctx context.Context, s *engine.Session, code string) (float64, error) {
	start := time.Now()
	_, err := runCode(ctx, s, code)
	return since(start), err
}

// meter is a store that notes what it is given.
type meter struct {
	engine.Store
	mu     sync.Mutex
	steps  []metered
	put    int64 // bytes of objects since the last commit
	putLen int
}

// metered is a commit.
type metered struct {
	ms             float64
	record, object float64 // bytes
	objects        int
}

func (m *meter) Put(o cas.Object) (cas.Hash, error) {
	m.mu.Lock()
	m.put += int64(len(o.Data) + len(o.Refs)*len(cas.Hash{}))
	m.putLen++
	m.mu.Unlock()
	return m.Store.Put(o)
}

func (m *meter) Commit(ctx context.Context, c *engine.Commit) error {
	start := time.Now()
	err := m.Store.Commit(ctx, c)
	took := since(start)
	m.mu.Lock()
	defer m.mu.Unlock()
	x := metered{ms: took, record: float64(len(c.Record) + len(c.Head)), object: float64(m.put), objects: m.putLen}
	m.put, m.putLen = 0, 0
	if c.Objects != nil {
		x.object += float64(c.Objects.Size())
		x.objects += c.Objects.Len()
	}
	m.steps = append(m.steps, x)
	return err
}

// take returns what was noted since the last call.
func (m *meter) take() []metered {
	m.mu.Lock()
	defer m.mu.Unlock()
	steps := m.steps
	m.steps, m.put, m.putLen = nil, 0, 0
	return steps
}
