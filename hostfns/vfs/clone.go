package vfs

// Clone returns an independent file system with the same content, options and
// inode numbers. File data is shared and copied when either side writes; the
// cost is O(number of files). Files open in m stay open in m only, and what is
// unlinked there is not cloned. The clone has no change log until its Mark, no
// checkpoint, and the same store, where its first commit is not relative to
// one of m. It must be closed if m must be.
func (m *FS) Clone() *FS {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := &FS{
		maxBytes: m.maxBytes, maxFiles: m.maxFiles, maxFileSize: m.maxFileSize,
		device: m.device, now: m.now, audit: m.audit, nextIno: m.nextIno,
		generation: generations.Add(1),
	}
	if d := m.disk; d != nil {
		c.disk = &disk{store: d.store, cacheBytes: d.cacheBytes, dirtyBytes: d.dirtyBytes, hard: map[*inode]struct{}{}}
	}
	// From here on neither side owns the present chunks.
	m.generation = generations.Add(1)
	hard := map[*inode]*inode{} // files with several names, so far
	c.root = inode{ino: m.root.ino}
	c.copyInode(&c.root, &m.root)
	c.copyDir(&c.root, &m.root, hard)
	return c
}

// copyInode copies all of an inode but its names, entries and log state.
func (m *FS) copyInode(to, from *inode) {
	to.ino, to.mode, to.nlink = from.ino, from.mode, from.nlink
	to.atim, to.mtim, to.ctim = from.atim, from.mtim, from.ctim
	to.size, to.target = from.size, from.target
	if len(from.chunks) > 0 {
		to.chunks = append(make([]chunkRef, 0, len(from.chunks)), from.chunks...)
		for i := range to.chunks {
			m.bytes += int64(to.chunks[i].c.size)
			if m.disk != nil {
				to.chunks[i].c = m.disk.copyChunk(to.chunks[i].c)
			}
		}
	}
	m.linked(to)
	if to.isSymlink() {
		m.symlinks.Add(1)
		m.bytes += int64(len(to.target))
	}
}

// copyChunk takes over a chunk of another file system. The data is shared, what is known of it in the store is not: each
// file system guards its own.
func (d *disk) copyChunk(from *chunk) *chunk {
	c := &chunk{data: from.data, size: from.size, kept: from.kept}
	c.swept, c.used = 0, false
	if c.claim != nil {
		c.claim.refs.Add(1)
		d.claims = append(d.claims, claimed{c.claim, c, 0})
	}
	if c.stored {
		d.clean += int64(len(c.data))
	} else {
		d.dirty += int64(len(c.data))
	}
	return c
}

func (m *FS) copyDir(to, from *inode, hard map[*inode]*inode) {
	if from.dir.len() == 0 {
		return
	}
	to.dir = &dirTable{order: make([]dirEntry, 0, from.dir.live)}
	for i := range from.dir.order {
		e := &from.dir.order[i]
		if e.node == nil {
			continue
		}
		n := hard[e.node]
		if n == nil {
			n = &inode{}
			m.copyInode(n, e.node)
			if !n.isDir() && n.nlink > 1 {
				hard[e.node] = n
			}
		}
		to.dir.add(e.name, n)
		n.addLink(to, e.name)
		m.files++
		if n.isDir() {
			m.copyDir(n, e.node, hard)
		}
	}
}
