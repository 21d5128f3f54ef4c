package wasm

import "slices"

// Contents returns a copy of a memory's bytes, and of those of its globals that belong to a state.
func Contents(m *Memory) ([]byte, []uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.buf), m.im.keptGlobals(m.globals)
}

// Layered tells whether a memory has a layer.
func Layered(m *Memory) bool { return m.region.layered() }

// HasLayers tells whether this build has layers.
const HasLayers = ForkMethod == "copy-on-write mapping of a sealed memfd"

// IsFresh tells whether a memory passes for the image.
func IsFresh(m *Memory) bool { return m.fresh }

// GlobalNames returns the names of an image's globals, in their order.
func GlobalNames(im *Image) []string { return im.globalNames }

// StackPointer returns the index of the shadow stack's pointer.
func StackPointer(im *Image) int { return im.threads.Pointer }
