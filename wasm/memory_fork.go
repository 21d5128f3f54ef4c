package wasm

// Fork returns a new memory with the same limit in the present state of m. It waits for a call in flight. The pages of a
// checkpoint's layer are shared, until one of the two memories needs a layer again.
func (m *Memory) Fork() (*Memory, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.closed:
		return nil, ErrClosed
	case m.suspect:
		return nil, ErrSuspect
	}
	f, err := m.copyOf()
	if err != nil {
		return nil, err
	}
	f.globals = append(f.globals[:0], m.globals...)
	f.fresh, f.child = m.fresh, m.child
	return f, nil
}

// copyOf returns a new memory with the bytes of m.
func (m *Memory) copyOf() (*Memory, error) {
	f, err := m.im.NewMemory(&MemoryOptions{Limit: int64(m.limit)})
	if err != nil || m.fresh {
		return f, err
	}
	spans, err := m.region.dirty(nil, len(m.buf))
	if err == nil && m.region.layered() {
		err = f.region.share(m.region)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	b := f.region.bytes(len(m.buf))
	if b == nil {
		f.Close()
		return nil, ErrNoMemory
	}
	for _, sp := range spans {
		copy(b[sp.Off:sp.Off+sp.Len], m.buf[sp.Off:])
	}
	f.buf, f.peak, f.fresh = b, len(b), false
	return f, nil
}
