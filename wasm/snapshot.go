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
}

// ErrImage means that a snapshot belongs to another image than the memory.
var ErrImage = errors.New("snapshot of another guest image")

// Bytes returns the memory that the snapshot takes.
func (s *Snapshot) Bytes() int64 { return int64(len(s.data)) }

// Snapshot copies the pages that the memory changed since it was forked. It waits for a call in flight.
func (m *Memory) Snapshot() (*Snapshot, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return nil, ErrClosed
	}
	s := &Snapshot{}
	return s, m.save(s)
}

// SnapshotInto is Snapshot into a value whose buffers are reused. What it held before is lost.
func (m *Memory) SnapshotInto(s *Snapshot) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return ErrClosed
	}
	return m.save(s)
}

// save fills s, reusing its buffers.
func (m *Memory) save(s *Snapshot) error {
	s.im, s.size = m.im, len(m.buf)
	s.globals = append(s.globals[:0], m.globals...)
	s.spans, s.data = s.spans[:0], s.data[:0]
	if m.fresh {
		return nil
	}
	var err error
	if s.spans, err = m.region.dirty(s.spans, len(m.buf)); err != nil {
		return fmt.Errorf("find changed pages: %w", err)
	}
	for _, sp := range s.spans {
		s.data = append(s.data, m.buf[sp.Off:sp.Off+sp.Len]...)
	}
	return nil
}

// Restore brings the memory to the state of the snapshot; nil stands for the image itself. It waits for a call in flight.
func (m *Memory) Restore(s *Snapshot) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return ErrClosed
	}
	return m.restore(s)
}

func (m *Memory) restore(s *Snapshot) error {
	size := m.im.base.size
	if s != nil {
		if s.im != m.im {
			return ErrImage
		}
		size = s.size
	}
	if size > m.limit+guardSize {
		return fmt.Errorf("%w: the snapshot has %d bytes, the limit is %d", ErrLimit, size-guardSize, m.limit)
	}
	m.suspect = true // until everything is in its place
	if err := m.region.reset(); err != nil {
		return fmt.Errorf("reset memory: %w", err)
	}
	b := m.region.bytes(size)
	if b == nil {
		return fmt.Errorf("restore memory of %d bytes: out of memory", size)
	}
	m.buf, m.peak, m.denied, m.suspect = b, size, false, false
	if s == nil {
		m.globals = append(m.globals[:0], m.im.globals...)
		m.fresh = true
		return nil
	}
	m.globals = append(m.globals[:0], s.globals...)
	m.fresh = len(s.spans) == 0 && size == m.im.base.size
	data := s.data
	for _, sp := range s.spans {
		copy(b[sp.Off:sp.Off+sp.Len], data[:sp.Len])
		data = data[sp.Len:]
	}
	return nil
}
