package store

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dgraph-io/badger/v4"

	"github.com/mayfly-run/mayfly/engine"
	"github.com/mayfly-run/mayfly/hostfns/cas"
)

const (
	// collectObjects and collectRefs bound what one transaction of the collector deletes, so that commits get their turn.
	collectObjects = 256
	collectRefs    = 4096
	// collectSteps is how many steps of a removed session are deleted in one transaction.
	collectSteps = 32
	// collectRetry is when a collector that failed, for want of space say, tries again.
	collectRetry = 10 * time.Second
)

// collector deletes what nobody names any more.
type collector struct {
	s      *Store
	wake   chan struct{}
	asked  chan chan error
	cancel context.CancelFunc
	ctx    context.Context
	wg     sync.WaitGroup
	// freed is the bytes of values deleted since the value logs were looked at.
	freed atomic.Int64
	// intact are the value logs that were read as a whole. They do not change any more.
	intact map[uint64]bool
	// live is the size of the store when space was given back last.
	live int64
}

func (c *collector) start(s *Store) {
	c.prepare(s)
	c.wg.Go(c.run)
	c.kick() // for what a crash left
}

// prepare makes the collector ready for use without its goroutine.
func (c *collector) prepare(s *Store) {
	c.s, c.wake, c.asked, c.intact = s, make(chan struct{}, 1), make(chan chan error), map[uint64]bool{}
	c.ctx, c.cancel = context.WithCancel(context.Background())
}

func (c *collector) stop() {
	c.cancel()
	c.wg.Wait()
}

// kick tells that there may be something to do.
func (c *collector) kick() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

func (c *collector) run() {
	retry := time.NewTimer(0)
	<-retry.C
	defer retry.Stop()
	first := true
	for {
		var answer chan error
		select {
		case <-c.ctx.Done():
			return
		case <-c.wake:
		case <-retry.C:
		case answer = <-c.asked:
		}
		err := c.all(c.ctx)
		switch {
		case err != nil:
		case answer != nil || c.freed.Load() > reclaimBytes+c.live/4:
			c.s.reclaim(c.ctx, true)
			c.live, _ = diskUse(c.s.dir)
		case first:
			c.s.reclaim(c.ctx, false) // what earlier processes did not come to
		}
		first = false
		if answer != nil {
			answer <- err
		}
		if err != nil && c.ctx.Err() == nil {
			c.s.opt.Logger.Warn("deleting what nobody names failed", "error", err)
			retry.Reset(collectRetry)
		}
	}
}

