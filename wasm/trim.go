package wasm

// Trim gives back what an idle memory does not need: the mappings of pages that it shares with its image. The next call
// maps them again as it goes, which takes it some ten microseconds longer. It waits for a call in flight.
func (m *Memory) Trim() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return ErrClosed
	}
	if m.fresh {
		return nil
	}
	changed, err := m.region.dirty(nil, len(m.buf))
	if err != nil {
		return err
	}
	return m.region.trim(changed)
}
