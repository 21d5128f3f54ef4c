package vfs

// A layer has what is needed to go back from the present state, or from where the next layer begins, to the state in
// which it began: an image of each inode and name at its first change since. What is made and goes away again within a
// layer leaves nothing in it, so its size is bounded by what existed at its beginning and what exists at its end.
//
// Layers are stacked: the first begins at the last commit, another one at the checkpoint, a third at a commit that is
// not confirmed yet. Only the last one is written. One mechanism so serves two purposes: going back, and knowing what a
// delta has to contain.
type layer struct {
	epoch      uint64
	generation uint64 // chunks made since have this one or a later one
	nextIno    uint64 // inodes made since have this number or a higher one
	bytes      int64
	files      int
	symlinks   int64
	truncated  bool // of the change log

	nodes map[*inode]*image
	names map[nameKey]nameImage
}

// image is an inode as it was. Its list of chunks is shared, opens does not count.
type image struct {
	inode
	next uint64 // of the directory's table
}

type nameKey struct {
	dir  *inode
	name string
}

// nameImage is a directory entry as it was; node is nil when there was none.
type nameImage struct {
	node *inode
	seq  uint64
}

// born reports whether an inode was made since the layer began.
func (l *layer) born(n *inode) bool { return n.ino >= l.nextIno }

func (l *layer) empty() bool { return len(l.nodes) == 0 && len(l.names) == 0 }

// push begins a layer. Data of earlier ones is not written in place from here on.
func (m *FS) push() {
	m.generation = generations.Add(1)
	m.epochs++
	m.top = &layer{
		epoch: m.epochs, generation: m.generation, nextIno: m.nextIno,
		bytes: m.bytes, files: m.files, symlinks: m.symlinks.Load(), truncated: m.log != nil && m.log.truncated,
	}
	m.layers = append(m.layers, m.top)
}

// edit must be called before anything of an inode is changed.
func (m *FS) edit(n *inode) {
	if n.flags&summed != 0 {
		m.unsum(n)
	}
	l := m.top
	if l == nil || n.epoch == l.epoch || l.born(n) {
		return
	}
	n.epoch = l.epoch
	if _, ok := l.nodes[n]; ok { // by a layer that was merged
		return
	}
	if l.nodes == nil {
		l.nodes = map[*inode]*image{}
	}
	img := &image{inode: *n}
	if n.dir != nil {
		img.next = n.dir.next
	}
	l.nodes[n] = img
	if len(n.chunks) > 0 {
		n.flags |= shared
	}
}

// editName must be called before the entry dir/name is made, replaced or removed.
func (m *FS) editName(dir *inode, name string) {
	m.edit(dir)
	m.byIno = nil
	if dir.dir != nil && dir.dir.sums != nil {
		dir.dir.noteName(name)
	}
	l := m.top
	if l == nil || l.born(dir) {
		return
	}
	key := nameKey{dir, name}
	if _, ok := l.names[key]; ok {
		return
	}
	if l.names == nil {
		l.names = map[nameKey]nameImage{}
	}
	img := nameImage{}
	if i := dir.dir.position(name); i >= 0 {
		img = nameImage{dir.dir.order[i].node, dir.dir.order[i].seq}
	}
	l.names[key] = img
}

// nameGone must be called after an entry was removed: if there was none when the layer began, nothing has happened.
func (m *FS) nameGone(dir *inode, name string) {
	if l := m.top; l != nil {
		if img, ok := l.names[nameKey{dir, name}]; ok && img.node == nil {
			delete(l.names, nameKey{dir, name})
		}
	}
}

// Checkpoint makes the present state the one that [FS.Rollback] goes back to. It costs O(1); a change costs O(1) more
// once for each inode and name. Before the first Checkpoint nothing is noted.
func (m *FS) Checkpoint() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.top == nil || !m.top.empty() {
		m.push()
	} else { // nothing happened but what is gone again
		m.top.nextIno, m.top.truncated = m.nextIno, m.log != nil && m.log.truncated
	}
	m.checkpoint, m.hasCheckpoint = len(m.layers)-1, true
	m.fold()
	m.audited(Operation{Op: "checkpoint"})
}

// fold merges layers that begin at states nobody goes back to.
func (m *FS) fold() {
	for i := len(m.layers) - 1; i > 0; i-- {
		if !m.begins(i) {
			m.layers[i-1].merge(m.layers[i], i >= len(m.layers)-2 && m.top.empty())
			m.remove(i)
		}
	}
	for len(m.layers) > 1 && !m.begins(0) {
		m.remove(0)
	}
	m.top = m.layers[len(m.layers)-1]
}

// begins reports whether a layer begins at the base, the checkpoint, or a commit that is not confirmed.
func (m *FS) begins(i int) bool {
	if m.hasCheckpoint && i == m.checkpoint {
		return true
	}
	d := m.disk
	return d != nil && (d.base != nil && i == 0 || d.pending != nil && i == d.pending.layer)
}

// remove takes a layer out of the stack.
func (m *FS) remove(i int) {
	m.layers = append(m.layers[:i], m.layers[i+1:]...)
	if m.checkpoint >= i && m.checkpoint > 0 {
		m.checkpoint--
	}
	if d := m.disk; d != nil && d.pending != nil && d.pending.layer >= i && d.pending.layer > 0 {
		d.pending.layer--
	}
}

// merge adds what a later layer has, at a cost of O(size of the later one). last tells that the later one ends at the
// present state.
func (l *layer) merge(later *layer, last bool) {
	for n, img := range later.nodes {
		if _, ok := l.nodes[n]; ok || l.born(n) {
			continue
		}
		if l.nodes == nil {
			l.nodes = map[*inode]*image{}
		}
		l.nodes[n] = img
	}
	for key, img := range later.names {
		if l.born(key.dir) {
			continue
		}
		was, ok := l.names[key]
		if !ok {
			was = img
		}
		if last && was.node == nil && key.dir.dir.lookup(key.name) == nil {
			delete(l.names, key)
			continue
		}
		if l.names == nil {
			l.names = map[nameKey]nameImage{}
		}
		l.names[key] = was
	}
}