// Collect deletes now what nobody names, which otherwise happens in the background, and gives space back to the disk as
// far as Badger can.
func (s *Store) Collect(ctx context.Context) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.leave()
	answer := make(chan error, 1)
	select {
	case s.collect.asked <- answer:
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-answer:
		return s.place(err)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// all works until there is nothing to do but what is pinned.
func (c *collector) all(ctx context.Context) error {
	for {
		did, err := c.doomed(ctx)
		if err != nil {
			return err
		}
		n, err := c.marks(ctx)
		if err != nil {
			return err
		}
		if !did && n == 0 {
			return nil
		}
	}
}

// doomed deletes the records and holds of removed sessions.
func (c *collector) doomed(ctx context.Context) (did bool, err error) {
	for {
		var name string
		var gen uint64
		found := false
		err := c.s.peek(func(txn *badger.Txn) error {
			it := newIterator(txn, []byte{keyDoomed})
			defer it.Close()
			for it.Rewind(); it.Valid() && !found; it.Next() {
				name, gen, _, found = splitKey(it.Item().Key(), false)
			}
			return nil
		})
		if err != nil || !found {
			return did, err
		}
		did = true
		if err := c.s.w.do(ctx, &op{frees: true, plan: func(t *tx) error { return t.wipe(name, gen) }}); err != nil {
			return did, err
		}
	}
}

// wipe deletes some steps of a removed session, and in the end what tells of it.
func (t *tx) wipe(name string, gen uint64) error {
	ch, n, refs := newChanges(), 0, 0
	for _, kind := range []byte{keyHolds, keyRecord} {
		var keys [][]byte
		func() {
			it := newIterator(t.txn, stepsPrefix(kind, name, gen))
			defer it.Close()
			for it.Rewind(); it.Valid() && n < collectSteps; it.Next() {
				keys = append(keys, it.Item().KeyCopy(nil))
				n++
			}
		}()
		for _, k := range keys {
			if kind == keyHolds {
				holds, err := t.holds(k)
				if errors.Is(err, engine.ErrStoreDamaged) {
					// The counts stay too high, which Check reports and mends; the session must go all the same.
					t.s.opt.Logger.Warn("the holds of a removed session cannot be read", "session", name, "error", err)
				} else if err != nil {
					return err
				}
				for _, h := range holds {
					ch.delta[h]--
				}
				refs += len(holds)
			}
			t.del(k)
			if refs > collectRefs {
				return t.settle(ch)
			}
		}
	}
	if n < collectSteps {
		t.del(stepsPrefix(keyDoomed, name, gen))
	}
	return t.settle(ch)
}

// marks goes through all marks once, and returns how many objects were deleted.
func (c *collector) marks(ctx context.Context) (deleted int, err error) {
	next := []byte{keyMark}
	for next != nil {
		var hashes []cas.Hash
		err := c.s.peek(func(txn *badger.Txn) error {
			it := newIterator(txn, []byte{keyMark})
			defer it.Close()
			for it.Seek(next); it.Valid() && len(hashes) < collectObjects; it.Next() {
				k := it.Item().Key()
				if len(k) == 1+len(cas.Hash{}) && !c.s.pins.pinned(cas.Hash(k[1:])) {
					hashes = append(hashes, cas.Hash(k[1:]))
				}
			}
			next = nil
			if it.Valid() {
				next = it.Item().KeyCopy(nil)
			}
			return nil
		})
		if err != nil {
			return deleted, err
		}
		for len(hashes) > 0 {
			n, looked, err := c.delete(ctx, hashes)
			if err != nil {
				return deleted, err
			}
			deleted += n
			hashes = hashes[looked:]
		}
	}
	return deleted, nil
}

// delete deletes those of some marked objects that nobody names or pins. Looked is how many of them it came to.
func (c *collector) delete(ctx context.Context, hashes []cas.Hash) (deleted, looked int, err error) {
	var claimed, gone []cas.Hash
	var bytes int64
	o := &op{frees: true, after: func(error) { c.s.pins.release(claimed) }}
	o.plan = func(t *tx) error {
		c.s.pins.release(claimed)
		claimed, gone, bytes, looked = c.s.pins.claim(hashes), nil, 0, 0
		mine := make(map[cas.Hash]bool, len(claimed))
		for _, h := range claimed {
			mine[h] = true
		}
		ch, refs := newChanges(), 0
		for looked < len(hashes) && refs < collectRefs {
			h := hashes[looked]
			looked++
			if !mine[h] {
				continue
			}
			if marked, err := t.has(hashKey(keyMark, h)); err != nil {
				return err
			} else if !marked {
				continue
			}
			n, err := t.count(h)
			if err != nil {
				return err
			}
			t.del(hashKey(keyMark, h))
			if n+ch.delta[h] > 0 {
				continue
			}
			ok, err := t.read(hashKey(keyObject, h), func(row []byte) error {
				named, _, ok := decodeRefs(row)
				if !ok {
					return damaged("the references of object %v cannot be read", h)
				}
				for _, r := range named {
					ch.delta[r]--
				}
				refs += len(named)
				bytes += int64(len(row))
				return nil
			})
			if errors.Is(err, engine.ErrStoreDamaged) {
				// What it named keeps a count that is too high, which Check reports and mends.
				c.s.opt.Logger.Warn("a damaged object is deleted", "object", h.String(), "error", err)
			} else if err != nil {
				return err
			}
			if ok {
				t.del(hashKey(keyObject, h))
				gone = append(gone, h)
			}
		}
		return t.settle(ch)
	}
	if err := c.s.w.do(ctx, o); err != nil {
		return 0, max(looked, 1), err
	}
	c.s.cache.drop(gone)
	c.freed.Add(bytes)
	return len(gone), looked, nil
}

// peek is view for the collector, which Close waits for.
func (s *Store) peek(f func(txn *badger.Txn) error) error {
	return guard(func() error {
		txn := s.db.NewTransaction(false)
		defer txn.Discard()
		return f(txn)
	})
}
