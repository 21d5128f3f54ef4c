package wasm

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
)

const (
	pageSize = 65536
	// maxPages is WebAssembly's own limit.
	maxPages = 65536
	// guardSize is the page at the end of each memory that the guest does not know of, see rewrite/merge.go.
	guardSize = pageSize
)

// DefaultMemoryLimit is what a guest's memory may grow to, interpreter included: room for real data sets, while a few
// dozen runaway guests do not take a machine down.
const DefaultMemoryLimit = 512 << 20

// MemoryOptions of Image.NewMemory; nil and the zero value are the good defaults.
type MemoryOptions struct {
	// Limit is the size in bytes that the memory may grow to. Default: DefaultMemoryLimit. At least the image's size.
	Limit int64
}

// Memory is the linear memory of one sandbox: a private copy-on-write view of its image, and the values of the module's
// globals. One call at a time may run on it; Image.Call waits for its turn.
type Memory struct {
	im *Image

	mu      sync.Mutex // held during a call
	region  *region
	buf     []byte // what the guest has now, guard page included
	globals []uint64
	limit   int
	fresh   bool // nothing ran since the fork
	suspect bool // the guest stopped half-way, see ErrSuspect
	denied  bool // a growth was refused because of limit
	peak    int
	closed  bool
	child   bool // a fork made in the middle of a call
	// checkpoint counts the checkpoints; only the latest is good.
	checkpoint int
}

// ErrLimit means that a limit lies outside of what is possible.
var ErrLimit = errors.New("memory limit out of range")

// NewMemory forks the image: a new sandbox in the state right after the guest's initialisation. Close frees it.
func (im *Image) NewMemory(o *MemoryOptions) (*Memory, error) {
	limit := int64(DefaultMemoryLimit)
	if o != nil && o.Limit != 0 {
		limit = o.Limit
	}
	if limit < im.Size() || limit > (maxPages-2)*pageSize {
		return nil, fmt.Errorf("%w: %d bytes; %s needs at least %d", ErrLimit, limit, im.guest, im.Size())
	}
	im.mu.Lock()
	closed := im.closed
	im.mu.Unlock()
	if closed {
		return nil, ErrClosed
	}
	if m := im.ready.take(limit); m != nil {
		return m, nil
	}
	return im.newMemory(int(limit))
}

func (im *Image) newMemory(limit int) (*Memory, error) {
	limit = (limit + pageSize - 1) / pageSize * pageSize
	rg, err := newRegion(im.base, limit+guardSize)
	if err != nil {
		return nil, fmt.Errorf("fork memory: %w", err)
	}
	return im.memoryOn(rg, limit), nil
}

// memoryOn returns a memory whose region shows the image.
func (im *Image) memoryOn(rg *region, limit int) *Memory {
	m := &Memory{im: im, region: rg, limit: limit, fresh: true}
	m.globals = append(m.globals, im.globals...)
	m.buf = rg.bytes(im.base.size)
	m.peak = len(m.buf)
	return m
}

// Size returns the bytes that the guest's memory has now.
func (m *Memory) Size() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return int64(len(m.buf) - guardSize)
}

// Close frees the memory, after the call that may be running on it.
func (m *Memory) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return nil
	}
	m.closed = true
	if m.im.ready.reuse(m) {
		m.buf, m.region = nil, nil
		return nil
	}
	m.buf = nil
	return m.im.ready.bury(m.region)
}

// grow is called by the runtime in the middle of a call. A nil answer makes memory.grow fail in the guest, which turns
// into its language's out-of-memory error.
func (m *Memory) grow(size uint64) []byte {
	if size > uint64(m.limit+guardSize) {
		m.denied = true
		return nil
	}
	b := m.region.bytes(int(size))
	if b == nil {
		m.denied = true
		return nil
	}
	m.buf = b
	m.peak = max(m.peak, len(b))
	return b
}

// u32 and putU32 access a word of guest memory; the address comes from the guest and is checked.
func (m *Memory) u32(addr uint32) (uint32, bool) {
	if uint64(addr)+4 > uint64(len(m.buf)) {
		return 0, false
	}
	return binary.LittleEndian.Uint32(m.buf[addr:]), true
}

func (m *Memory) putU32(addr, v uint32) bool {
	if uint64(addr)+4 > uint64(len(m.buf)) {
		return false
	}
	binary.LittleEndian.PutUint32(m.buf[addr:], v)
	return true
}
