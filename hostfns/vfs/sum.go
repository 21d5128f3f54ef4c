package vfs

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"slices"

	"github.com/mayfly-run/mayfly/hostfns/cas"
)

// The canonical hash of a file system covers what a program can see of it, apart from times and inode numbers: names,
// types, permission bits, sizes, contents, link targets, and which names are of one file. How the state came about does
// not change it. Every value is a SHA-256 over the following, where numbers are unsigned varints and strings have their
// length before them.
//
//	tree       "tree1", the root directory's hash, the hash of the groups of hard links
//	file       "f", permission bits, size, and for each chunk that is not all zero its index and its object's hash
//	link       "l", target
//	directory  "d", permission bits, number of entries, and name and hash of each, sorted by name
//	           or when there are more than 256: "D", permission bits, number of entries, and the hashes of the buckets
//	bucket     "b", and name and hash of each entry whose name falls into it, sorted by name
//	groups     "g", and for each file with several names their number and the hashes of their paths, sorted, by the
//	           first hash
//	path       "p", the hash of the directory's path, the name; the root's is 32 zero bytes
//
// The number of buckets is the smallest power of two that leaves at most 128 entries in one on average. A name falls
// into the one that the low bits of its 64-bit FNV-1a hash say. So one change in a big directory costs one bucket.
const (
	flatEntries   = 256
	bucketEntries = 128
)

// dirSums are the parts of the hash of a big directory.
type dirSums struct {
	buckets []bucket
	noted   map[string]struct{} // entries that changed since
}

type bucket struct {
	names []string // sorted
	sum   cas.Hash
	stale bool
}

// bucketCount is 0 when the directory is hashed as one.
func bucketCount(entries int) int {
	if entries <= flatEntries {
		return 0
	}
	n := 1
	for n*bucketEntries < entries {
		n *= 2
	}
	return n
}

func (s *dirSums) bucket(name string) *bucket {
	h := uint64(14695981039346656037)
	for i := range len(name) {
		h = (h ^ uint64(name[i])) * 1099511628211
	}
	return &s.buckets[h&uint64(len(s.buckets)-1)]
}

// noteName notes that an entry, or what it leads to, changes. The directory has sums.
func (d *dirTable) noteName(name string) {
	if len(d.sums.noted) > d.live+flatEntries { // beginning anew is cheaper
		d.sums = nil
		return
	}
	d.sums.noted[name] = struct{}{}
}

// unsum notes that the hash of n, and of what is above it, is no longer valid.
func (m *FS) unsum(n *inode) {
	n.flags &^= summed
	if n.parent == nil {
		return
	}
	unsumParent := func(dir *inode, name string) {
		if dir.dir != nil && dir.dir.sums != nil {
			dir.dir.noteName(name)
		}
		if dir.flags&summed != 0 {
			m.unsum(dir)
		}
	}
	unsumParent(n.parent, n.name)
	for _, l := range n.more {
		unsumParent(l.dir, l.name)
	}
}

// summer makes hashes. It has one buffer: what goes into a hash must be known before it begins.
type summer struct{ buf []byte }

func (s *summer) begin(kind string) { s.buf = append(s.buf[:0], kind...) }
func (s *summer) uint(v uint64)     { s.buf = binary.AppendUvarint(s.buf, v) }
func (s *summer) hash(h cas.Hash)   { s.buf = append(s.buf, h[:]...) }
func (s *summer) end() cas.Hash     { return sha256.Sum256(s.buf) }

func (s *summer) string(v string) {
	s.uint(uint64(len(v)))
	s.buf = append(s.buf, v...)
}

// sumTree returns the canonical hash. All chunks must have been hashed.
func (m *FS) sumTree() cas.Hash {
	var s summer
	root := m.sumInode(&s, &m.root)
	if !m.disk.hardOK {
		m.disk.hardSum, m.disk.hardOK = m.sumHard(&s), true
	}
	s.begin("tree1")
	s.hash(root)
	s.hash(m.disk.hardSum)
	return s.end()
}

func (m *FS) sumInode(s *summer, n *inode) cas.Hash {
	if n.flags&summed != 0 {
		return n.sum
	}
	switch {
	case n.isDir():
		n.sum = m.sumDir(s, n)
	case n.isSymlink():
		s.begin("l")
		s.string(n.target)
		n.sum = s.end()
	default:
		s.begin("f")
		s.uint(uint64(n.mode.Perm()))
		s.uint(uint64(n.size))
		for _, r := range n.chunks {
			if !r.c.hash.IsZero() {
				s.uint(uint64(r.index))
				s.hash(r.c.hash)
			}
		}
		n.sum = s.end()
	}
	n.flags |= summed
	return n.sum
}

