package store

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/dgraph-io/badger/v4"

	"github.com/mayfly-run/mayfly/engine"
	"github.com/mayfly-run/mayfly/hostfns/cas"
)

// view calls f with a transaction for reading.
func (s *Store) view(ctx context.Context, f func(txn *badger.Txn) error) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.leave()
	return s.place(guard(func() error {
		txn := s.db.NewTransaction(false)
		defer txn.Discard()
		return f(txn)
	}))
}

// Get implements cas.Reader.
func (s *Store) Get(h cas.Hash) (cas.Object, error) {
	if o, ok := s.cache.get(h); ok {
		return o, nil
	}
	if o, ok := s.pins.unwritten(h); ok {
		return o, nil
	}
	var o cas.Object
	err := s.view(context.Background(), func(txn *badger.Txn) (err error) {
		o, err = getObject(txn, h)
		return err
	})
	if err != nil {
		if errors.Is(err, cas.ErrDamaged) {
			err = fmt.Errorf("%w; run `mayfly doctor --store %s`", err, s.Dir())
		}
		return cas.Object{}, err
	}
	s.cache.add(h, o)
	return o, nil
}

// getObject returns an object, verified.
func getObject(txn *badger.Txn, h cas.Hash) (o cas.Object, err error) {
	ok, err := read(txn, hashKey(keyObject, h), func(b []byte) error {
		o, err = decodeObject(h, b)
		return err
	})
	switch {
	case errors.Is(err, engine.ErrStoreDamaged):
		return o, fmt.Errorf("%w: %v: %w", cas.ErrDamaged, h, err)
	case err == nil && !ok:
		return o, fmt.Errorf("%w: %v", cas.ErrMissing, h)
	}
	return o, err
}

// session returns the row of a session.
func session(txn *badger.Txn, name string) (row sessionRow, err error) {
	ok, err := false, error(nil)
	if validName(name) {
		ok, err = read(txn, sessionKey(name), func(b []byte) error {
			row, err = decodeSession(name, b)
			return err
		})
	}
	if err == nil && !ok {
		err = fmt.Errorf("%w: %.80s", engine.ErrNoSession, name)
	}
	return row, err
}

// Head implements engine.Store.
func (s *Store) Head(ctx context.Context, name string) (head []byte, err error) {
	err = s.view(ctx, func(txn *badger.Txn) error {
		row, err := session(txn, name)
		head = row.head
		return err
	})
	return head, err
}

// pageBytes bounds what an iterator has in memory. A page is a transaction of its own, so that a slow reader does not
// keep old value logs from being deleted.
const pageBytes = 1 << 20

// pageRecords bounds the records of a page.
const pageRecords = 4 << 10

// Heads implements engine.Store. Sessions that are made or removed meanwhile may or may not be among them.
func (s *Store) Heads(ctx context.Context) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		next := []byte{keySession}
		for next != nil {
			var page [][]byte
			err := s.view(ctx, func(txn *badger.Txn) error {
				it := newIterator(txn, []byte{keySession})
				defer it.Close()
				size := 0
				for it.Seek(next); it.Valid() && size < pageBytes; it.Next() {
					name := string(it.Item().Key()[1:])
					var row sessionRow
					if err := value(it.Item(), func(b []byte) (err error) {
						row, err = decodeSession(name, b)
						return err
					}); err != nil {
						return err
					}
					page = append(page, row.head)
					size += len(row.head) + 256
				}
				next = nil
				if it.Valid() {
					next = it.Item().KeyCopy(nil)
				}
				return nil
			})
			for _, head := range page {
				if !yield(head, nil) {
					return
				}
			}
			if err != nil {
				yield(nil, err)
				return
			}
		}
	}
}

// Records implements engine.Store.
func (s *Store) Records(ctx context.Context, name string, from int) iter.Seq2[engine.StoredRecord, error] {
	return func(yield func(engine.StoredRecord, error) bool) {
		var row sessionRow
		err := s.view(ctx, func(txn *badger.Txn) (err error) {
			row, err = session(txn, name)
			return err
		})
		step := max(from, row.first)
		// Who wants one record gets one, and who goes on gets larger pages.
		for limit := 1; err == nil && step <= row.last; limit = min(4*limit, pageRecords) {
			var page []engine.StoredRecord
			err = s.view(ctx, func(txn *badger.Txn) (err error) {
				page, err = recordPage(txn, name, row, step, limit)
				return err
			})
			for _, r := range page {
				if !yield(r, nil) {
					return
				}
			}
			step += len(page)
		}
		if err != nil {
			yield(engine.StoredRecord{}, err)
		}
	}
}

// recordPage returns up to limit records from a step on, at least one, unless there is an error.
func recordPage(txn *badger.Txn, name string, row sessionRow, step, limit int) (page []engine.StoredRecord, err error) {
	it := newIterator(txn, stepsPrefix(keyRecord, name, row.gen))
	defer it.Close()
	size := 0
	for it.Seek(stepKey(keyRecord, name, row.gen, step)); it.Valid() && step <= row.last; it.Next() {
		_, _, got, ok := splitKey(it.Item().Key(), true)
		if !ok || got != step {
			break
		}
		var b []byte
		if err := value(it.Item(), func(v []byte) error {
			if b, ok = unmaskRow(v); !ok {
				return damaged("it is too short")
			}
			return nil
		}); err != nil {
			return page, fmt.Errorf("record %d of session %s: %w", step, name, err)
		}
		page = append(page, engine.StoredRecord{Step: step, Record: b})
		size += len(b) + 128
		step++
		if len(page) == limit || size >= pageBytes {
			break // before a Next, which reads ahead
		}
	}
	if len(page) > 0 {
		return page, nil
	}
	// It is not there: the session was removed, or something is wrong.
	if now, err := session(txn, name); err != nil {
		return nil, err
	} else if now.gen != row.gen {
		return nil, fmt.Errorf("%w: %s was removed", engine.ErrNoSession, name)
	}
	return nil, damaged("record %d of session %s is missing", step, name)
}

// newIterator goes through the keys that begin with prefix. The values are not read ahead: Badger does that in goroutines
// that outlive the iterator when a value is damaged.
func newIterator(txn *badger.Txn, prefix []byte) *badger.Iterator {
	o := badger.DefaultIteratorOptions
	o.Prefix, o.PrefetchValues = prefix, false
	return txn.NewIterator(o)
}

// value calls f with the value of an item, which is valid until f returns.
func value(item *badger.Item, f func([]byte) error) error {
	var inner error
	if err := item.Value(func(b []byte) error {
		if len(b) == 0 && item.ValueSize() > 0 { // how Badger says that it cannot read it
			inner = errUnreadable
			return nil
		}
		inner = f(b)
		return nil
	}); err != nil {
		return fmt.Errorf("%w: %v", errUnreadable, firstLine(err))
	}
	return inner
}
