package vfs_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/mayfly-run/mayfly/hostfns/cas"
)

// testStore is a store in memory that notices what a real one would suffer from: objects that are named but missing,
// objects that are changed after they were handed over, and claims that are not given back.
type testStore struct {
	mu      sync.Mutex
	objects map[cas.Hash]cas.Object
	claims  map[cas.Hash]int
	checked map[cas.Hash]bool // everything below is there
	gets    int
	full    bool // Put fails
}

func newTestStore() *testStore {
	return &testStore{objects: map[cas.Hash]cas.Object{}, claims: map[cas.Hash]int{}, checked: map[cas.Hash]bool{}}
}

var errFull = errors.New("disk full")

func (s *testStore) Get(h cas.Hash) (cas.Object, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gets++
	return s.get(h)
}

func (s *testStore) get(h cas.Hash) (cas.Object, error) {
	o, ok := s.objects[h]
	if !ok {
		return o, fmt.Errorf("%w: %v", cas.ErrMissing, h)
	}
	if o.Sum() != h {
		return o, fmt.Errorf("%w: %v", cas.ErrDamaged, h)
	}
	return o, nil
}

func (s *testStore) Put(o cas.Object) (cas.Hash, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.full {
		return cas.Hash{}, errFull
	}
	h := o.Sum()
	s.claims[h]++
	s.objects[h] = o
	return h, o.Check()
}

// Forget deletes what no commit has named.
func (s *testStore) Forget(hashes ...cas.Hash) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, h := range hashes {
		if s.claims[h]--; s.claims[h] == 0 {
			if delete(s.claims, h); !s.checked[h] {
				delete(s.objects, h)
			}
		}
	}
}

// add stores a batch.
func (s *testStore) add(b *cas.Batch) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for h, o := range b.All {
		if o.Sum() != h {
			return fmt.Errorf("object %v was changed in the batch", h)
		}
		s.objects[h] = o
	}
	return nil
}

// complete checks that everything below an object is there, and keeps it for good.
func (s *testStore) complete(h cas.Hash) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.visit(h)
}

func (s *testStore) visit(h cas.Hash) error {
	if s.checked[h] {
		return nil
	}
	o, err := s.get(h)
	if err != nil {
		return err
	}
	for _, r := range o.Refs {
		if err := s.visit(r); err != nil {
			return err
		}
	}
	s.checked[h] = true
	return nil
}

// balanced checks that every Put was followed by a Forget.
func (s *testStore) balanced(t testing.TB) {
	t.Helper()
	if len(s.claims) > 0 {
		t.Errorf("%d objects were put and not forgotten", len(s.claims))
	}
}