func (m *FS) sumDir(s *summer, n *inode) cas.Hash {
	d := n.dir
	count := bucketCount(d.len())
	if count == 0 {
		if d != nil {
			d.sums = nil
		}
		names := make([]string, 0, d.len())
		for e := range d.all {
			m.sumInode(s, e.node)
			names = append(names, e.name)
		}
		slices.Sort(names)
		s.begin("d")
		s.uint(uint64(n.mode.Perm()))
		s.uint(uint64(len(names)))
		d.appendEntries(s, names)
		return s.end()
	}
	if d.sums == nil || len(d.sums.buckets) != count {
		d.fillSums(count)
	}
	for name := range d.sums.noted {
		d.sums.bucket(name).update(name, d.lookup(name) != nil)
	}
	clear(d.sums.noted)
	for i := range d.sums.buckets {
		if b := &d.sums.buckets[i]; b.stale {
			for _, name := range b.names {
				m.sumInode(s, d.lookup(name))
			}
			s.begin("b")
			d.appendEntries(s, b.names)
			b.sum, b.stale = s.end(), false
		}
	}
	s.begin("D")
	s.uint(uint64(n.mode.Perm()))
	s.uint(uint64(d.live))
	for i := range d.sums.buckets {
		s.hash(d.sums.buckets[i].sum)
	}
	return s.end()
}

// appendEntries adds entries whose inodes are summed.
func (d *dirTable) appendEntries(s *summer, names []string) {
	for _, name := range names {
		s.string(name)
		s.hash(d.lookup(name).sum)
	}
}

// fillSums puts all entries into new buckets.
func (d *dirTable) fillSums(count int) {
	d.sums = &dirSums{buckets: make([]bucket, count), noted: map[string]struct{}{}}
	for e := range d.all {
		b := d.sums.bucket(e.name)
		b.names = append(b.names, e.name)
	}
	for i := range d.sums.buckets {
		slices.Sort(d.sums.buckets[i].names)
		d.sums.buckets[i].stale = true
	}
}

// update makes a bucket have a name, or not.
func (b *bucket) update(name string, has bool) {
	b.stale = true
	i, found := slices.BinarySearch(b.names, name)
	switch {
	case has && !found:
		b.names = slices.Insert(b.names, i, name)
	case !has && found:
		b.names = slices.Delete(b.names, i, i+1)
	}
}

// linked keeps the set of files with several names after the number of names of n changed.
func (m *FS) linked(n *inode) {
	d := m.disk
	if d == nil || n.isDir() {
		return
	}
	if n.nlink > 1 {
		d.hard[n], d.hardOK = struct{}{}, false
	} else if _, ok := d.hard[n]; ok {
		delete(d.hard, n)
		d.hardOK = false
	}
}

// sumHard hashes paths one name at a time: the paths themselves may be long and many.
func (m *FS) sumHard(s *summer) cas.Hash {
	dirs := map[*inode]cas.Hash{&m.root: {}}
	var path func(dir *inode, name string) cas.Hash
	path = func(dir *inode, name string) cas.Hash {
		h, ok := dirs[dir]
		if !ok {
			h = path(dir.parent, dir.name)
			dirs[dir] = h
		}
		s.begin("p")
		s.hash(h)
		s.string(name)
		return s.end()
	}
	compare := func(a, b cas.Hash) int { return bytes.Compare(a[:], b[:]) }
	groups := make([][]cas.Hash, 0, len(m.disk.hard))
	for n := range m.disk.hard {
		paths := []cas.Hash{path(n.parent, n.name)}
		for _, l := range n.more {
			paths = append(paths, path(l.dir, l.name))
		}
		slices.SortFunc(paths, compare)
		groups = append(groups, paths)
	}
	slices.SortFunc(groups, func(a, b []cas.Hash) int { return compare(a[0], b[0]) })
	s.begin("g")
	for _, paths := range groups {
		s.uint(uint64(len(paths)))
		for _, p := range paths {
			s.hash(p)
		}
	}
	return s.end()
}
