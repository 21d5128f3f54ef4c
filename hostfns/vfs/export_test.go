package vfs

import "fmt"

// CheckState is CheckInvariants with the orphans that the file system knows of, and looks at the store's side.
func (m *FS) CheckState() error {
	m.mu.Lock()
	var bytes int64
	for n := range m.orphans {
		for _, r := range n.chunks {
			bytes += int64(r.c.size)
		}
		if n.nlink != 0 || n.flags&dead != 0 || n.parent != nil {
			m.mu.Unlock()
			return fmt.Errorf("orphan %d: nlink %d", n.ino, n.nlink)
		}
	}
	orphans := len(m.orphans)
	m.mu.Unlock()
	if err := m.CheckInvariants(bytes, orphans); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.checkChunks(&m.root)
}

func (m *FS) checkChunks(n *inode) error {
	for _, r := range n.chunks {
		switch c := r.c; {
		case len(c.data) > int(c.size), int(c.size) < least(r.index):
			return fmt.Errorf("inode %d: chunk of %d bytes, charged %d", n.ino, len(c.data), c.size)
		case c.data == nil && !(c.hashed && c.stored):
			return fmt.Errorf("inode %d: data is lost", n.ino)
		case c.generation == m.generation && c.hashed:
			return fmt.Errorf("inode %d: a chunk with a hash can be written", n.ino)
		}
	}
	if n.flags&summed == 0 && n.parent != nil && n.parent.flags&summed != 0 {
		return fmt.Errorf("inode %d: the hash above would not change", n.ino)
	}
	if len(n.dir.orderOrNil()) > scanLimit && n.dir.index == nil && n.dir.live > scanLimit {
		return fmt.Errorf("inode %d: no index", n.ino)
	}
	for e := range n.dir.all {
		if e.node.flags&dead != 0 {
			return fmt.Errorf("%s: a dead inode has a name", e.name)
		}
		if err := m.checkChunks(e.node); err != nil {
			return err
		}
	}
	return nil
}

func (d *dirTable) orderOrNil() []dirEntry {
	if d == nil {
		return nil
	}
	return d.order
}

// LayerSize counts the images that are kept.
func (m *FS) LayerSize() (layers, nodes, names int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, l := range m.layers {
		nodes, names = nodes+len(l.nodes), names+len(l.names)
	}
	return len(m.layers), nodes, names
}

// Loaded counts the bytes of file data in memory.
func (m *FS) Loaded() (bytes int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var visit func(n *inode)
	visit = func(n *inode) {
		for _, r := range n.chunks {
			bytes += int64(len(r.c.data))
		}
		for e := range n.dir.all {
			visit(e.node)
		}
	}
	visit(&m.root)
	return bytes
}

// CheckInvariants recounts what a Memory keeps running totals of.
func (m *FS) CheckInvariants(orphanBytes int64, orphans int) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	seen := map[*inode]uint32{}
	bytes, files, links := orphanBytes, orphans, int64(0)
	var visit func(d *inode) error
	visit = func(d *inode) error {
		if d.dir == nil {
			return nil
		}
		live, subdirs := 0, uint32(0)
		for i := range d.dir.order {
			e := &d.dir.order[i]
			if i > 0 && e.seq <= d.dir.order[i-1].seq {
				return fmt.Errorf("sequence %d after %d", e.seq, d.dir.order[i-1].seq)
			}
			if e.node == nil {
				continue
			}
			live++
			files++
			if d.dir.lookup(e.name) != e.node {
				return fmt.Errorf("%s: index is wrong", e.name)
			}
			linked := e.node.parent == d && e.node.name == e.name
			for _, l := range e.node.more {
				linked = linked || l == link{d, e.name}
			}
			if !linked {
				return fmt.Errorf("%s: the inode does not know its name", e.name)
			}
			if seen[e.node]++; seen[e.node] == 1 {
				for j, r := range e.node.chunks {
					bytes += int64(r.c.size)
					if j > 0 && r.index <= e.node.chunks[j-1].index {
						return fmt.Errorf("%s: chunks are not sorted", e.name)
					}
				}
				bytes += int64(len(e.node.target))
				if e.node.isSymlink() {
					links++
				}
			}
			if e.node.isDir() {
				subdirs++
				if err := visit(e.node); err != nil {
					return err
				}
			}
		}
		if live != d.dir.live || d.nlink != 2+subdirs {
			return fmt.Errorf("ino %d: %d live (says %d), %d subdirectories (nlink %d)", d.ino, live, d.dir.live, subdirs, d.nlink)
		}
		return nil
	}
	if err := visit(&m.root); err != nil {
		return err
	}
	for n, count := range seen {
		if !n.isDir() && n.nlink != count {
			return fmt.Errorf("%s: nlink %d, found %d names", n.name, n.nlink, count)
		}
	}
	if bytes != m.bytes || files != m.files || links != m.symlinks.Load() {
		return fmt.Errorf("counted %d bytes, %d files, %d links; kept %d, %d, %d",
			bytes, files, links, m.bytes, m.files, m.symlinks.Load())
	}
	return nil
}
