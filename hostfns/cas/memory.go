package cas

import (
	"fmt"
	"sync"
)

// Memory keeps objects in memory for as long as it lives: for tests, and for what is on its way to another store. The
// zero value is empty and ready. It is safe for concurrent use.
type Memory struct {
	mu      sync.Mutex
	objects map[Hash]Object
}

// Get implements Reader.
func (m *Memory) Get(h Hash) (Object, error) {
	m.mu.Lock()
	o, ok := m.objects[h]
	m.mu.Unlock()
	switch {
	case !ok:
		return Object{}, fmt.Errorf("%w: %v", ErrMissing, h)
	case o.Sum() != h:
		return Object{}, fmt.Errorf("%w: %v", ErrDamaged, h)
	}
	return o, nil
}

// Put implements Writer.
func (m *Memory) Put(o Object) (Hash, error) {
	if err := o.Check(); err != nil {
		return Hash{}, err
	}
	h := o.Sum()
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.objects == nil {
		m.objects = map[Hash]Object{}
	}
	m.objects[h] = o
	return h, nil
}

// Forget implements Writer. A Memory never forgets.
func (m *Memory) Forget(...Hash) {}

// Len returns the number of objects.
func (m *Memory) Len() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.objects)
}
