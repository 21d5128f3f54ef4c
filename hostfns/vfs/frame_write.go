package vfs

import (
	"cmp"
	"encoding/binary"
	"io/fs"
	"maps"
	"slices"

	"github.com/mayfly-run/mayfly/hostfns/cas"
)

// A part of a frame is a version byte and records, one after another; its references are the chunks that they name.
// Numbers are varints, signed ones in zigzag. A part can be read without the others: records that continue something
// follow one in the same part that says what.
const (
	partVersion = 1

	// recInode: number, kind and flags, permission bits, mtim, atim-mtim, ctim-mtim; then for a file the size and the cut,
	// 0 for none: chunks that it had before from index cut-1 on are gone; for a directory the next sequence number; for a
	// symbolic link the target. Chunks of the file follow.
	recInode = 'i'
	// recFile: number. Further chunks of the file follow; it is the first record of a part.
	recFile = 'f'
	// recChunk: index less the one before, bytes charged, and the reference from 1 on, or 0 for zeros.
	recChunk = 'c'
	// recNoChunk: index less the one before. The file had the chunk and has it no longer.
	recNoChunk = 'x'
	// recDir: number. Entries of the directory follow.
	recDir = 'd'
	// recEntry: name, inode, sequence number less the one before.
	recEntry = 'e'
	// recNoEntry: name. The directory had the entry and has it no longer.
	recNoEntry = 'n'
	// recGone: number. The inode is gone.
	recGone = 'g'
)

// Kinds in recInode.
const (
	kindFile = iota
	kindDir
	kindSymlink
	kindMask   = 3
	kindOrphan = 4 // flag: it has no name
)

const (
	// maxRecord is more than a record takes.
	maxRecord = MaxPath + 128
	// minPart is the length after which a part ends at one of 16 inodes, by their numbers: so a later keyframe shares
	// the parts in which nothing has changed, though what comes before them is longer or shorter.
	minPart = 32 << 10
)

// frameWriter writes the parts of a frame.
type frameWriter struct {
	fs     *FS
	batch  *cas.Batch
	chunks []*chunk // that were added to the batch
	named  int64    // bytes of the chunks that the frame names
	parts  []cas.Hash
	size   int64 // of the parts

	buf   []byte
	refs  []cas.Hash
	refOf map[cas.Hash]int
	about []byte              // record that is repeated at the beginning of the next part
	last  int64               // index or sequence number of the record before
	seen  map[*inode]struct{} // files with several names that were written
}

// record begins a record, in a new part if the present one is full.
func (w *frameWriter) record(kind byte) error {
	if len(w.buf)+maxRecord > cas.MaxData || len(w.refs) == cas.MaxRefs {
		about := w.about
		if err := w.flush(); err != nil {
			return err
		}
		if kind == recChunk || kind == recNoChunk || kind == recEntry || kind == recNoEntry {
			w.buf = append(append(w.buf, partVersion), about...)
			w.about, w.last = about, 0
		}
	}
	if len(w.buf) == 0 {
		w.buf = append(w.buf, partVersion)
	}
	w.buf = append(w.buf, kind)
	return nil
}

func (w *frameWriter) uint(v uint64) { w.buf = binary.AppendUvarint(w.buf, v) }
func (w *frameWriter) int(v int64)   { w.buf = binary.AppendVarint(w.buf, v) }

func (w *frameWriter) string(s string) {
	w.uint(uint64(len(s)))
	w.buf = append(w.buf, s...)
}

// next writes how far v is from the number before.
func (w *frameWriter) next(v int64) {
	w.int(v - w.last)
	w.last = v
}

// flush ends a part.
func (w *frameWriter) flush() error {
	if len(w.buf) == 0 {
		return nil
	}
	h, err := w.batch.Add(cas.Object{Refs: w.refs, Data: w.buf})
	if err != nil {
		return err
	}
	w.parts = append(w.parts, h)
	w.size += int64(len(w.buf) + len(w.refs)*len(h))
	w.buf, w.refs, w.refOf, w.about = nil, nil, nil, nil
	return nil
}

// keyframe writes everything.
func (w *frameWriter) keyframe() error {
	if err := w.whole(&w.fs.root, func(*inode) bool { return true }); err != nil {
		return err
	}
	for _, n := range byNumber(maps.Keys(w.fs.orphans)) {
		if err := w.whole(n, func(*inode) bool { return true }); err != nil {
			return err
		}
	}
	return nil
}

