package vfs

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// delta writes what differs from the base: the layers' inodes and names, and what was made since.
func (w *frameWriter) delta() error {
	m := w.fs
	first := m.layers[0]
	nodes := map[*inode]*image{}
	names := map[*inode]map[string]nameImage{}
	for _, l := range m.layers {
		for n, img := range l.nodes {
			if _, ok := nodes[n]; !ok && !first.born(n) {
				nodes[n] = img
			}
		}
		for key, img := range l.names {
			if first.born(key.dir) {
				continue
			}
			of := names[key.dir]
			if of == nil {
				of = map[string]nameImage{}
				names[key.dir] = of
			}
			if _, ok := of[key.name]; !ok {
				of[key.name] = img
			}
		}
	}
	for _, n := range byNumber(maps.Keys(nodes)) {
		err := error(nil)
		if m.alive(n) {
			err = w.inode(n, nodes[n])
		} else if err = w.record(recGone); err == nil {
			w.uint(n.ino)
		}
		if err != nil {
			return err
		}
	}
	var born []*inode
	for _, dir := range byNumber(maps.Keys(names)) {
		if m.alive(dir) {
			made, err := w.entries(dir, names[dir])
			if err != nil {
				return err
			}
			for _, e := range made {
				if first.born(e.node) {
					born = append(born, e.node)
				}
			}
		}
	}
	for _, n := range byNumber(maps.Keys(m.orphans)) {
		if first.born(n) {
			born = append(born, n)
		}
	}
	for _, n := range born {
		if err := w.whole(n, first.born); err != nil {
			return err
		}
	}
	return nil
}

// alive reports whether an inode belongs to the present state.
func (m *FS) alive(n *inode) bool {
	if n.nlink > 0 {
		return true
	}
	_, ok := m.orphans[n]
	return ok
}

// entries writes the entries of a directory that are not what they were, and returns those that are new or lead
// elsewhere.
func (w *frameWriter) entries(dir *inode, was map[string]nameImage) ([]dirEntry, error) {
	var gone []string
	var made []dirEntry
	for name, img := range was {
		i := dir.dir.position(name)
		switch {
		case i < 0:
			if img.node != nil {
				gone = append(gone, name)
			}
		case dir.dir.order[i].node != img.node || dir.dir.order[i].seq != img.seq:
			made = append(made, dir.dir.order[i])
		}
	}
	if len(gone)+len(made) == 0 {
		return nil, nil
	}
	slices.SortFunc(gone, strings.Compare)
	slices.SortFunc(made, func(a, b dirEntry) int { return cmp.Compare(a.seq, b.seq) })
	if err := w.dir(dir); err != nil {
		return nil, err
	}
	for _, name := range gone {
		if err := w.record(recNoEntry); err != nil {
			return nil, err
		}
		w.string(name)
	}
	for _, e := range made {
		if err := w.entry(e.name, e.node, e.seq); err != nil {
			return nil, err
		}
	}
	return made, nil
}

// sameMeta reports whether what recInode says of n itself is what it was.
func (was *image) sameMeta(n *inode) bool {
	next := uint64(0)
	if n.dir != nil {
		next = n.dir.next
	}
	return was.mode == n.mode && was.mtim == n.mtim && was.atim == n.atim && was.ctim == n.ctim && was.size == n.size &&
		(was.nlink == 0) == (n.nlink == 0) && was.next == next
}

// chunkDiff is how a list of chunks differs from an earlier one.
type chunkDiff struct {
	cut     int64 // after the last chunk that is the same; noCut when all are
	removed bool  // the earlier one has chunks from there on
	changed bool
}

const noCut = -1

func (d chunkDiff) none() bool { return !d.changed && !d.removed }

func diffChunks(was, now []chunkRef) (d chunkDiff) {
	if len(was) == len(now) && (len(was) == 0 || &was[0] == &now[0]) {
		return chunkDiff{cut: noCut}
	}
	i := 0
	for _, r := range now {
		for i < len(was) && was[i].index < r.index {
			i, d.changed = i+1, true
		}
		if i < len(was) && was[i] == r {
			i, d.cut = i+1, r.index+1
			continue
		}
		d.changed = true
		if i < len(was) && was[i].index == r.index {
			i++
		}
	}
	d.removed = i < len(was)
	return d
}

// each calls set for each chunk that is new, and remove for each that is gone though it is before the cut.
func (d chunkDiff) each(was, now []chunkRef, set func(chunkRef) error, remove func(int64) error) error {
	i := 0
	for _, r := range now {
		for ; i < len(was) && was[i].index < r.index; i++ {
			if was[i].index < d.cut {
				if err := remove(was[i].index); err != nil {
					return err
				}
			}
		}
		same := false
		if i < len(was) && was[i].index == r.index {
			same = was[i] == r
			i++
		}
		if !same {
			if err := set(r); err != nil {
				return err
			}
		}
	}
	return nil
}
