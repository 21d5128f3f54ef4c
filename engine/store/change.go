package store

import (
	"context"
	"fmt"

	"github.com/mayfly-run/mayfly/engine"
	"github.com/mayfly-run/mayfly/hostfns/cas"
)

// row returns the row of a session.
func (t *tx) row(name string) (row sessionRow, err error) {
	ok := false
	if validName(name) {
		ok, err = t.read(sessionKey(name), func(b []byte) error {
			row, err = decodeSession(name, b)
			return err
		})
	}
	if err == nil && !ok {
		err = fmt.Errorf("%w: %.80s", engine.ErrNoSession, name)
	}
	return row, err
}

// change hands an operation to the writer and waits for it.
func (s *Store) change(ctx context.Context, o *op) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.leave()
	return s.place(s.w.do(ctx, o))
}

// SetHead implements engine.Store.
func (s *Store) SetHead(ctx context.Context, name string, head []byte) error {
	if len(head) > engine.MaxRecord {
		return fmt.Errorf("session %.80s: head of %d bytes; at most %d are possible", name, len(head), engine.MaxRecord)
	}
	return s.change(ctx, &op{size: int64(len(head)), plan: func(t *tx) error {
		row, err := t.row(name)
		if err != nil {
			return err
		}
		row.head = head
		t.set(sessionKey(name), row.encode())
		return nil
	}})
}

// Release implements engine.Store.
func (s *Store) Release(ctx context.Context, name string, step int, hashes []cas.Hash) error {
	gone := make(map[cas.Hash]bool, len(hashes))
	for _, h := range hashes {
		gone[h] = true
	}
	return s.change(ctx, &op{frees: true, plan: func(t *tx) error {
		row, err := t.row(name)
		if err != nil || step < row.first || step > row.last {
			return err
		}
		key := stepKey(keyHolds, name, row.gen, step)
		holds, err := t.holds(key)
		if err != nil {
			return err
		}
		c, left := newChanges(), holds[:0]
		for _, h := range holds {
			if gone[h] {
				c.delta[h]--
			} else {
				left = append(left, h)
			}
		}
		switch {
		case len(c.delta) == 0:
			return nil
		case len(left) == 0:
			t.del(key)
		default:
			t.set(key, encodeHolds(left))
		}
		return t.settle(c)
	}})
}

func (t *tx) holds(key []byte) (holds []cas.Hash, err error) {
	_, err = t.read(key, func(b []byte) error {
		holds, err = decodeHolds(b)
		return err
	})
	return holds, err
}

// Remove implements engine.Store. The session is gone when it returns, and its name is free; its journal and what only it
// named are deleted in the background.
func (s *Store) Remove(ctx context.Context, name string) error {
	err := s.change(ctx, &op{frees: true, plan: func(t *tx) error {
		row, err := t.row(name)
		if err != nil {
			return err
		}
		t.del(sessionKey(name))
		t.set(stepsPrefix(keyDoomed, name, row.gen), nil)
		return nil
	}})
	if err == nil {
		s.collect.kick()
	}
	return err
}
