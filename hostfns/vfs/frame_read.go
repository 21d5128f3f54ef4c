package vfs

import (
	"encoding/binary"
	"fmt"
	"io/fs"
	"strings"

	"github.com/mayfly-run/mayfly/hostfns/cas"
)

// frameReader makes a file system of frames. Nothing of them is trusted. While it reads, an inode's epoch is the number
// of the frame that described it last; 0 means that none did.
type frameReader struct {
	fs    *FS
	nodes map[uint64]*inode
	read  map[cas.Hash]struct{} // parts
	limit limits

	frame  uint64 // number of the present one, from 1
	data   []byte // what is left of the part
	refs   []cas.Hash
	node   *inode // whose chunks or entries follow
	isDir  bool
	last   int64
	edits  []chunkRef // of node, sorted; c is nil where a chunk goes away
	failed error
}

// limits is what a state may still cost. They are above what any real state takes, and keep a crafted one, in which a
// few objects are named a million times, from taking hours or gigabytes.
type limits struct {
	work                 int64 // bytes of metadata read or moved
	again                int64 // of them in parts that were read before
	nodes, names, chunks int64 // at a time
}

func limitsOf(m *FS) limits {
	files := int64(min(max(m.maxFiles, DefaultMaxFiles), 1<<28))
	bytes := min(max(m.maxBytes, DefaultMaxBytes), 1<<44)
	chunks := bytes/nextBlock + files
	return limits{
		work: 8*(files*(MaxName+256)+bytes/2) + cas.MaxChain*16*chunks, again: 64 << 20,
		nodes: 2*files + 1024, names: 2*files + 1024, chunks: 2*chunks + 1024,
	}
}

// spend takes from a limit.
func (r *frameReader) spend(limit *int64, cost int64, what string) {
	if *limit -= cost; *limit < 0 && r.failed == nil {
		r.failed, r.data = fmt.Errorf("%w: more %s than any state that fits into the file system", ENOSPC, what), nil
	}
}

func damagedf(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{cas.ErrDamaged}, args...)...)
}

// fail remembers the first error and ends reading.
func (r *frameReader) fail(format string, args ...any) {
	if r.failed == nil {
		r.failed = damagedf(format, args...)
	}
	r.data = nil
}

func (r *frameReader) uint() uint64 {
	v, n := binary.Uvarint(r.data)
	if n <= 0 {
		r.fail("a number is cut off")
		return 0
	}
	r.data = r.data[n:]
	return v
}

func (r *frameReader) int() int64 {
	v, n := binary.Varint(r.data)
	if n <= 0 {
		r.fail("a number is cut off")
		return 0
	}
	r.data = r.data[n:]
	return v
}

// next reads a number that is told as its distance from the one before.
func (r *frameReader) next() int64 {
	r.last += r.int()
	return r.last
}

func (r *frameReader) string(limit int) string {
	n := r.uint()
	if n == 0 || n > uint64(limit) || n > uint64(len(r.data)) {
		r.fail("a string of %d bytes", n)
		return "?"
	}
	s := string(r.data[:n])
	r.data = r.data[n:]
	if strings.IndexByte(s, 0) >= 0 {
		r.fail("a string has a zero byte")
	}
	return s
}

func (r *frameReader) name() string {
	s := r.string(MaxName)
	if s == "." || s == ".." || strings.IndexByte(s, '/') >= 0 {
		r.fail("name %.80q", s)
	}
	return s
}

// number reads an inode number.
func (r *frameReader) number() uint64 {
	v := r.uint()
	if v == 0 || v >= maxIno {
		r.fail("inode number %d", v)
	}
	return v
}

// maxIno leaves room for all that will ever be made.
const maxIno = 1 << 62

// get returns the inode of a number, which may be described later.
func (r *frameReader) get(ino uint64) *inode {
	n := r.nodes[ino]
	if n == nil {
		r.spend(&r.limit.nodes, 1, "files")
		if n = (&inode{ino: ino}); ino == r.fs.root.ino {
			n = &r.fs.root
		}
		r.nodes[ino] = n
	}
	return n
}

