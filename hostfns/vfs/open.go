package vfs

import (
	"encoding/json"
	"fmt"

	"github.com/mayfly-run/mayfly/hostfns/cas"
)

// Open returns the file system that a frame of [FS.Commit] stands for; the zero Hash stands for an empty one. Options
// are as for [New], save that their Store does not count. File data is loaded when it is read.
//
// The store must keep the frame while the file system is in use. Its objects are not trusted: whatever they say, the
// result is a valid file system within the quotas, or an error that wraps [cas.ErrDamaged], [ENOSPC], or what the store
// says. An object of file data is checked when it is loaded.
//
// Files that were open without having a name are there: take them with [FS.OpenInode], and then call [FS.DropOrphans].
func Open(store cas.ReadWriter, frame cas.Hash, o *Options) (*FS, error) {
	var opts Options
	if o != nil {
		opts = *o
	}
	opts.Store = store
	m := New(&opts)
	switch {
	case frame.IsZero():
		return m, nil
	case store == nil:
		return nil, errNoStore
	}
	if err := m.openFrame(frame); err != nil {
		return nil, fmt.Errorf("vfs: open the state %v: %w", frame, err)
	}
	return m, nil
}

func (m *FS) openFrame(frame cas.Hash) error {
	store := m.disk.store
	chain, err := cas.ReadChain(store, frame, FrameKind)
	if err != nil {
		return err
	}
	last := chain[len(chain)-1]
	var head frameHead
	if err := json.Unmarshal(last.Head, &head); err != nil {
		return damagedf("head of a frame: %v", err)
	}
	r := &frameReader{
		fs: m, nodes: make(map[uint64]*inode, min(max(head.Files, 0), DefaultMaxFiles)),
		read: map[cas.Hash]struct{}{}, limit: limitsOf(m),
	}
	for _, f := range chain {
		r.frame++
		for _, h := range f.Parts {
			o, err := store.Get(h)
			if err != nil {
				return err
			}
			if err := r.part(h, o); err != nil {
				return err
			}
		}
	}
	if err := r.check(head); err != nil {
		return err
	}
	m.disk.base = &base{frame, last}
	m.byIno = r.nodes
	m.push()
	m.checkpoint, m.hasCheckpoint = 0, true
	return nil
}

// check makes the file system's own bookkeeping, and refuses what could not have come about.
func (r *frameReader) check(head frameHead) error {
	m := r.fs
	if m.root.epoch == 0 || !m.root.isDir() {
		return damagedf("there is no root directory")
	}
	m.root.nlink = 2
	c := &checker{fs: m, next: head.Next}
	if err := c.inode(&m.root); err != nil {
		return err
	}
	if err := c.dir(&m.root, 0); err != nil {
		return err
	}
	for n := range m.orphans {
		if n.nlink > 0 || n.dir.len() > 0 {
			return damagedf("inode %d without a name has one", n.ino)
		}
		if err := c.inode(n); err != nil {
			return err
		}
		m.files++
	}
	switch {
	case c.inodes != len(r.nodes):
		return damagedf("%d of %d inodes cannot be reached", len(r.nodes)-c.inodes, len(r.nodes))
	case head.Next >= maxIno, head.Files != m.files, head.Bytes != m.bytes:
		return damagedf("counted %d files, %d bytes; noted are %d, %d", m.files, m.bytes, head.Files, head.Bytes)
	case m.files > m.maxFiles:
		return fmt.Errorf("%w: the state has %d files; the limit is %d", errnoError{ENOSPC}, m.files, m.maxFiles)
	case m.bytes > m.maxBytes:
		return fmt.Errorf("%w: the state has %d bytes; the limit is %d", errnoError{ENOSPC}, m.bytes, m.maxBytes)
	}
	m.nextIno = head.Next
	return nil
}

// checker goes through a tree that was read.
type checker struct {
	fs     *FS
	next   uint64
	inodes int
}

// inode checks an inode by itself and counts it.
func (c *checker) inode(n *inode) error {
	m := c.fs
	if n.epoch == 0 || n.flags&dead != 0 {
		return damagedf("inode %d is missing", n.ino)
	}
	n.epoch = 0
	c.inodes++
	switch {
	case n.ino >= c.next:
		return damagedf("inode number %d; the next one is %d", n.ino, c.next)
	case !n.mode.IsRegular() && len(n.chunks) > 0, !n.isDir() && n.dir != nil:
		return damagedf("inode %d has what is not of its type", n.ino)
	case n.size > m.maxFileSize:
		return fmt.Errorf("%w: a file of %d bytes; the limit is %d", errnoError{ENOSPC}, n.size, m.maxFileSize)
	}
	if n.isSymlink() {
		m.symlinks.Add(1)
		m.bytes += int64(len(n.target))
	}
	for _, r := range n.chunks {
		m.bytes += int64(r.c.size)
	}
	if last := len(n.chunks) - 1; last >= 0 && n.chunks[last].index*chunkSize >= n.size {
		return damagedf("inode %d has data after its end", n.ino)
	}
	return nil
}

// dir checks a directory's entries and what they lead to, and makes the links back.
func (c *checker) dir(dir *inode, depth int) error {
	last := int64(-1)
	if dir.dir != nil {
		for i := range dir.dir.order {
			e := &dir.dir.order[i]
			if int64(e.seq) <= last || e.seq >= dir.dir.next {
				return damagedf("directory %d is out of order", dir.ino)
			}
			last = int64(e.seq)
		}
	}
	for e := range dir.dir.all {
		n := e.node
		if _, ok := c.fs.orphans[n]; ok || n == &c.fs.root || n.isDir() && n.nlink > 0 {
			return damagedf("inode %d has a name that it cannot have", n.ino)
		}
		if n.nlink == 0 {
			if err := c.inode(n); err != nil {
				return err
			}
		}
		n.addLink(dir, e.name)
		c.fs.files++
		if !n.isDir() {
			if n.nlink++; n.nlink > MaxLinks {
				return damagedf("inode %d has more than %d names", n.ino, MaxLinks)
			}
			c.fs.linked(n)
			continue
		}
		n.nlink = 2
		dir.nlink++
		if depth+1 >= MaxDepth {
			return damagedf("more than %d directories are nested", MaxDepth)
		}
		if err := c.dir(n, depth+1); err != nil {
			return err
		}
	}
	return nil
}
