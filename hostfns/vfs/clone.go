package vfs

// Clone returns an independent file system with the same content, options and
// inode numbers. File data is shared and copied when either side writes; the
// cost is O(number of files). Files open in m stay open in m only, and what is
// unlinked there is not cloned. The clone has no change log until its Mark.
func (m *FS) Clone() *FS {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := &FS{
		maxBytes: m.maxBytes, maxFiles: m.maxFiles, maxFileSize: m.maxFileSize,
		device: m.device, now: m.now, nextIno: m.nextIno,
		generation: generations.Add(1),
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
		for _, r := range to.chunks {
			m.bytes += int64(len(r.c.data))
		}
	}
	if to.isSymlink() {
		m.symlinks.Add(1)
		m.bytes += int64(len(to.target))
	}
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
