package wasm

import (
	"fmt"
	"sync"
)

// Checkpoint is a state of a Memory to go back to, cheaper to take than a Snapshot: it belongs to this memory, and a later
// one replaces it.
//
// A memory that has changed little since it was forked has its changed pages copied. One that holds much data would
// take long to copy before every step, so its pages move into a layer of their own, a copy-on-write file between image and
// memory; from then on only what was changed since the last checkpoint costs anything.
type Checkpoint struct {
	m    *Memory
	snap Snapshot // relative to the layer, if there is one
	seq  int
}

// layerThreshold is the number of changed bytes from which on a layer is cheaper than a copy: copying them takes about
// half a millisecond.
const layerThreshold = 4 << 20

// checkpoints are kept for reuse by any memory: only calls in flight need one.
var checkpoints = sync.Pool{New: func() any { return new(Checkpoint) }}

// Checkpoint notes the present state. Release it when it is not needed any more. It waits for a call in flight.
func (m *Memory) Checkpoint() (*Checkpoint, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return nil, ErrClosed
	}
	c := checkpoints.Get().(*Checkpoint)
	m.checkpoint++
	c.m, c.seq = m, m.checkpoint
	if err := c.take(); err != nil {
		c.Release()
		return nil, err
	}
	return c, nil
}

func (c *Checkpoint) take() error {
	m, s := c.m, &c.snap
	s.start(m)
	if m.fresh {
		return nil
	}
	if err := s.find(m); err != nil {
		return err
	}
	if bytesIn(s.spans) > layerThreshold {
		layered, err := m.region.commit(s.spans, len(m.buf))
		if err != nil {
			return fmt.Errorf("move changed pages into a layer: %w", err)
		}
		if layered {
			s.spans = s.spans[:0]
			return nil
		}
	}
	s.copy(m)
	return nil
}

// Rollback brings the memory back to the checkpoint, which has to be its latest. It waits for a call in flight.
func (m *Memory) Rollback(c *Checkpoint) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.closed:
		return ErrClosed
	case c.m != m || c.seq != m.checkpoint:
		return fmt.Errorf("%w: not the latest checkpoint of this memory", ErrImage)
	}
	return m.put(&c.snap)
}

// Release gives the checkpoint's buffers back. It must not be used afterwards.
func (c *Checkpoint) Release() {
	c.m, c.snap.im = nil, nil
	checkpoints.Put(c)
}
