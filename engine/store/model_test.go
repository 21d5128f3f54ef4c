package store

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/dgraph-io/badger/v4"

	"github.com/mayfly-run/mayfly/engine"
	"github.com/mayfly-run/mayfly/hostfns/cas"
	"github.com/mayfly-run/mayfly/internal/storetest"
)

// stored returns the objects that are in the database.
func stored(t testing.TB, s *Store) map[cas.Hash]bool {
	t.Helper()
	m := map[cas.Hash]bool{}
	err := s.peek(func(txn *badger.Txn) error {
		it := newIterator(txn, []byte{keyObject})
		defer it.Close()
		for it.Rewind(); it.Valid(); it.Next() {
			m[cas.Hash(it.Item().Key()[1:])] = true
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// model is what a store should hold.
type model struct {
	known    map[cas.Hash]cas.Object // all that ever was
	hashes   []cas.Hash
	sessions map[string][][]cas.Hash // the holds of each step
	pins     map[cas.Hash]int
}

func (m *model) reachable() map[cas.Hash]bool {
	seen := map[cas.Hash]bool{}
	var walk func(h cas.Hash)
	walk = func(h cas.Hash) {
		if !seen[h] {
			seen[h] = true
			for _, r := range m.known[h].Refs {
				walk(r)
			}
		}
	}
	for _, steps := range m.sessions {
		for _, holds := range steps {
			for _, h := range holds {
				walk(h)
			}
		}
	}
	for h := range m.pins {
		walk(h)
	}
	return seen
}

// object makes an object that names some of the given ones.
func (m *model) object(r *rand.Rand, from []cas.Hash) cas.Object {
	o := cas.Object{Data: storetest.Data(fmt.Sprint(r.IntN(500)), []int{0, 10, 300, 5000, 9000}[r.IntN(5)])}
	for range r.IntN(4) {
		if len(from) > 0 {
			o.Refs = append(o.Refs, from[r.IntN(len(from))])
		}
	}
	if h := o.Sum(); m.known[h].Data == nil {
		m.known[h] = o
		m.hashes = append(m.hashes, h)
	}
	return o
}

// TestCounting does random things and compares the store with the model: after a collection exactly what can be reached
// is there, and Check finds nothing.
func TestCounting(t *testing.T) {
	for seed := range uint64(6) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			s := open(t, dir, &Options{Durability: None})
			r := rand.New(rand.NewPCG(seed, 99))
			m := &model{known: map[cas.Hash]cas.Object{}, sessions: map[string][][]cas.Hash{}, pins: map[cas.Hash]int{}}
			for i := range 600 {
				m.step(t, s, r)
				if i%100 == 99 {
					m.compare(t, s)
				}
				if i%250 == 249 {
					if err := s.Close(); err != nil {
						t.Fatal(err)
					}
					clear(m.pins)
					wantClean(t, dir)
					s = open(t, dir, &Options{Durability: None})
				}
			}
		})
	}
}

func (m *model) compare(t *testing.T, s *Store) {
	t.Helper()
	if err := s.Collect(context.Background()); err != nil {
		t.Fatal(err)
	}
	want, got := m.reachable(), stored(t, s)
	for h := range want {
		if !got[h] {
			t.Errorf("%v is missing", h)
		} else if _, err := s.Get(h); err != nil {
			t.Error(err)
		}
	}
	for h := range got {
		if !want[h] {
			t.Errorf("%v is still there", h)
		}
	}
}

func (m *model) step(t *testing.T, s *Store, r *rand.Rand) {
	t.Helper()
	ctx := context.Background()
	name := fmt.Sprintf("s%d", r.IntN(5))
	steps := m.sessions[name]
	switch x := r.IntN(100); {
	case x < 50:
		live := m.reachable()
		there := slices.DeleteFunc(slices.Clone(m.hashes), func(h cas.Hash) bool { return !live[h] })
		b := new(cas.Batch)
		from := slices.Clone(there)
		for range r.IntN(6) {
			h, err := b.Add(m.object(r, from))
			if err != nil {
				t.Fatal(err)
			}
			from = append(from, h)
		}
		c := &engine.Commit{Session: name, Create: len(steps) == 0, Step: len(steps), Objects: b, Head: []byte("{}")}
		for range r.IntN(4) {
			if len(from) > 0 {
				c.Holds = append(c.Holds, from[r.IntN(len(from))])
			}
		}
		slices.SortFunc(c.Holds, func(a, b cas.Hash) int { return slices.Compare(a[:], b[:]) })
		c.Holds = slices.Compact(c.Holds)
		mustCommit(t, s, c)
		m.sessions[name] = append(m.sessions[name], c.Holds)
	case x < 75 && len(steps) > 0:
		step := r.IntN(len(steps))
		holds := steps[step]
		var gone []cas.Hash
		for _, h := range holds {
			if r.IntN(3) > 0 {
				gone = append(gone, h)
			}
		}
		if err := s.Release(ctx, name, step, append(gone, cas.Hash{1})); err != nil {
			t.Fatal(err)
		}
		steps[step] = slices.DeleteFunc(holds, func(h cas.Hash) bool { return slices.Contains(gone, h) })
	case x < 80 && len(steps) > 0:
		if err := s.Remove(ctx, name); err != nil {
			t.Fatal(err)
		}
		delete(m.sessions, name)
	case x < 90:
		live := m.reachable()
		o := m.object(r, slices.DeleteFunc(slices.Clone(m.hashes), func(h cas.Hash) bool { return !live[h] }))
		h, err := s.Put(o)
		if err != nil {
			t.Fatal(err)
		}
		m.pins[h]++
	default:
		for h := range m.pins {
			s.Forget(h)
			if m.pins[h]--; m.pins[h] == 0 {
				delete(m.pins, h)
			}
			break
		}
	}
}

// wantClean checks a closed store.
func wantClean(t testing.TB, dir string) *Report {
	t.Helper()
	r, err := Check(context.Background(), dir, &CheckOptions{Verify: inOrder})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range r.Findings {
		t.Errorf("check: %v", f)
	}
	return r
}

// inOrder is what Verify does in tests: records are JSON, if anything.
func inOrder(_ string, records iter.Seq2[engine.StoredRecord, error]) (last int, err error) {
	last = -1
	for r, err := range records {
		if err != nil {
			return last, err
		}
		if string(r.Record) == "wrong" {
			return last, errors.New("the record is wrong")
		}
		last = r.Step
	}
	return last, nil
}
