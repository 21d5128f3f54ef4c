package store

import (
	"context"
	"errors"
	"testing"

	"github.com/mayfly-run/mayfly/hostfns/cas"
	"github.com/mayfly-run/mayfly/internal/storetest"
)

// byHand is a store whose collector does nothing by itself: the test is the collector.
type byHand struct {
	*Store
	t *testing.T
}

func openByHand(t *testing.T) byHand {
	t.Helper()
	s, err := OpenMemory(nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	s.collect.stop()
	h := byHand{s, t}
	h.collectIfWoken()
	return h
}

// collectIfWoken does what the collector does when it is woken, and reports whether it was.
func (s byHand) collectIfWoken() bool {
	s.t.Helper()
	select {
	case <-s.collect.wake:
	default:
		return false
	}
	if err := s.collect.all(context.Background()); err != nil {
		s.t.Fatal(err)
	}
	return true
}

func (s byHand) wantGone(h cas.Hash) {
	s.t.Helper()
	if !s.collectIfWoken() {
		s.t.Error("the collector was not woken after the commit")
	}
	if _, err := s.Get(h); !errors.Is(err, cas.ErrMissing) {
		s.t.Errorf("the object is still there: %v", err)
	}
}

// early runs an operation, and calls f when it is planned and not committed.
func (s byHand) early(o *op, f func()) {
	s.t.Helper()
	plan := o.plan
	o.plan = func(t *tx) error {
		err := plan(t)
		f()
		return err
	}
	if err := s.change(context.Background(), o); err != nil {
		s.t.Fatal(err)
	}
}

// TestReleaseWakesCollector: what a step gives up is deleted without anything else happening.
func TestReleaseWakesCollector(t *testing.T) {
	s := openByHand(t)
	c := storetest.Step("a", 0, cas.Object{Data: storetest.Data("x", 5000)})
	mustCommit(t, s.Store, c)
	s.collectIfWoken()
	if _, err := s.Get(c.Holds[0]); err != nil {
		t.Fatal(err)
	}
	if err := s.Release(context.Background(), "a", 0, c.Holds); err != nil {
		t.Fatal(err)
	}
	s.wantGone(c.Holds[0])
}

// TestKickAfterCommit: a collector that looks before the commit finds nothing, so it must not be all that happens.
func TestKickAfterCommit(t *testing.T) {
	s := openByHand(t)
	c := storetest.Step("a", 0, cas.Object{Data: storetest.Data("x", 5000)})
	mustCommit(t, s.Store, c)
	s.collectIfWoken()
	s.early(&op{frees: true, plan: func(t *tx) error {
		row, err := t.row("a")
		if err != nil {
			return err
		}
		t.del(stepKey(keyHolds, "a", row.gen, 0))
		ch := newChanges()
		ch.delta[c.Holds[0]]--
		return t.settle(ch)
	}}, func() {
		if _, err := s.Get(c.Holds[0]); err != nil {
			t.Error(err)
		}
		select {
		case <-s.collect.wake:
			t.Error("the collector was woken before the commit")
		default:
		}
	})
	s.wantGone(c.Holds[0])
}

// TestUnpinBeforeCommit: an object that is given up while it is being written.
func TestUnpinBeforeCommit(t *testing.T) {
	s := openByHand(t)
	o := cas.Object{Data: storetest.Data("x", 5000)}
	h := o.Sum()
	s.pins.hold([]cas.Hash{h})
	s.early(s.putOp([]cas.Hash{h}, weight(o), func(cas.Hash) (entry, bool) { return entry{h: h, o: o}, true }), func() {
		s.unpin([]cas.Hash{h})
		if !s.collectIfWoken() {
			t.Error("unpin does not wake the collector")
		}
	})
	s.wantGone(h)
}

// TestPinnedIsNotGarbage: the collector is not woken for each object that is on its way, and is when that is given up.
func TestPinnedIsNotGarbage(t *testing.T) {
	s := openByHand(t)
	o := cas.Object{Data: storetest.Data("x", 5000)}
	h, err := s.Put(o)
	if err != nil {
		t.Fatal(err)
	}
	s.early(&op{plan: func(*tx) error { return nil }}, func() {}) // the object is written before
	if s.collectIfWoken() {
		t.Error("the collector was woken for an object that is pinned")
	}
	if _, err := s.Get(h); err != nil {
		t.Fatal(err)
	}
	s.Forget(h)
	s.wantGone(h)
}
