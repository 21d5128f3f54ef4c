package vfs

import (
	"bytes"
	"fmt"

	"github.com/tetratelabs/wazero/experimental/sys"
)

// Mask has a function overwrite what must not stay in the files that were changed since the last [FS.Mark]. It is called
// with pieces of their contents, which it may change in place, and tells whether it did. Pieces that follow one another
// overlap by so many bytes. The paths of the files that it changed are returned.
//
// When too many files were changed to know them all, it goes through the whole file system. Holes are skipped.
func (m *FS) Mask(mask func(piece []byte) bool, overlap int) (paths []string, err error) {
	changes, all := m.Changes(), m.ChangesTruncated()
	m.mu.Lock()
	defer m.mu.Unlock()
	seen := map[*inode]bool{}
	one := func(path string, n *inode) {
		if n == nil || n.isDir() || seen[n] || err != nil {
			return
		}
		seen[n] = true
		changed, errno := m.mask(n, mask, overlap)
		if errno != 0 {
			err = fmt.Errorf("%s: %w", path, errno)
		} else if changed {
			paths = append(paths, path)
		}
	}
	if all {
		m.everyFile(&m.root, "", one)
		return paths, err
	}
	for _, c := range changes {
		if c.Op != Deleted && !c.Dir {
			one(c.Path, m.plain(c.Path))
		}
	}
	return paths, err
}

func (m *FS) everyFile(dir *inode, path string, f func(path string, n *inode)) {
	for i := range dir.dir.order {
		c := &dir.dir.order[i]
		switch {
		case c.node == nil:
		case c.node.dir != nil:
			m.everyFile(c.node, path+c.name+"/", f)
		default:
			f(path+c.name, c.node)
		}
	}
}

// mask goes through the chunks of a file: runs of them that follow one another are one text.
func (m *FS) mask(n *inode, mask func([]byte) bool, overlap int) (changed bool, errno sys.Errno) {
	var text []byte // of which the first part was seen
	next := int64(-1)
	for _, index := range m.chunkIndexes(n) {
		if index != next {
			text = text[:0]
		}
		next = index + 1
		text = text[max(0, len(text)-overlap):]
		kept := len(text)
		from := index * chunkSize
		size := int(min(chunkSize, n.size-from))
		if size <= 0 {
			break
		}
		text = append(text, make([]byte, size)...)
		if read, errno := m.readAt(n, text[kept:], from); errno != 0 || read < size {
			return changed, orEIO(errno)
		}
		before := bytes.Clone(text)
		if !mask(text) {
			continue
		}
		changed = true
		first := from - int64(kept)
		for i := 0; i < len(text); i++ {
			if text[i] == before[i] {
				continue
			}
			j := i
			for j < len(text) && text[j] != before[j] {
				j++
			}
			if written, errno := m.writeAt(n, text[i:j], first+int64(i)); errno != 0 || written < j-i {
				return changed, orEIO(errno)
			}
			i = j
		}
	}
	return changed, 0
}

func orEIO(errno sys.Errno) sys.Errno {
	if errno == 0 {
		return sys.EIO
	}
	return errno
}

// chunkIndexes are those that have data. The list is a copy: masking writes chunks anew.
func (m *FS) chunkIndexes(n *inode) []int64 {
	list := make([]int64, len(n.chunks))
	for i, c := range n.chunks {
		list[i] = c.index
	}
	return list
}
