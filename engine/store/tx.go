package store

import (
	"errors"

	"github.com/dgraph-io/badger/v4"

	"github.com/mayfly-run/mayfly/hostfns/cas"
)

// tx is the transaction that the writer fills with operations. Each of them stages its writes first; they go into the
// transaction when the operation succeeds and there is room.
type tx struct {
	s       *Store
	txn     *badger.Txn
	stage   map[string][]byte // nil: the key is deleted
	entries int64
	size    int64 // what counts for Badger's limit
	bytes   int64 // keys and values
	// marking are the objects that the operation marks, marked those of the operations in the transaction.
	marking, marked []cas.Hash
}

func newTx(s *Store) *tx {
	return &tx{s: s, txn: s.db.NewTransaction(true), stage: map[string][]byte{}}
}

func (t *tx) reset() {
	clear(t.stage)
	t.marking = t.marking[:0]
}

// mark stages a mark: nobody names the object.
func (t *tx) mark(h cas.Hash) {
	t.set(hashKey(keyMark, h), nil)
	t.marking = append(t.marking, h)
}

// kick wakes the collector when it has something to do, once the transaction is committed: before that it would find
// nothing and go back to sleep. What is pinned now is left to unpin, which kicks as well, and finds the mark.
func (t *tx) kick() {
	for _, h := range t.marked {
		if !t.s.pins.pinned(h) {
			t.s.collect.kick()
			return
		}
	}
}

// read calls f with the value of a key, which is valid until f returns. It returns false when there is none.
func (t *tx) read(key []byte, f func([]byte) error) (bool, error) {
	if v, ok := t.stage[string(key)]; ok {
		if v == nil {
			return false, nil
		}
		return true, f(v)
	}
	return read(t.txn, key, f)
}

func (t *tx) has(key []byte) (bool, error) {
	if v, ok := t.stage[string(key)]; ok {
		return v != nil, nil
	}
	return has(t.txn, key)
}

func (t *tx) set(key, value []byte) {
	if value == nil {
		value = []byte{}
	}
	t.stage[string(key)] = value
}

func (t *tx) del(key []byte) { t.stage[string(key)] = nil }

// cost is what an entry takes of a transaction, as Badger counts it, on the safe side.
func (t *tx) cost(key string, value []byte) int64 {
	n := int64(len(key)) + 48
	if len(value) < t.s.threshold() {
		n += int64(len(value))
	}
	return n
}

// apply moves what is staged into the transaction; badger.ErrTxnTooBig when it has no room, and then nothing of it is there.
func (t *tx) apply() error {
	var size, bytes int64
	for k, v := range t.stage {
		size += t.cost(k, v)
		bytes += int64(len(k) + len(v))
	}
	n := int64(len(t.stage))
	db := t.s.db
	if t.entries+n+2 >= db.MaxBatchCount() || t.size+size+1<<10 >= db.MaxBatchSize() ||
		t.entries > 0 && t.bytes+bytes > groupBytes {
		return badger.ErrTxnTooBig
	}
	for k, v := range t.stage {
		var err error
		if v == nil {
			err = t.txn.Delete([]byte(k))
		} else {
			err = t.txn.Set([]byte(k), v)
		}
		if err != nil {
			return err // cannot be: the size was checked
		}
	}
	t.entries, t.size, t.bytes = t.entries+n, t.size+size, t.bytes+bytes
	t.marked = append(t.marked, t.marking...)
	return nil
}

// count returns how many objects and holds name an object.
func (t *tx) count(h cas.Hash) (n int64, err error) {
	_, err = t.read(hashKey(keyCount, h), func(b []byte) error {
		n, err = decodeCount(b)
		return err
	})
	return n, err
}

// changes collects what an operation does to the reference counts.
type changes struct {
	delta map[cas.Hash]int64
	fresh map[cas.Hash]bool // objects that the operation stores
}

func newChanges() *changes { return &changes{map[cas.Hash]int64{}, map[cas.Hash]bool{}} }

// addObject stages an object that is not there yet.
func (t *tx) addObject(c *changes, h cas.Hash, o cas.Object, row []byte) {
	t.set(hashKey(keyObject, h), row)
	c.fresh[h] = true
	for _, r := range o.Refs {
		c.delta[r]++
	}
}

// settle stages the new counts and marks. It comes after all else of an operation.
func (t *tx) settle(c *changes) error {
	for h := range c.fresh {
		if c.delta[h] == 0 {
			t.mark(h)
		}
	}
	for h, d := range c.delta {
		if d == 0 {
			continue
		}
		n, err := t.count(h)
		if err != nil {
			return err
		}
		key := hashKey(keyCount, h)
		switch {
		case n+d < 0:
			return damaged("object %v is named more often than its count says", h)
		case n+d == 0:
			t.del(key)
			t.mark(h)
			continue
		case n == 0 && !c.fresh[h]:
			mark := hashKey(keyMark, h)
			if marked, err := t.has(mark); err != nil {
				return err
			} else if marked {
				t.del(mark)
			}
		}
		t.set(key, encodeCount(n+d))
	}
	return nil
}

func (s *Store) threshold() int {
	if s.dir == "" {
		return memoryThreshold
	}
	return valueThreshold
}

// read calls f with the value of a key, which is valid until f returns. It returns false when there is none.
func read(txn *badger.Txn, key []byte, f func([]byte) error) (bool, error) {
	for try := 1; ; try++ {
		item, err := txn.Get(key)
		if errors.Is(err, badger.ErrKeyNotFound) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		// Badger moves values to another file, and deletes the old one, without regard to who is about to read from it.
		if err = value(item, f); !errors.Is(err, errUnreadable) || try == 3 {
			return true, err
		}
	}
}

// errUnreadable means that Badger has a value, but could not read it.
var errUnreadable = damaged("a value cannot be read")

func has(txn *badger.Txn, key []byte) (bool, error) {
	switch _, err := txn.Get(key); {
	case err == nil:
		return true, nil
	case errors.Is(err, badger.ErrKeyNotFound):
		return false, nil
	default:
		return false, err
	}
}
