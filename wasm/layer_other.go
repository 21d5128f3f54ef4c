//go:build !linux || mayfly_file || mayfly_copy

package wasm

// Layers exist on Linux only; elsewhere checkpoints are copies.

func (r *region) layered() bool                    { return false }
func (r *region) commit([]span, int) (bool, error) { return false, nil }
func (r *region) unlayer() error                   { return nil }
func (r *region) share(*region) error              { return nil }
func (r *region) withLayer(spans []span) []span    { return spans }
func (r *region) readLayer([]byte, int) error      { return nil }
