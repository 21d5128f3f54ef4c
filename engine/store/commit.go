package store

import (
	"context"
	"encoding/binary"
	"fmt"
	"runtime"
	"sync"

	"github.com/mayfly-run/mayfly/engine"
	"github.com/mayfly-run/mayfly/hostfns/cas"
)

const (
	// MaxHolds is the largest number of objects that a step holds.
	MaxHolds = 4096
	// A commit beyond one of these stores its objects ahead of the transaction that decides. A transaction of Badger has
	// room for 2.4 MiB in the tables and 28,000 entries; besides objects it takes a head and a record.
	partBytes   = 4 << 20
	partTable   = 1 << 20
	partEntries = 4096
)

// load is what objects take of a transaction at most.
type load struct {
	bytes, table int64
	entries      int
}

// add counts an object in and reports whether there was room.
func (l *load) add(s *Store, o cas.Object) bool {
	w := weight(o)
	l.bytes += w
	l.table += min(w, int64(s.threshold())) + 96*int64(len(o.Refs))
	l.entries += len(o.Refs) + 3
	return l.bytes <= partBytes && l.table <= partTable && l.entries <= partEntries
}

// Commit implements engine.Store.
func (s *Store) Commit(ctx context.Context, c *engine.Commit) error {
	if err := checkCommit(c); err != nil {
		return err
	}
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.leave()
	b := c.Objects
	if b == nil {
		b = new(cas.Batch)
	}
	entries, fits := make([]entry, 0, b.Len()), true
	var l load
	for h, o := range b.All {
		entries = append(entries, entry{h: h, o: o})
		fits = l.add(s, o)
	}
	size := l.bytes
	if !fits {
		if err := s.precheck(c); err != nil {
			return s.place(err)
		}
		forget, err := s.ahead(ctx, b)
		defer forget()
		if err != nil {
			return s.place(err)
		}
		size = 0
	} else if err := s.encode(entries); err != nil {
		return s.place(err)
	}
	o := &op{size: size + int64(len(c.Head)+len(c.Record)+64*len(c.Holds))}
	o.plan = func(t *tx) error { return planCommit(t, c, entries) }
	return s.place(s.w.do(ctx, o))
}

func checkCommit(c *engine.Commit) error {
	switch {
	case !validName(c.Session):
		return fmt.Errorf("%.80q cannot be the name of a session: 1 to %d of A-Z a-z 0-9 . _ -, not beginning with a dot or dash",
			c.Session, engine.MaxSessionName)
	case c.Step < 0 || c.Step > maxStep:
		return fmt.Errorf("session %s: step %d is out of range", c.Session, c.Step)
	case len(c.Head) > engine.MaxRecord || len(c.Record) > engine.MaxRecord:
		return fmt.Errorf("session %s: head of %d and record of %d bytes; at most %d are possible",
			c.Session, len(c.Head), len(c.Record), engine.MaxRecord)
	case len(c.Holds) > MaxHolds:
		return fmt.Errorf("session %s: a step holds %d objects; at most %d are possible", c.Session, len(c.Holds), MaxHolds)
	}
	for _, h := range c.Holds {
		if h.IsZero() {
			return fmt.Errorf("session %s: a step holds no object", c.Session)
		}
	}
	return nil
}

// planCommit stages a commit whose objects fit into one transaction, or are there already.
func planCommit(t *tx, c *engine.Commit, entries []entry) error {
	row, err := t.nextRow(c)
	if err != nil {
		return err
	}
	a := newAdder(t)
	for _, e := range entries {
		if err := a.add(e); err != nil {
			return err
		}
	}
	held := make(map[cas.Hash]bool, len(c.Holds))
	holds := make([]cas.Hash, 0, len(c.Holds))
	for _, h := range c.Holds {
		if !held[h] {
			held[h] = true
			holds = append(holds, h)
			a.c.delta[h]++
		}
	}
	if err := a.settle(); err != nil {
		return err
	}
	if len(holds) > 0 {
		t.set(stepKey(keyHolds, c.Session, row.gen, c.Step), encodeHolds(holds))
	}
	t.set(stepKey(keyRecord, c.Session, row.gen, c.Step), maskRow(c.Record))
	t.set(sessionKey(c.Session), row.encode())
	return nil
}

// nextRow returns the session's row after the commit.
func (t *tx) nextRow(c *engine.Commit) (row sessionRow, err error) {
	ok, err := t.read(sessionKey(c.Session), func(b []byte) error {
		row, err = decodeSession(c.Session, b)
		return err
	})
	switch {
	case err != nil:
		return row, err
	case c.Create && ok:
		return row, fmt.Errorf("%w: %s", engine.ErrSessionExists, c.Session)
	case c.Create:
		gen, err := t.nextGeneration()
		return sessionRow{gen, c.Step, c.Step, c.Head}, err
	case !ok:
		return row, fmt.Errorf("%w: %s", engine.ErrNoSession, c.Session)
	case c.Step != row.last+1:
		return row, fmt.Errorf("%w: step %d of session %s cannot follow step %d", engine.ErrConflict, c.Step, c.Session, row.last)
	}
	row.last, row.head = c.Step, c.Head
	return row, nil
}

func (t *tx) nextGeneration() (gen uint64, err error) {
	_, err = t.read(keyGeneration, func(b []byte) error {
		if len(b) != 8 {
			return damaged("the number of generations cannot be read")
		}
		gen = binary.BigEndian.Uint64(b)
		return nil
	})
	gen++
	t.set(keyGeneration, binary.BigEndian.AppendUint64(nil, gen))
	return gen, err
}

// precheck finds out early that a large commit cannot succeed.
func (s *Store) precheck(c *engine.Commit) error {
	return guard(func() error {
		t := newTx(s)
		defer t.txn.Discard()
		_, err := t.nextRow(c)
		return err
	})
}

// encode makes the rows of the objects that the store does not have, with all processors when there is much to do.
func (s *Store) encode(entries []entry) error {
	var todo []*entry
	err := guard(func() error {
		txn := s.db.NewTransaction(false)
		defer txn.Discard()
		for i := range entries {
			if ok, err := has(txn, hashKey(keyObject, entries[i].h)); err != nil {
				return err
			} else if !ok {
				todo = append(todo, &entries[i])
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	n := min(runtime.GOMAXPROCS(0), len(todo)/4+1)
	var wg sync.WaitGroup
	for i := range n {
		part := func() {
			for j := i; j < len(todo); j += n {
				todo[j].row = encodeObject(todo[j].h, todo[j].o)
			}
		}
		if i == n-1 {
			part()
		} else {
			wg.Go(part)
		}
	}
	wg.Wait()
	return nil
}

// place adds to an error of a damaged store where it is and what to do.
func (s *Store) place(err error) error { return doctor(s.Dir(), err) }
