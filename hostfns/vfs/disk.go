package vfs

import (
	"encoding/binary"
	"fmt"

	"github.com/tetratelabs/wazero/experimental/sys"

	"github.com/mayfly-run/mayfly/hostfns/cas"
)

// Defaults of a file system with a store.
const (
	// DefaultCacheBytes holds what one execution usually reads again; the store's own cache is behind it.
	DefaultCacheBytes int64 = 32 << 20
	// DefaultDirtyBytes lets most executions reach their commit without writing anything ahead.
	DefaultDirtyBytes int64 = 64 << 20
)

// kept is what is known of a chunk in the store.
type kept struct {
	hash   cas.Hash // of the data, when hashed; the zero Hash when all of it is zero
	claim  *claim   // what Put gave, until a commit names the object
	swept  uint32   // sweep that saw the chunk
	hashed bool
	stored bool // the store has the object, or there is none
	used   bool // read since the last sweep
}

// disk is what a file system with a store has in addition. The FS's mutex guards it.
type disk struct {
	store                  cas.ReadWriter
	cacheBytes, dirtyBytes int64

	// clean and dirty are the bytes of loaded data that the store has and does not have. They may be too high, as data
	// that nothing holds any more is noticed by a sweep.
	clean, dirty int64
	sweeps       uint32
	claims       []claimed
	err          error // first one since Err was called

	base    *base // what was committed or opened last
	pending *pending
	hard    map[*inode]struct{} // files with several names
	hardSum cas.Hash            // of the groups of names, when hardOK
	hardOK  bool
}

func newDisk(o *Options) *disk {
	return &disk{
		store:      o.Store,
		cacheBytes: bound(o.CacheBytes, DefaultCacheBytes), dirtyBytes: bound(o.DirtyBytes, DefaultDirtyBytes),
		hard: map[*inode]struct{}{},
	}
}

// Err returns the first error of the store since the last call. A guest sees such an error as EIO.
func (m *FS) Err() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.disk == nil {
		return nil
	}
	err := m.disk.err
	m.disk.err = nil
	return err
}

func (d *disk) fail(err error) sys.Errno {
	if d.err == nil {
		d.err = err
	}
	return sys.EIO
}

// load returns the data of a chunk of n; what is not in it reads as zero. It must not be changed.
func (m *FS) load(n *inode, r chunkRef) ([]byte, sys.Errno) {
	c, d := r.c, m.disk
	if d == nil {
		return c.data, 0
	}
	c.used = true
	if c.data != nil || c.hashed && c.hash.IsZero() {
		return c.data, 0
	}
	o, err := d.store.Get(c.hash)
	if err != nil {
		return nil, d.fail(fmt.Errorf("vfs: file data of inode %d at %d: %w", n.ino, r.index*chunkSize, err))
	}
	size := len(o.Data)
	if len(o.Refs) > 0 || size == 0 || size > int(c.size) || o.Data[size-1] == 0 || int64(size) > n.size-r.index*chunkSize {
		return nil, d.fail(fmt.Errorf("vfs: file data of inode %d at %d: %w: object %v is no data for it",
			n.ino, r.index*chunkSize, cas.ErrDamaged, c.hash))
	}
	c.data = o.Data
	if d.clean += int64(size); d.clean > d.cacheBytes {
		_ = m.sweep(0) // what cannot be written now is tried again by the next write
	}
	return o.Data, 0
}

// reserve makes room for the data of a new chunk. When the store cannot take what has to go there it is EIO.
func (m *FS) reserve(size int) sys.Errno {
	d := m.disk
	if d == nil || d.dirty+int64(size) <= d.dirtyBytes {
		return 0
	}
	if err := m.sweep(int64(size)); err != nil {
		return d.fail(err)
	}
	return 0
}

// dropChunk notes that a list has a chunk no longer. An image may still have it, unless it is as young as the FS's
// generation.
func (m *FS) dropChunk(c *chunk) {
	if d := m.disk; d != nil && c.generation == m.generation && !c.stored {
		d.dirty -= int64(len(c.data))
	}
}

// trimmed returns data without the zeros at its end: what reads the same is the same object.
func trimmed(data []byte) []byte {
	n := len(data)
	for n >= 8 && binary.LittleEndian.Uint64(data[n-8:]) == 0 {
		n -= 8
	}
	for n > 0 && data[n-1] == 0 {
		n--
	}
	return data[:n:n]
}

// Close gives back what the store keeps for this file system alone. Nothing may be used afterwards, open files included,
// except that they can be closed.
func (m *FS) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.disk != nil {
		m.disk.release(func(claimed) bool { return true })
	}
	return nil
}