// part applies a part.
func (r *frameReader) part(h cas.Hash, o cas.Object) error {
	cost := int64(len(o.Data)+len(o.Refs)*len(h)) + 4096
	r.spend(&r.limit.work, cost, "metadata")
	if _, ok := r.read[h]; ok {
		r.spend(&r.limit.again, cost, "metadata")
	}
	r.read[h] = struct{}{}
	if r.failed != nil {
		return r.failed
	}
	if len(o.Data) == 0 || o.Data[0] != partVersion {
		return damagedf("a part of a version that this Mayfly does not know")
	}
	r.data, r.refs, r.node = o.Data[1:], o.Refs, nil
	for first := true; len(r.data) > 0 && r.failed == nil; first = false {
		kind := r.data[0]
		r.data = r.data[1:]
		r.record(kind, first)
	}
	r.applyChunks()
	return r.failed
}

func (r *frameReader) record(kind byte, first bool) {
	switch kind {
	case recInode, recFile, recDir, recGone:
		r.applyChunks()
		n := r.get(r.number())
		r.node, r.last, r.isDir = n, 0, kind == recDir
		switch {
		case kind == recInode:
			r.inode(n)
		case kind == recGone:
			r.gone(n)
		case kind == recFile && !first:
			r.fail("a file goes on in the middle of a part")
		}
	case recChunk, recNoChunk:
		if r.node == nil || r.isDir {
			r.fail("a chunk of no file")
			return
		}
		r.chunk(kind)
	case recEntry, recNoEntry:
		if r.node == nil || !r.isDir {
			r.fail("an entry of no directory")
			return
		}
		r.entry(kind)
	default:
		r.fail("record %q", kind)
	}
}

// inode reads what describes an inode.
func (r *frameReader) inode(n *inode) {
	kind, perm := r.uint(), r.uint()
	mode := fs.FileMode(perm & 0o777)
	switch kind & kindMask {
	case kindDir:
		mode |= fs.ModeDir
	case kindSymlink:
		mode |= fs.ModeSymlink
	}
	if kind > kindSymlink|kindOrphan || kind&kindMask == kindMask || perm > 0o777 {
		r.fail("inode %d of kind %d, mode %o", n.ino, kind, perm)
	}
	if n.epoch == r.frame {
		r.fail("inode %d is described twice", n.ino)
	}
	if n.epoch != 0 && n.mode.Type() != mode.Type() {
		r.fail("inode %d was of another type", n.ino)
	}
	n.mode, n.epoch = mode, r.frame
	n.mtim = r.int()
	n.atim, n.ctim = n.mtim+r.int(), n.mtim+r.int()
	if delete(r.fs.orphans, n); kind&kindOrphan != 0 {
		r.fs.addOrphan(n)
	}
	switch kind & kindMask {
	case kindDir:
		next := r.uint()
		if next >= maxIno {
			r.fail("sequence number %d", next)
		}
		if n.dir == nil && next > 0 {
			n.dir = &dirTable{}
		}
		if n.dir != nil {
			n.dir.next = next
		}
		r.node = nil
	case kindSymlink:
		n.target = r.string(MaxPath)
		r.node = nil
	default:
		size, cut := r.uint(), r.uint()
		if size > uint64(DefaultMaxFileSize) || cut > maxChunks {
			r.fail("inode %d of %d bytes", n.ino, size)
			return
		}
		n.size = int64(size)
		if cut > 0 {
			pos, _ := n.find(int64(cut - 1))
			r.limit.chunks += int64(len(n.chunks) - pos)
			clear(n.chunks[pos:])
			n.chunks = n.chunks[:pos]
		}
	}
}

// maxChunks is more than the chunks of the longest file.
const maxChunks = uint64(DefaultMaxFileSize/chunkSize) + 2

