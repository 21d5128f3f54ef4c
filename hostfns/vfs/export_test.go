package vfs

import "fmt"

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
					bytes += int64(len(r.c.data))
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
