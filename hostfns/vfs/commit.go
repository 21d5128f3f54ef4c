package vfs

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/mayfly-run/mayfly/hostfns/cas"
)

// FrameKind is the kind of frames that hold states of a file system.
const FrameKind = "files"

// Commit is what [FS.Commit] made.
type Commit struct {
	// Frame is the state's top object, from which everything else of it can be reached. [Open] takes it.
	Frame cas.Hash
	// Tree is the canonical hash of what a program can see of the state besides times: names, types, permission bits,
	// sizes, contents, link targets, and which names are hard links of one file.
	Tree cas.Hash
	// Changed is false when the state is the one of the last commit; Frame is its frame then.
	Changed bool
	// Bytes is the size of the objects that were added to the batch.
	Bytes int64
}

// base is the state that a delta is relative to.
type base struct {
	hash  cas.Hash
	frame cas.Frame
}

// pending is a commit that is not confirmed yet.
type pending struct {
	base
	layer      int // begins at the commit
	generation uint64
	chunks     []*chunk // that are in the batch only
}

// frameHead is what a frame says before its parts are read.
type frameHead struct {
	// Next is the next inode number, Files and Bytes are what quotas bound.
	Next  uint64 `json:"next"`
	Files int    `json:"files"`
	Bytes int64  `json:"bytes"`
}

var errNoStore = errors.New("vfs: the file system has no store; set Options.Store")

// Commit adds to b the objects of the present state that were not in the last one that was committed or opened. Store
// them and call [FS.Committed], or [FS.Rollback] if that fails. Until then the commit changes nothing: the next one
// contains all of it again.
//
// Files that are open stay so; those without a name are part of the state. What is changed while the objects are being
// stored belongs to the next commit.
func (m *FS) Commit(b *cas.Batch) (Commit, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.disk == nil {
		return Commit{}, errNoStore
	}
	c, err := m.commit(b)
	if err != nil {
		return Commit{}, fmt.Errorf("vfs: commit: %w", err)
	}
	m.audited(Operation{Op: "commit", Length: c.Bytes})
	return c, nil
}

func (m *FS) commit(b *cas.Batch) (Commit, error) {
	d, size := m.disk, b.Size()
	m.generation = generations.Add(1) // what is hashed now must not be written in place, whatever happens next
	w := &frameWriter{fs: m, batch: b}
	var err error
	delta := d.base != nil && !d.base.frame.Due()
	switch {
	case delta:
		err = w.delta()
	case d.base == nil || m.touched():
		err = w.keyframe()
	}
	if err != nil {
		return Commit{}, err
	}
	p := &pending{chunks: w.chunks}
	if d.base != nil && len(w.buf) == 0 && len(w.parts) == 0 {
		p.base = *d.base
	} else if p.base, err = w.frame(delta); err != nil {
		return Commit{}, err
	}
	c := Commit{
		Frame: p.hash, Tree: m.sumTree(), Changed: d.base == nil || p.hash != d.base.hash, Bytes: int64(b.Size() - size),
	}
	m.push()
	p.layer, p.generation = len(m.layers)-1, m.generation
	d.pending = p
	m.fold()
	return c, nil
}

// touched reports whether anything may have changed since the base.
func (m *FS) touched() bool {
	for _, l := range m.layers {
		if !l.empty() {
			return true
		}
	}
	return false
}

// Committed confirms that the objects of the last Commit are stored. Its state is the base of the next one, and where
// [FS.Rollback] goes back to. Without a Commit since it does nothing.
func (m *FS) Committed() {
	m.mu.Lock()
	defer m.mu.Unlock()
	d := m.disk
	if d == nil || d.pending == nil {
		return
	}
	p := d.pending
	for range p.layer {
		m.remove(0)
	}
	if !m.hasCheckpoint {
		m.checkpoint, m.hasCheckpoint = 0, true
	}
	d.base, d.pending = &p.base, nil
	for _, c := range p.chunks {
		if c.stored {
			continue
		}
		if c.stored = true; c.data != nil {
			d.dirty -= int64(len(c.data))
			d.clean += int64(len(c.data))
		}
	}
	d.release(func(e claimed) bool { return e.born < p.generation })
	if d.clean > d.cacheBytes {
		_ = m.sweep(0)
	}
}

// frame adds the frame of the parts that were written.
func (w *frameWriter) frame(delta bool) (base, error) {
	if err := w.flush(); err != nil {
		return base{}, err
	}
	m := w.fs
	head, err := json.Marshal(frameHead{m.nextIno, m.files, m.bytes})
	if err != nil {
		return base{}, err
	}
	// The chunks count as well: a chain keeps those that were overwritten since its keyframe.
	size := w.size + w.named
	f := cas.NewFrame(nil, cas.Hash{}, w.parts, size, head)
	if delta {
		under := m.disk.base
		f = cas.NewFrame(&under.frame, under.hash, w.parts, size, head)
	}
	o, err := f.Object(FrameKind)
	if err != nil {
		return base{}, err
	}
	h, err := w.batch.Add(o)
	return base{h, f}, err
}
