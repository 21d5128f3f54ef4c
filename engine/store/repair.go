package store

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/dgraph-io/badger/v4"

	"github.com/mayfly-run/mayfly/engine"
)

// repair mends what an analysis found. Counts come first: all else relies on them.
func (s *Store) repair(ctx context.Context, a *analysis, r *Report) error {
	if err := s.repairCounts(ctx, a, r); err != nil {
		return err
	}
	for _, si := range a.sessions {
		if err := s.repairSession(ctx, a, si, r); err != nil {
			return err
		}
	}
	for _, si := range a.lost {
		if err := s.repairLost(ctx, a, si, r); err != nil {
			return err
		}
	}
	before := len(a.objects)
	if err := s.collect.all(ctx); err != nil {
		return err
	}
	after, err := s.countObjects()
	if err == nil && after < before {
		r.did("deleted %d objects that nobody names", before-after)
	}
	return err
}

func (s *Store) countObjects() (n int, err error) {
	err = s.peek(func(txn *badger.Txn) error {
		it := newIterator(txn, []byte{keyObject})
		defer it.Close()
		for it.Rewind(); it.Valid(); it.Next() {
			n++
		}
		return nil
	})
	return n, err
}

// setting is a row to write, or with a nil value to delete.
type setting struct{ key, value []byte }

// setAll writes rows in as many transactions as that takes.
func (s *Store) setAll(ctx context.Context, rows []setting) error {
	const many = 1000
	for len(rows) > 0 {
		n := min(many, len(rows))
		part := rows[:n]
		rows = rows[n:]
		err := s.w.do(ctx, &op{frees: true, plan: func(t *tx) error {
			for _, r := range part {
				if r.value == nil {
					t.del(r.key)
				} else {
					t.set(r.key, r.value)
				}
			}
			return nil
		}})
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) repairCounts(ctx context.Context, a *analysis, r *Report) error {
	var rows []setting
	for h, n := range a.want {
		if a.have[h] != n {
			rows = append(rows, setting{hashKey(keyCount, h), encodeCount(n)})
		}
	}
	for h := range a.have {
		if a.want[h] == 0 {
			rows = append(rows, setting{hashKey(keyCount, h), nil})
		}
	}
	counts := len(rows)
	for h := range a.objects {
		if a.want[h] == 0 && !a.marks[h] {
			rows = append(rows, setting{hashKey(keyMark, h), []byte{}})
		}
	}
	rows = append(rows, setting{keyGeneration, binary.BigEndian.AppendUint64(nil, a.maxGen)})
	if err := s.setAll(ctx, rows); err != nil {
		return err
	}
	if counts > 0 {
		r.did("corrected %d reference counts", counts)
	}
	return nil
}

// repairSession cuts a session to what is intact, gives it a head, and gives up what earlier steps cannot restore.
func (s *Store) repairSession(ctx context.Context, a *analysis, si *sessionInfo, r *Report) error {
	row := si.row
	if si.lastGood < row.first {
		return nil // nothing to cut it to
	}
	if row.last != si.lastGood || si.headBad {
		if a.o.Rehead == nil {
			return nil
		}
		last, err := s.record(ctx, si, si.lastGood)
		if err != nil {
			return err
		}
		head, err := a.o.Rehead(si.name, row.head, last)
		if err != nil || len(head) > engine.MaxRecord {
			r.add(Finding{Level: Error, Session: si.name, Text: fmt.Sprintf("a new head cannot be made: %v", err)})
			return nil
		}
		// The newest first, so that a second repair finds the same when this one is interrupted.
		if err := s.dropAfter(ctx, si, si.lastGood); err != nil {
			return err
		}
		cut := row.last - si.lastGood
		row.last, row.head = si.lastGood, head
		if err := s.setAll(ctx, []setting{{sessionKey(si.name), row.encode()}}); err != nil {
			return err
		}
		switch {
		case cut > 0:
			r.did("session %s: cut off the last %d steps; it ends with step %d", si.name, cut, row.last)
		case cut < 0:
			r.did("session %s: found later steps; it ends with step %d", si.name, row.last)
		default:
			r.did("session %s: made a new head", si.name)
		}
	} else if err := s.dropAfter(ctx, si, si.lastGood); err != nil {
		return err
	}
	for _, step := range steps(si) {
		switch {
		case step < row.first:
			if err := s.dropStep(ctx, si, step, true); err != nil {
				return err
			}
		case step <= si.lastGood && !a.stepWhole(si, step):
			if err := s.dropStep(ctx, si, step, false); err != nil {
				return err
			}
			r.did("session %s: gave up what step %d held, which cannot be restored", si.name, step)
		}
	}
	return nil
}

// repairLost makes a head for records that have none.
func (s *Store) repairLost(ctx context.Context, a *analysis, si *sessionInfo, r *Report) error {
	all := steps(si)
	if a.o.Rehead == nil || len(all) == 0 {
		return nil
	}
	if taken, err := s.taken(si.name); err != nil || taken {
		return err // a session of this name is alive
	}
	row := sessionRow{gen: si.gen, first: all[0], last: all[0] - 1}
	gap := row.first
	for si.records[gap] {
		gap++
	}
	limit := all[len(all)-1]
	if si.row = row; a.o.Verify != nil && gap > row.first {
		if good, err := a.o.Verify(si.name, s.recordsUpTo(ctx, si, gap-1)); err != nil {
			limit = min(good, gap-1)
		}
	}
	if si.lastGood = a.target(si, limit); si.lastGood < row.first {
		return nil
	}
	si.headBad = true
	return s.repairSession(ctx, a, si, r)
}

func (s *Store) taken(name string) (taken bool, err error) {
	err = s.peek(func(txn *badger.Txn) (err error) {
		taken, err = has(txn, sessionKey(name))
		if !taken || err != nil {
			return err
		}
		if _, e := session(txn, name); e != nil {
			taken = false // it cannot be read
		}
		return nil
	})
	return taken, err
}

// dropStep deletes what a step holds, and its record if wanted.
func (s *Store) dropStep(ctx context.Context, si *sessionInfo, step int, record bool) error {
	return s.w.do(ctx, &op{frees: true, plan: func(t *tx) error {
		c := newChanges()
		for _, h := range si.holds[step] {
			c.delta[h]--
		}
		t.del(stepKey(keyHolds, si.name, si.gen, step))
		if record {
			t.del(stepKey(keyRecord, si.name, si.gen, step))
		}
		return t.settle(c)
	}})
}

// dropAfter deletes what there is of later steps.
func (s *Store) dropAfter(ctx context.Context, si *sessionInfo, last int) error {
	all := steps(si)
	for i := len(all) - 1; i >= 0 && all[i] > last; i-- {
		if err := s.dropStep(ctx, si, all[i], true); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) record(ctx context.Context, si *sessionInfo, step int) (rec engine.StoredRecord, err error) {
	row := si.row
	row.first, row.last = step, step
	one := &sessionInfo{genKey: si.genKey, row: row}
	for r, e := range s.recordsUpTo(ctx, one, step) {
		return r, e
	}
	return rec, damaged("record %d of session %s is missing", step, si.name)
}
