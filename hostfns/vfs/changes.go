package vfs

import (
	"slices"
	"strings"
)

// Op is what happened to a path between a mark and now.
type Op string

// The values of [Change.Op].
const (
	Created  Op = "created"
	Modified Op = "modified"
	Deleted  Op = "deleted"
)

// Change is the net effect on one path since the last [FS.Mark].
type Change struct {
	// Path is relative to the root of the file system, without a leading slash.
	Path string
	// Op is created, modified (content, mode, or replaced) or deleted.
	Op Op
	// Size is the logical size in bytes now; 0 when deleted or a directory.
	Size int64
	// Dir is set for directories, which are only ever created or deleted.
	Dir bool
}

// Bounds of the change log. An execution that touches more has a truncated
// log; the caller then compares trees if it needs all of it.
const (
	MaxChanges   = 10_000
	maxLogMemory = 4 << 20 // bytes of path names
)

// changeLog holds the state that each touched path had at the mark. What it has
// now is looked up when the changes are asked for, so a file that is written a
// million times, or made and deleted, costs one entry or none.
type changeLog struct {
	mark      uint64
	layer     uint64 // epoch of the layer in which it began
	paths     map[string]before
	memory    int
	truncated bool
}

// before is what a path was at the mark.
type before struct {
	existed, dir bool
	layer        uint64 // epoch of the layer in which this was noted
}

// event says what is about to happen to a name.
type event int

const (
	created event = iota // the name does not exist yet
	changed              // the name exists and stays
	removed              // the name exists and goes away
)

// Mark starts a new change log: [FS.Changes] is relative to the last Mark.
// Nothing is logged before the first.
func (m *FS) Mark() {
	m.mu.Lock()
	defer m.mu.Unlock()
	mark := uint64(1)
	if m.log != nil {
		mark = m.log.mark + 1
	}
	m.log = &changeLog{mark: mark, layer: m.layerEpoch()}
}

// layerEpoch is 0 while nothing can be rolled back.
func (m *FS) layerEpoch() uint64 {
	if m.top == nil {
		return 0
	}
	return m.top.epoch
}

// restore forgets what was noted since a layer began.
func (l *changeLog) restore(to *layer) {
	for path, was := range l.paths {
		if was.layer >= to.epoch {
			delete(l.paths, path)
			l.memory -= len(path)
		}
	}
	l.truncated = to.truncated && l.layer < to.epoch
}

// Changes returns the net changes since the last Mark, sorted by path, or nil
// when Mark was never called. Its cost depends on what was touched, not on the
// size of the file system. At most [MaxChanges] are kept; see
// [FS.ChangesTruncated].
func (m *FS) Changes() []Change {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.log == nil {
		return nil
	}
	var out []Change
	for path, was := range m.log.paths {
		c := Change{Path: path, Op: Modified}
		n := m.plain(path)
		exists := n != nil
		switch {
		case !exists && !was.existed:
			continue
		case !exists:
			c.Op, c.Dir = Deleted, was.dir
		case !was.existed:
			c.Op = Created
		}
		if exists {
			if c.Dir = n.isDir(); c.Dir && was.existed && was.dir {
				continue
			}
			if !c.Dir {
				c.Size = n.stat(0).Size
			}
		}
		out = append(out, c)
	}
	slices.SortFunc(out, func(a, b Change) int { return strings.Compare(a.Path, b.Path) })
	return out
}

// plain finds a logged path without following any symbolic link: where a
// directory was replaced by a link, what was below it is gone.
func (m *FS) plain(path string) *inode {
	n := &m.root
	for name := range strings.SplitSeq(path, "/") {
		if n = n.dir.lookup(name); n == nil {
			return nil
		}
	}
	return n
}

// ChangesTruncated reports whether changes since the last Mark were dropped
// because there were too many.
func (m *FS) ChangesTruncated() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.log != nil && m.log.truncated
}

// touch logs a change of content or mode under every name of n, once per mark.
func (m *FS) touch(n *inode) {
	if m.log == nil || n.mark == m.log.mark || n.parent == nil {
		return
	}
	n.mark = m.log.mark
	m.touchName(n.parent, n.name, n, changed)
	for _, l := range n.more {
		m.touchName(l.dir, l.name, n, changed)
	}
}

// touchName logs an event on dir/name, which leads or will lead to n. Call it
// before the event. Moving a directory logs everything below it.
func (m *FS) touchName(dir *inode, name string, n *inode, e event) {
	if m.log == nil {
		return
	}
	m.touchPath(joinInode(dir, name), n, e)
}

func (m *FS) touchPath(path string, n *inode, e event) {
	m.log.touch(path, n.isDir(), e, m.layerEpoch())
	if n.dir == nil || e == changed {
		return
	}
	for i := range n.dir.order {
		if c := &n.dir.order[i]; c.node != nil && !m.log.truncated {
			m.touchPath(path+"/"+c.name, c.node, e)
		}
	}
}

func (l *changeLog) touch(path string, dir bool, e event, layer uint64) {
	if was, ok := l.paths[path]; ok {
		if e == removed && !was.existed && was.layer == layer {
			delete(l.paths, path)
			l.memory -= len(path)
		}
		return
	}
	if len(l.paths) >= MaxChanges || l.memory+len(path) > maxLogMemory {
		l.truncated = true
		return
	}
	if l.paths == nil {
		l.paths = map[string]before{}
	}
	l.paths[path] = before{existed: e != created, dir: dir && e != created, layer: layer}
	l.memory += len(path)
}

// joinInode is the path of dir/name.
func joinInode(dir *inode, name string) string {
	size := len(name)
	for d := dir; d.parent != nil; d = d.parent {
		size += len(d.name) + 1
	}
	buf := make([]byte, size)
	at := size - len(name)
	copy(buf[at:], name)
	for d := dir; d.parent != nil; d = d.parent {
		at--
		buf[at] = '/'
		at -= len(d.name)
		copy(buf[at:], d.name)
	}
	return string(buf)
}
