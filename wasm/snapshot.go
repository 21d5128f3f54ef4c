package wasm

import (
	"errors"
	"fmt"
)

// span is a range of bytes of a memory; both numbers are multiples of the system's page size.
type span struct {
	Off int `json:"off"`
	Len int `json:"len"`
}

// Snapshot is the state of a Memory at one moment: what differs from the image. It does not change and may be restored
// any number of times, to any memory of the same image.
type Snapshot struct {
	im      *Image
	size    int
	globals []uint64
	spans   []span
	data    []byte
	fresh   bool
}

// ErrImage means that a snapshot belongs to another image than the memory.
var ErrImage = errors.New("snapshot of another guest image")

// Bytes returns the memory that the snapshot takes.
func (s *Snapshot) Bytes() int64 { return int64(len(s.data)) }

// start fills in what does not depend on pages, reusing the buffers.
func (s *Snapshot) start(m *Memory) {
	s.im, s.size, s.fresh = m.im, len(m.buf), m.fresh
	s.globals = append(s.globals[:0], m.globals...)
	s.spans, s.data = s.spans[:0], s.data[:0]
}

// find looks for the pages that differ from what the region maps: the image, or the memory's layer.
func (s *Snapshot) find(m *Memory) (err error) {
	if s.spans, err = m.region.dirty(s.spans, len(m.buf)); err != nil {
		return fmt.Errorf("find changed pages: %w", err)
	}
	return nil
}

func (s *Snapshot) copy(m *Memory) {
	for _, sp := range s.spans {
		s.data = append(s.data, m.buf[sp.Off:sp.Off+sp.Len]...)
	}
}

// Snapshot copies the pages that the memory changed since it was forked. It waits for a call in flight.
func (m *Memory) Snapshot() (*Snapshot, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return nil, ErrClosed
	}
	s := &Snapshot{}
	s.start(m)
	if m.fresh {
		return s, nil
	}
	var err error
	if s.spans, err = m.changed(); err != nil {
		return nil, err
	}
	s.copy(m)
	return s, nil
}

// Restore brings the memory to the state of the snapshot; nil stands for the image itself. It waits for a call in flight.
func (m *Memory) Restore(s *Snapshot) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return ErrClosed
	}
	if s == nil {
		s = &Snapshot{im: m.im, size: m.im.base.size, globals: m.im.globals, fresh: true}
	}
	switch {
	case s.im != m.im:
		return ErrImage
	case s.size > m.limit+guardSize:
		return fmt.Errorf("%w: the snapshot has %d bytes, the limit is %d", ErrLimit, s.size-guardSize, m.limit)
	}
	m.suspect = true // until everything is in its place
	if err := m.region.unlayer(); err != nil {
		return fmt.Errorf("map the image again: %w", err)
	}
	m.checkpoint++ // what an earlier one was relative to is gone
	return m.put(s)
}

// put makes the memory what s says, relative to what the region maps.
func (m *Memory) put(s *Snapshot) error {
	m.suspect = true
	if err := m.region.reset(); err != nil {
		return fmt.Errorf("reset memory: %w", err)
	}
	b := m.region.bytes(s.size)
	if b == nil {
		return fmt.Errorf("restore memory of %d bytes: out of memory", s.size)
	}
	data := s.data
	for _, sp := range s.spans {
		copy(b[sp.Off:sp.Off+sp.Len], data[:sp.Len])
		data = data[sp.Len:]
	}
	m.buf, m.peak, m.denied, m.suspect, m.fresh = b, s.size, false, false, s.fresh
	m.globals = append(m.globals[:0], s.globals...)
	return nil
}
