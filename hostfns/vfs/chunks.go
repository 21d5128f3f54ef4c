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

// chunk is written in place only while its generation is that of the FS. Later it belongs to an earlier state, to a
// clone or to the store as well, and never changes.
type chunk struct {
	generation uint64
	data       []byte // shorter than size after loading; the rest of the span is zero. nil while only the store has it
	size       int32  // bytes charged to the quota
	kept              // what is known of it in the store
}

type chunkRef struct {
	index int64 // file offset / chunkSize
	c     *chunk
}

// least is the fewest bytes that a chunk is charged. Otherwise a file of many tiny chunks would need far more memory
// than its quota.
func least(index int64) int {
	if index == 0 {
		return firstBlock
	}
	return nextBlock
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

// readAt fills p from offset off and returns the bytes before the end of file. What cannot be loaded is EIO, or a
// short count after bytes that could.
func (m *FS) readAt(n *inode, p []byte, off int64) (int, sys.Errno) {
	if off >= n.size {
		return 0, 0
	}
	if int64(len(p)) > n.size-off {
		p = p[:n.size-off]
	}
	total := 0
	pos, _ := n.find(off / chunkSize)
	for len(p) > 0 {
		index, o := off/chunkSize, int(off%chunkSize)
		span := min(chunkSize-o, len(p))
		stored := 0
		if pos < len(n.chunks) && n.chunks[pos].index == index {
			data, errno := m.load(n, n.chunks[pos])
			if errno != 0 {
				if total > 0 {
					errno = 0
				}
				return total, errno
			}
			if o < len(data) {
				stored = copy(p[:span], data[o:])
			}
			pos++
		}
		clear(p[stored:span])
		p, off, total = p[span:], off+int64(span), total+span
	}
	return total, 0
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
	m.edit(n)
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

// writable returns chunk index, owned by this FS, with bytes [0,end) stored
// when the quota allows; at least [0,start+1) else ENOSPC.
func (m *FS) writable(n *inode, index int64, start, end int) (*chunk, sys.Errno) {
	pos, found := n.find(index)
	var c *chunk
	stored := 0
	if found {
		c = n.chunks[pos].c
		stored = int(c.size)
		if end <= len(c.data) && c.generation == m.generation {
			return c, 0
		}
	}
	length := stored
	if end > stored {
		length = min(chunkSize, max(least(index), 1<<bits.Len(uint(end-1))))
		if room := m.maxBytes - m.bytes; int64(length-stored) > room {
			// Near the quota blocks are not rounded up, so that all of it can
			// be used; what does not fit is a short write.
			length = stored + int(min(int64(end-stored), max(room, 0)))
			if length <= start || length < least(index) {
				return nil, ENOSPC
			}
		}
	}
	if errno := m.reserve(length); errno != 0 {
		return nil, errno
	}
	fresh := &chunk{generation: m.generation, size: int32(length)}
	if found {
		var old []byte
		if start > 0 || end < stored && index*chunkSize+int64(end) < n.size { // else all of it is about to be overwritten
			var errno sys.Errno
			if old, errno = m.load(n, n.chunks[pos]); errno != 0 {
				return nil, errno
			}
		}
		fresh.data = make([]byte, length)
		copy(fresh.data, old)
		m.dropChunk(c)
	} else {
		fresh.data = make([]byte, length)
	}
	m.setChunk(n, pos, found, chunkRef{index, fresh})
	m.bytes += int64(length - stored)
	return fresh, 0
}

// setChunk puts a chunk where find said it belongs.
func (m *FS) setChunk(n *inode, pos int, found bool, r chunkRef) {
	if n.flags&shared != 0 {
		n.flags &^= shared
		n.chunks = append(make([]chunkRef, 0, len(n.chunks)+1), n.chunks...)
	}
	if found {
		n.chunks[pos] = r
	} else {
		n.chunks = slices.Insert(n.chunks, pos, r)
	}
	if m.disk != nil {
		m.disk.dirty += int64(len(r.c.data))
	}
}

// truncate sets the logical size. Growing makes a hole.
func (m *FS) truncate(n *inode, size int64) sys.Errno {
	switch {
	case size < 0:
		return sys.EINVAL
	case size > m.maxFileSize:
		return EFBIG
	}
	m.edit(n)
	if size < n.size {
		if errno := m.shrink(n, size); errno != 0 {
			return errno
		}
	}
	n.size = size
	m.touch(n)
	n.modified(m.clock())
	return 0
}

// shrink drops the data from size on, so that growing again reads zeros.
func (m *FS) shrink(n *inode, size int64) sys.Errno {
	o, index := int(size%chunkSize), size/chunkSize
	if pos, found := n.find(index); o > 0 && found && int(n.chunks[pos].c.size) > o {
		c := n.chunks[pos].c
		data, errno := m.load(n, n.chunks[pos])
		if errno != 0 {
			return errno
		}
		// A copy of what is left both unshares the chunk and returns memory.
		length := min(max(o, least(index)), int(c.size))
		left := &chunk{generation: m.generation, data: make([]byte, length), size: int32(length)}
		copy(left.data, data[:min(o, len(data))])
		m.bytes -= int64(c.size) - int64(length)
		m.dropChunk(c)
		m.setChunk(n, pos, true, chunkRef{index, left})
	}
	if o > 0 {
		index++
	}
	m.dropChunks(n, index)
	return 0
}

// dropChunks removes the chunks from index on.
func (m *FS) dropChunks(n *inode, index int64) {
	pos, _ := n.find(index)
	if pos == len(n.chunks) {
		return
	}
	gone := n.chunks[pos:]
	for _, r := range gone {
		m.bytes -= int64(r.c.size)
		m.dropChunk(r.c)
	}
	switch {
	case pos == 0:
		n.chunks = nil
		n.flags &^= shared
	case n.flags&shared != 0:
		n.chunks = n.chunks[:pos:pos]
	default:
		clear(gone)
		n.chunks = n.chunks[:pos]
	}
}
