package vfs

import (
	"cmp"
	"slices"
)

// Rollback brings the file system back to where it was at the last [FS.Checkpoint], or at the last commit or Open if
// that is later. It costs O(what has changed since). Without any of them it does nothing.
//
// Files that were open then can be used as before: only their positions are the caller's to restore. Files of what was
// made since are stale; every operation on them is ESTALE, and closing them is harmless. A file that was unlinked but
// open then is there again even if it was closed since: take it with [FS.OpenInode], or free it with [FS.DropOrphans].
//
// A commit since that was not confirmed is given up.
func (m *FS) Rollback() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.hasCheckpoint {
		return
	}
	d := m.disk
	if d != nil && d.pending != nil && d.pending.layer > m.checkpoint {
		d.pending = nil
	}
	generation := m.layers[m.checkpoint].generation
	for i := len(m.layers) - 1; i >= m.checkpoint; i-- {
		m.restore(m.layers[i])
	}
	m.layers = m.layers[:m.checkpoint]
	m.push()
	if d != nil {
		d.release(func(e claimed) bool { return e.born >= generation })
		d.hardOK = false
	}
	m.audited(Operation{Op: "rollback"})
}

// restore undoes what happened since a layer began, given that later layers are undone.
func (m *FS) restore(l *layer) {
	m.byIno = nil
	changed := map[*inode][]restoredName{}
	for key, img := range l.names {
		changed[key.dir] = append(changed[key.dir], restoredName{key.name, img})
		if n := key.dir.dir.lookup(key.name); n != nil && l.born(n) {
			m.bury(l, n)
		}
	}
	for n := range m.orphans {
		if l.born(n) {
			m.bury(l, n)
			delete(m.orphans, n)
		}
	}
	for n, img := range l.nodes {
		m.restoreInode(n, img)
	}
	for dir, names := range changed {
		if dir.dir != nil { // else it never had an entry
			dir.dir.restore(names, l.nodes[dir].next)
		}
	}
	for n := range l.nodes {
		m.unsum(n)
	}
	m.nextIno, m.bytes, m.files = l.nextIno, l.bytes, l.files
	m.symlinks.Store(l.symlinks)
	if m.log != nil {
		m.log.restore(l)
	}
}

func (m *FS) restoreInode(n *inode, img *image) {
	opens := n.opens
	*n = img.inode
	n.opens = opens
	n.flags &^= summed
	m.linked(n)
	if n.nlink == 0 {
		m.addOrphan(n)
	} else {
		delete(m.orphans, n)
	}
}

// bury marks what was made since the layer began, for files that have it open. What was moved into a directory that
// was made since has an image.
func (m *FS) bury(l *layer, n *inode) {
	if n.flags&dead != 0 {
		return
	}
	n.flags |= dead
	if m.disk != nil {
		delete(m.disk.hard, n)
	}
	n.chunks = nil
	for e := range n.dir.all {
		if l.born(e.node) {
			m.bury(l, e.node)
		}
	}
}

type restoredName struct {
	name string
	nameImage
}

// restore puts names back to what they were, and next as well. It costs O(names), or O(entries) when the table was
// compacted since, which took as many removals.
func (d *dirTable) restore(names []restoredName, next uint64) {
	for _, r := range names {
		if d.sums != nil {
			d.noteName(r.name)
		}
		if i := d.position(r.name); i >= 0 {
			d.clear(i)
		}
	}
	// What remains of newer entries is empty.
	end := len(d.order)
	for end > 0 && d.order[end-1].seq >= next {
		end--
	}
	d.order, d.next = d.order[:end], next
	var lost []dirEntry
	for _, r := range names {
		if r.node == nil {
			continue
		}
		i, found := slices.BinarySearchFunc(d.order, r.seq, func(e dirEntry, seq uint64) int { return cmp.Compare(e.seq, seq) })
		if !found {
			lost = append(lost, dirEntry{r.name, r.node, r.seq})
			continue
		}
		d.order[i] = dirEntry{r.name, r.node, r.seq}
		d.live++
		if d.index != nil {
			d.index[r.name] = i
		}
	}
	if len(lost) > 0 {
		d.order = append(d.order, lost...)
		slices.SortFunc(d.order, func(a, b dirEntry) int { return cmp.Compare(a.seq, b.seq) })
		d.live += len(lost)
		d.compact()
	} else if d.index == nil && len(d.order) > scanLimit {
		d.compact()
	}
}
