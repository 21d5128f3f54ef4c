package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/mayfly-run/mayfly/engine"
	"github.com/mayfly-run/mayfly/hostfns/cas"
)

func testParallel(t *testing.T, s engine.Store) {
	ctx := context.Background()
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			name := fmt.Sprintf("w%d", w)
			for i := range 60 {
				shared := cas.Object{Data: fmt.Appendf(nil, "shared %d", i%7)}
				own := cas.Object{Data: Data(name, 100*i), Refs: []cas.Hash{shared.Sum()}}
				c := Step(name, i, shared, own)
				if i%10 == 9 {
					bad := Step(name, i)
					bad.Holds = []cas.Hash{cas.Object{Data: []byte("nowhere")}.Sum()}
					if err := s.Commit(ctx, bad); !errors.Is(err, cas.ErrMissing) {
						t.Errorf("bad commit: %v", err)
					}
				}
				if err := s.Commit(ctx, c); err != nil {
					t.Errorf("%s %d: %v", name, i, err)
					return
				}
				if i > 2 {
					old := Step(name, i-2, cas.Object{Data: fmt.Appendf(nil, "shared %d", (i-2)%7)})
					if err := s.Release(ctx, name, i-2, old.Holds); err != nil {
						t.Error(err)
					}
				}
				for _, h := range c.Holds {
					wantObject(t, s, h)
				}
			}
		})
	}
	wg.Wait()
	for w := range 8 {
		if n := len(records(t, s, fmt.Sprintf("w%d", w), 0)); n != 60 {
			t.Errorf("w%d has %d records", w, n)
		}
	}
}

// testSameSession lets many race for each step: one of them wins.
func testSameSession(t *testing.T, s engine.Store) {
	ctx := context.Background()
	for step := range 20 {
		var won atomic.Int32
		var wg sync.WaitGroup
		for w := range 6 {
			wg.Go(func() {
				c := Step("a", step)
				c.Record = fmt.Appendf(nil, "%d", w)
				switch err := s.Commit(ctx, c); {
				case err == nil:
					won.Add(1)
				case step == 0 && !errors.Is(err, engine.ErrSessionExists), step > 0 && !errors.Is(err, engine.ErrConflict):
					t.Errorf("step %d: %v", step, err)
				}
			})
		}
		wg.Wait()
		if won.Load() != 1 {
			t.Errorf("step %d was committed %d times", step, won.Load())
		}
	}
}

func testReadersAndRemove(t *testing.T, s engine.Store) {
	ctx := context.Background()
	var done atomic.Bool
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			for !done.Load() {
				for _, err := range s.Heads(ctx) {
					if err != nil {
						t.Errorf("heads: %v", err)
					}
				}
				last := -1
				for r, err := range s.Records(ctx, "a", 0) {
					if err != nil {
						if !errors.Is(err, engine.ErrNoSession) {
							t.Errorf("records: %v", err)
						}
						break
					}
					if r.Step != last+1 {
						t.Errorf("step %d after %d", r.Step, last)
					}
					last = r.Step
				}
			}
		})
	}
	for range 15 {
		for i := range 20 {
			commit(t, s, Step("a", i))
		}
		if err := s.Remove(ctx, "a"); err != nil {
			t.Error(err)
		}
	}
	done.Store(true)
	wg.Wait()
}