func (r *frameReader) gone(n *inode) {
	if n == &r.fs.root || n.epoch == 0 {
		r.fail("inode %d goes away", n.ino)
		return
	}
	n.flags |= dead
	r.limit.nodes++
	r.limit.chunks += int64(len(n.chunks))
	r.limit.names += int64(n.dir.len())
	n.chunks, n.dir, r.node = nil, nil, nil
	delete(r.nodes, n.ino)
	delete(r.fs.orphans, n)
}

func (r *frameReader) entry(kind byte) {
	n, name := r.node, r.name()
	i := n.dir.position(name)
	if kind == recNoEntry {
		if i < 0 {
			r.fail("no entry %.80q to remove", name)
			return
		}
		r.limit.names++
		n.dir.remove(name)
		return
	}
	c, seq := r.get(r.number()), r.next()
	if seq < 0 {
		r.fail("sequence number %d", seq)
	}
	if r.failed != nil {
		return
	}
	if i >= 0 {
		if n.dir.order[i].seq == uint64(seq) {
			n.dir.order[i].node = c
			return
		}
		r.limit.names++
		n.dir.remove(name)
	}
	r.spend(&r.limit.names, 1, "names")
	if n.dir == nil {
		n.dir = &dirTable{}
	}
	n.dir.append(dirEntry{name, c, uint64(seq)})
}

func (r *frameReader) chunk(kind byte) {
	index := r.next()
	if index < 0 || uint64(index) > maxChunks || len(r.edits) > 0 && r.edits[len(r.edits)-1].index >= index {
		r.fail("chunk %d is out of order", index)
		return
	}
	if kind == recNoChunk {
		r.edits = append(r.edits, chunkRef{index: index})
		return
	}
	size, ref := r.uint(), r.uint()
	if size < uint64(least(index)) || size > chunkSize || ref > uint64(len(r.refs)) {
		r.fail("chunk of %d bytes, reference %d of %d", size, ref, len(r.refs))
		return
	}
	c := &chunk{size: int32(size), kept: kept{hashed: true, stored: true}}
	if ref > 0 {
		c.hash = r.refs[ref-1]
	}
	r.edits = append(r.edits, chunkRef{index, c})
}

// applyChunks puts the chunks that were read into the list of their file.
func (r *frameReader) applyChunks() {
	n, edits := r.node, r.edits
	if r.edits = r.edits[:0]; len(edits) == 0 || r.failed != nil {
		return
	}
	r.spend(&r.limit.chunks, int64(len(edits)), "data")
	for i, e := range edits {
		pos, found := n.find(e.index)
		switch {
		case found && e.c != nil:
			r.limit.chunks++
			n.chunks[pos] = e
		case !found && e.c != nil && pos == len(n.chunks):
			n.chunks = append(n.chunks, e)
		default: // in the middle: what follows is merged in one go
			r.mergeChunks(n, edits[i:])
			return
		}
	}
}

func (r *frameReader) mergeChunks(n *inode, edits []chunkRef) {
	r.spend(&r.limit.work, int64(len(n.chunks)+len(edits))*16, "metadata")
	merged := make([]chunkRef, 0, len(n.chunks)+len(edits))
	for _, c := range n.chunks {
		for len(edits) > 0 && edits[0].index < c.index {
			if edits[0].c == nil {
				r.fail("no chunk %d to remove", edits[0].index)
				return
			}
			merged, edits = append(merged, edits[0]), edits[1:]
		}
		if len(edits) > 0 && edits[0].index == c.index {
			r.limit.chunks++
			if c, edits = edits[0], edits[1:]; c.c == nil {
				r.limit.chunks++
				continue
			}
		}
		merged = append(merged, c)
	}
	for _, e := range edits {
		if e.c == nil {
			r.fail("no chunk %d to remove", e.index)
			return
		}
		merged = append(merged, e)
	}
	n.chunks = merged
}
