package wasm

import (
	"errors"
	"fmt"
	"slices"

	"github.com/mayfly-run/mayfly/wasm/rewrite"
)

// Apply brings the memory to the state that a chain of patches describes: the first one is relative to the image, each of
// the others to the state before it. An empty chain is the image. It waits for a call in flight.
//
// Nothing in the chain is trusted. An error wraps ErrPatch, or ErrLimit when the state is larger than the memory may be;
// the memory then is the image again, and usable. The work is bounded by the size of the chain.
func (m *Memory) Apply(chain []PatchData) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return ErrClosed
	}
	image := &Snapshot{im: m.im, size: m.im.base.size, globals: m.im.globals, fresh: true}
	m.suspect = true
	if err := m.region.unlayer(); err != nil {
		return fmt.Errorf("map the image again: %w", err)
	}
	m.checkpoint++ // what an earlier one was relative to is gone
	if err := m.put(image); err != nil {
		return err
	}
	if err := m.apply(chain); err != nil {
		return errors.Join(err, m.put(image))
	}
	return nil
}

// apply needs a memory that is the image.
func (m *Memory) apply(chain []PatchData) error {
	if len(chain) == 0 {
		return nil
	}
	heads, err := m.im.parseHeads(chain, m.limit)
	if err != nil {
		return err
	}
	// What a state is shorter than is zero when a later one is longer again. Bytes that will have been cut off are therefore
	// not even written.
	limits, least := make([]int, len(chain)), noPage
	for i := len(chain) - 1; i >= 0; i-- {
		least = min(least, int(heads[i].Size)+guardSize)
		limits[i] = least
	}
	last := heads[len(chain)-1]
	size := int(last.Size) + guardSize
	buf := m.region.bytes(size)
	if buf == nil {
		return fmt.Errorf("restore memory of %d bytes: out of memory", size)
	}
	m.buf, m.peak = buf, size
	wrote := false
	for i, patch := range chain {
		kept := buf[:limits[i]]
		for _, part := range patch.Parts {
			err := eachRun(part, int(heads[i].Size)+guardSize, func(off int, data []byte) {
				if off < len(kept) {
					copy(kept[off:], data)
				}
				wrote = true
			})
			if err != nil {
				return fmt.Errorf("patch %d of %d: %w", i+1, len(chain), err)
			}
		}
	}
	globals := m.im.keptGlobals(last.Globals)
	m.globals = append(m.globals[:0], globals...)
	// A memory that passes for a fresh one is taken for the image, so whether it is one is not for the patch to say.
	m.fresh = last.Fresh && !wrote && size == m.im.base.size && slices.Equal(globals, m.im.globals)
	return nil
}

// parseHeads decodes the heads and checks that they are possible states of a memory.
func (im *Image) parseHeads(chain []PatchData, limit int) ([]patchHead, error) {
	heads := make([]patchHead, len(chain))
	for i, patch := range chain {
		h, err := parseHead(patch.Head)
		switch {
		case err != nil:
		case h.Size < im.Size() || h.Size%pageSize != 0:
			err = fmt.Errorf("%w: size of %d bytes", ErrPatch, h.Size)
		case h.Size > (maxPages-2)*pageSize:
			err = fmt.Errorf("%w: %w: size of %d bytes", ErrPatch, ErrLimit, h.Size)
		case h.Size > int64(limit):
			err = fmt.Errorf("%w: the state has %d bytes, the limit is %d", ErrLimit, h.Size, limit)
		case len(h.Globals) != len(im.globals):
			err = fmt.Errorf("%w: %d globals; %s has %d", ErrPatch, len(h.Globals), im.guest, len(im.globals))
		}
		if err != nil {
			return nil, fmt.Errorf("patch %d of %d: %w", i+1, len(chain), err)
		}
		heads[i] = h
	}
	return heads, nil
}

// keptGlobals returns the globals as they belong to a state between two calls. Those of the guest's own are its affair,
// like its memory: whatever their values are, the guest can reach nothing but its memory and the host's functions. This
// holds for __stack_pointer as well, which the host gives back as it is and compares with the bounds of a stack to name
// a trap. A value of 32 bits with more bits set is cut off when it is installed.
//
// Those that Rewrite added are the host's, and have the image's values whatever a patch says:
//   - mayfly_countdown is how many loop headers the guest passes until the next tick. One of 2^31 would keep ticks, and
//     with them every limit and Go's garbage collector, away for seconds. A tick that comes up to one interval early or
//     late is within what a tick is. It also depends on how the state came about, which must not show in a patch.
//   - mayfly_stack_limit is set when another thread is switched to. Between two calls there is only the first one, whose
//     limit never changes.
func (im *Image) keptGlobals(values []uint64) []uint64 {
	out := slices.Clone(values)
	for i, name := range im.globalNames {
		if rewrite.IsAdded(name) {
			out[i] = im.globals[i]
		}
	}
	return out
}
