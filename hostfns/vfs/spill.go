package vfs

import (
	"fmt"
	"sync/atomic"

	"github.com/mayfly-run/mayfly/hostfns/cas"
)

// claim is one Put of the store. A file system and its clones share it.
type claim struct {
	hash cas.Hash
	refs atomic.Int32
}

// claimed is a chunk that is in the store by its claim, until a commit names it.
type claimed struct {
	*claim
	c    *chunk
	born uint64 // the chunk's generation
}

// release gives back the claims that drop says are not needed.
func (d *disk) release(drop func(claimed) bool) {
	kept := d.claims[:0]
	for _, e := range d.claims {
		if !drop(e) {
			kept = append(kept, e)
			continue
		}
		if e.c.claim == e.claim {
			e.c.claim = nil
		}
		if e.refs.Add(-1) == 0 {
			d.store.Forget(e.hash)
		}
	}
	clear(d.claims[len(kept):])
	d.claims = kept
}

// tally sorts the chunks that are loaded.
type tally struct {
	d            *disk
	clean, dirty [2][]*chunk // not used and used since the last sweep
}

func (t *tally) add(list []chunkRef) {
	for _, r := range list {
		c := r.c
		if c.swept == t.d.sweeps {
			continue
		}
		c.swept = t.d.sweeps
		used := 0
		if c.used {
			c.used, used = false, 1
		}
		switch {
		case c.data == nil:
		case c.stored:
			t.clean[used] = append(t.clean[used], c)
			t.d.clean += int64(len(c.data))
		default:
			t.dirty[used] = append(t.dirty[used], c)
			t.d.dirty += int64(len(c.data))
		}
	}
}

// sweep looks at every chunk that is reachable, gives back claims on others, and brings loaded data down to half of what
// is allowed where there is more: clean data is dropped, dirty data goes to the store. What was not used since the last
// sweep goes first. It costs O(inodes and chunks), which is spread over the bytes that have to be read or written until
// the next one. need is how much dirty data is to come.
func (m *FS) sweep(need int64) error {
	d := m.disk
	d.sweeps++
	d.clean, d.dirty = 0, 0
	t := &tally{d: d}
	m.visitChunks(&m.root, t)
	for n := range m.orphans {
		t.add(n.chunks)
	}
	for _, l := range m.layers {
		for _, img := range l.nodes {
			t.add(img.chunks)
		}
	}
	if d.pending != nil {
		for _, c := range d.pending.chunks { // the batch has them all the same
			t.add([]chunkRef{{c: c}})
		}
	}
	d.release(func(e claimed) bool { return e.c.swept != d.sweeps })
	if d.clean > d.cacheBytes {
		for _, c := range append(t.clean[0], t.clean[1]...) {
			if d.clean <= d.cacheBytes/2 {
				break
			}
			d.clean -= int64(len(c.data))
			c.data = nil
		}
	}
	if d.dirty+need > d.dirtyBytes {
		for _, c := range append(t.dirty[0], t.dirty[1]...) {
			if d.dirty+need <= d.dirtyBytes/2 {
				break
			}
			if err := d.spill(c); err != nil {
				return err
			}
		}
	}
	return nil
}

func (m *FS) visitChunks(n *inode, t *tally) {
	t.add(n.chunks)
	for e := range n.dir.all {
		m.visitChunks(e.node, t)
	}
}

// spill puts a chunk into the store and drops its data here.
func (d *disk) spill(c *chunk) error {
	if data := trimmed(c.data); len(data) > 0 {
		h, err := d.store.Put(cas.Object{Data: data})
		if err != nil {
			return fmt.Errorf("vfs: write ahead: %w", err)
		}
		c.hash, c.claim = h, &claim{hash: h}
		c.claim.refs.Store(1)
		d.claims = append(d.claims, claimed{c.claim, c, c.generation})
	}
	d.dirty -= int64(len(c.data))
	c.hashed, c.stored, c.generation, c.data = true, true, 0, nil
	return nil
}