// whole writes an inode and what is below it, as far as below says.
func (w *frameWriter) whole(n *inode, below func(*inode) bool) error {
	if n.nlink > 1 && !n.isDir() {
		if _, ok := w.seen[n]; ok {
			return nil
		}
		if w.seen == nil {
			w.seen = map[*inode]struct{}{}
		}
		w.seen[n] = struct{}{}
	}
	if len(w.buf) > minPart && n.ino*0x9e3779b97f4a7c15>>60 == 0 {
		if err := w.flush(); err != nil {
			return err
		}
	}
	if err := w.inode(n, nil); err != nil {
		return err
	}
	if n.dir.len() == 0 {
		return nil
	}
	if err := w.dir(n); err != nil {
		return err
	}
	for e := range n.dir.all {
		if err := w.entry(e.name, e.node, e.seq); err != nil {
			return err
		}
	}
	for e := range n.dir.all {
		if below(e.node) {
			if err := w.whole(e.node, below); err != nil {
				return err
			}
		}
	}
	return nil
}

// inode writes an inode: all of it, or when it was in the base how it differs from its image.
func (w *frameWriter) inode(n *inode, was *image) error {
	d := chunkDiff{}
	if was != nil {
		d = diffChunks(was.chunks, n.chunks)
		if was.sameMeta(n) && d.none() {
			return nil
		}
	}
	if err := w.record(recInode); err != nil {
		return err
	}
	kind := uint64(kindFile)
	switch {
	case n.isDir():
		kind = kindDir
	case n.isSymlink():
		kind = kindSymlink
	}
	if n.nlink == 0 {
		kind |= kindOrphan
	}
	w.uint(n.ino)
	w.uint(kind)
	w.uint(uint64(n.mode & fs.ModePerm))
	w.int(n.mtim)
	w.int(n.atim - n.mtim)
	w.int(n.ctim - n.mtim)
	switch {
	case n.isDir():
		next := uint64(0)
		if n.dir != nil {
			next = n.dir.next
		}
		w.uint(next)
	case n.isSymlink():
		w.string(n.target)
	default:
		w.uint(uint64(n.size))
		w.uint(uint64(d.cut + 1))
		return w.chunkRecords(n, was, d)
	}
	return nil
}

func (w *frameWriter) chunkRecords(n *inode, was *image, d chunkDiff) error {
	w.last = 0
	w.about = binary.AppendUvarint([]byte{recFile}, n.ino)
	if was == nil {
		for _, r := range n.chunks {
			if err := w.chunk(r); err != nil {
				return err
			}
		}
		return nil
	}
	return d.each(was.chunks, n.chunks, w.chunk, func(index int64) error {
		if err := w.record(recNoChunk); err != nil {
			return err
		}
		w.next(index)
		return nil
	})
}

func (w *frameWriter) chunk(r chunkRef) error {
	if err := w.hash(r.c); err != nil {
		return err
	}
	if err := w.record(recChunk); err != nil {
		return err
	}
	w.next(r.index)
	w.uint(uint64(r.c.size))
	w.named += int64(r.c.size)
	if r.c.hash.IsZero() {
		w.uint(0)
		return nil
	}
	i, ok := w.refOf[r.c.hash]
	if !ok {
		if w.refOf == nil {
			w.refOf = map[cas.Hash]int{}
		}
		i = len(w.refs)
		w.refOf[r.c.hash] = i
		w.refs = append(w.refs, r.c.hash)
	}
	w.uint(uint64(i) + 1)
	return nil
}

// hash makes sure that a chunk's hash is known and that its object is in the store or the batch.
func (w *frameWriter) hash(c *chunk) error {
	if c.stored {
		return nil
	}
	data := trimmed(c.data)
	if len(data) == 0 {
		c.hashed, c.stored, c.hash = true, true, cas.Hash{}
		d := w.fs.disk
		d.dirty -= int64(len(c.data))
		d.clean += int64(len(c.data))
		return nil
	}
	h, err := w.batch.Add(cas.Object{Data: data})
	if err != nil {
		return err
	}
	c.hash, c.hashed = h, true
	w.chunks = append(w.chunks, c)
	return nil
}

func (w *frameWriter) dir(n *inode) error {
	if err := w.record(recDir); err != nil {
		return err
	}
	w.uint(n.ino)
	w.last = 0
	w.about = binary.AppendUvarint([]byte{recDir}, n.ino)
	return nil
}

func (w *frameWriter) entry(name string, n *inode, seq uint64) error {
	if err := w.record(recEntry); err != nil {
		return err
	}
	w.string(name)
	w.uint(n.ino)
	w.next(int64(seq))
	return nil
}

func byNumber(nodes func(func(*inode) bool)) []*inode {
	return slices.SortedFunc(nodes, func(a, b *inode) int { return cmp.Compare(a.ino, b.ino) })
}
