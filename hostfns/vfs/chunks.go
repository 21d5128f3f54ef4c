package vfs

import (
	"math/bits"
	"slices"

	"github.com/tetratelabs/wazero/experimental/sys"
)

// File data is a sorted list of chunks. A hole has no chunk, and a chunk stores
// only a prefix: what is not stored reads as zero. So a byte at 1 TiB costs one
// small chunk, and a 100-byte file costs 512 bytes.
const (
	// chunkSize is the span of one chunk: big enough that a gigabyte has a short
	// list, small enough that a write after a clone copies little.
	chunkSize = 64 << 10
	// firstBlock and nextBlock are the least bytes stored in the first and in a
	// later chunk. Later chunks start bigger so that a sparse file cannot make
	// the list long for little quota.
	firstBlock = 512
	nextBlock  = 4 << 10
)

// chunk is written in place only by the Memory of its generation; once shared
// it never changes.
type chunk struct {
	generation uint64
	data       []byte // len is charged to the quota; the rest of the span is zero
}

type chunkRef struct {
	index int64 // file offset / chunkSize
	c     *chunk
}

// find returns the position of the chunk with the index, or where it belongs.
func (n *inode) find(index int64) (int, bool) {
	// A file without holes has chunk i at position i.
	if index < int64(len(n.chunks)) && n.chunks[index].index == index {
		return int(index), true
	}
	if last := len(n.chunks) - 1; last < 0 || n.chunks[last].index < index {
		return last + 1, false
	}
	return slices.BinarySearchFunc(n.chunks, index, func(r chunkRef, i int64) int {
		switch {
		case r.index < i:
			return -1
		case r.index > i:
			return 1
		}
		return 0
	})
}

// readAt fills p from offset off and returns the bytes before the end of file.
func (n *inode) readAt(p []byte, off int64) int {
	if off >= n.size {
		return 0
	}
	if int64(len(p)) > n.size-off {
		p = p[:n.size-off]
	}
	total := len(p)
	pos, _ := n.find(off / chunkSize)
	for len(p) > 0 {
		index, o := off/chunkSize, int(off%chunkSize)
		span := min(chunkSize-o, len(p))
		stored := 0
		if pos < len(n.chunks) && n.chunks[pos].index == index {
			if data := n.chunks[pos].c.data; o < len(data) {
				stored = copy(p[:span], data[o:])
			}
			pos++
		}
		clear(p[stored:span])
		p, off = p[span:], off+int64(span)
	}
	return total
}

// writeAt stores p at off. It returns a short count without an error when the
// quota allows only part of p, as write(2) does on a full disk, and ENOSPC when
// it allows nothing.
func (m *FS) writeAt(n *inode, p []byte, off int64) (int, sys.Errno) {
	if off < 0 {
		return 0, sys.EINVAL
	}
	if len(p) == 0 {
		return 0, 0
	}
	if off >= m.maxFileSize {
		return 0, EFBIG
	}
	if int64(len(p)) > m.maxFileSize-off {
		p = p[:m.maxFileSize-off]
	}
	written := 0
	var errno sys.Errno
	for len(p) > 0 {
		o := int(off % chunkSize)
		span := min(chunkSize-o, len(p))
		var c *chunk
		if c, errno = m.writable(n, off/chunkSize, o, o+span); errno != 0 {
			break
		}
		k := copy(c.data[o:], p[:span])
		written += k
		p, off = p[k:], off+int64(k)
		n.size = max(n.size, off)
		if k < span {
			break
		}
	}
	if written == 0 {
		return 0, errno
	}
	m.touch(n)
	n.modified(m.clock())
	return written, 0
}

// writable returns chunk index, owned by this Memory, with bytes [0,end) stored
// when the quota allows; at least [0,start+1) else ENOSPC.
func (m *FS) writable(n *inode, index int64, start, end int) (*chunk, sys.Errno) {
	pos, found := n.find(index)
	var c *chunk
	stored := 0
	if found {
		c = n.chunks[pos].c
		stored = len(c.data)
		if end <= stored && c.generation == m.generation {
			return c, 0
		}
	}
	length := stored
	if end > stored {
		least := nextBlock
		if index == 0 {
			least = firstBlock
		}
		length = min(chunkSize, max(least, 1<<bits.Len(uint(end-1))))
		if room := m.maxBytes - m.bytes; int64(length-stored) > room {
			// Near the quota blocks are not rounded up, so that all of it can
			// be used; what does not fit is a short write.
			length = stored + int(min(int64(max(0, end-stored)), max(room, 0)))
			if length <= start {
				return nil, ENOSPC
			}
		}
	}
	fresh := &chunk{generation: m.generation, data: make([]byte, length)}
	if found {
		copy(fresh.data, c.data)
		n.chunks[pos].c = fresh
	} else {
		n.chunks = slices.Insert(n.chunks, pos, chunkRef{index, fresh})
	}
	m.bytes += int64(length - stored)
	return fresh, 0
}

// truncate sets the logical size. Growing makes a hole.
func (m *FS) truncate(n *inode, size int64) sys.Errno {
	switch {
	case size < 0:
		return sys.EINVAL
	case size > m.maxFileSize:
		return EFBIG
	}
	if size < n.size {
		m.shrink(n, size)
	}
	n.size = size
	m.touch(n)
	n.modified(m.clock())
	return 0
}

// shrink drops the data from size on, so that growing again reads zeros.
func (m *FS) shrink(n *inode, size int64) {
	o := int(size % chunkSize)
	if o == 0 {
		m.dropChunks(n, size/chunkSize)
		return
	}
	m.dropChunks(n, size/chunkSize+1)
	pos, found := n.find(size / chunkSize)
	if !found {
		return
	}
	c := n.chunks[pos].c
	if o >= len(c.data) {
		return
	}
	// A copy of what is left both unshares the chunk and returns memory.
	left := &chunk{generation: m.generation, data: make([]byte, o)}
	copy(left.data, c.data)
	n.chunks[pos].c = left
	m.bytes -= int64(len(c.data) - o)
}

// dropChunks removes the chunks from index on.
func (m *FS) dropChunks(n *inode, index int64) {
	pos, _ := n.find(index)
	for i := pos; i < len(n.chunks); i++ {
		m.bytes -= int64(len(n.chunks[i].c.data))
		n.chunks[i] = chunkRef{}
	}
	if n.chunks = n.chunks[:pos]; pos == 0 {
		n.chunks = nil
	}
}
