package vfs_test

import (
	"io/fs"
	"strings"

	"github.com/tetratelabs/wazero/experimental/sys"
)

// model is the reference for the fuzz test: the simplest file system that could
// be right. It has no quotas, times or inode numbers.
type model struct{ root *mnode }

type mnode struct {
	kind   fs.FileMode // 0, ModeDir, ModeSymlink
	data   []byte
	target string
	sub    map[string]*mnode
	up     *mnode
	links  int
}

func newModel() *model {
	r := &mnode{kind: fs.ModeDir, sub: map[string]*mnode{}}
	r.up = r
	return &model{r}
}

// find returns the directory and last name of a path, and what is there.
func (m *model) find(p string, follow bool) (dir *mnode, name string, n *mnode, e sys.Errno) {
	todo := strings.Split(p, "/")
	dir, n = m.root, m.root
	hops := 0
	for len(todo) > 0 {
		c := todo[0]
		todo = todo[1:]
		if n == nil {
			return nil, "", nil, sys.ENOENT
		}
		if n.kind != fs.ModeDir {
			return nil, "", nil, sys.ENOTDIR
		}
		dir, name = n, c
		switch c {
		case "", ".":
			name = ""
			continue
		case "..":
			n, name = n.up, ""
			continue
		}
		n = dir.sub[c]
		if n != nil && n.kind == fs.ModeSymlink && (follow || len(todo) > 0) {
			if hops++; hops > 40 {
				return nil, "", nil, sys.ELOOP
			}
			todo = append(strings.Split(n.target, "/"), todo...)
			if n = dir; todo[0] == "" {
				n = m.root
			}
		}
	}
	return dir, name, n, 0
}

func (m *model) create(p string, kind fs.FileMode, target string) sys.Errno {
	dir, name, n, e := m.find(p, false)
	if e != 0 {
		return e
	}
	if n != nil {
		return sys.EEXIST
	}
	dir.sub[name] = &mnode{kind: kind, target: target, sub: map[string]*mnode{}, up: dir, links: 1}
	return 0
}

func (m *model) open(p string, create, excl bool) (*mnode, sys.Errno) {
	dir, name, n, e := m.find(p, !(create && excl))
	switch {
	case e != 0:
		return nil, e
	case n == nil && !create:
		return nil, sys.ENOENT
	case n == nil:
		n = &mnode{links: 1}
		dir.sub[name] = n
	case create && excl:
		return nil, sys.EEXIST
	case n.kind == fs.ModeDir:
		return nil, sys.EISDIR
	}
	return n, 0
}

func (m *model) remove(p string, isDir bool) sys.Errno {
	dir, name, n, e := m.find(p, false)
	switch {
	case e != 0:
		return e
	case n == nil:
		return sys.ENOENT
	case isDir && n.kind != fs.ModeDir:
		return sys.ENOTDIR
	case !isDir && n.kind == fs.ModeDir:
		return sys.EISDIR
	case isDir && len(n.sub) > 0:
		return sys.ENOTEMPTY
	}
	n.links--
	delete(dir.sub, name)
	return 0
}

func (m *model) link(a, b string) sys.Errno {
	_, _, n, e := m.find(a, false)
	if e != 0 {
		return e
	}
	if n == nil {
		return sys.ENOENT
	}
	dir, name, to, e := m.find(b, false)
	switch {
	case e != 0:
		return e
	case to != nil:
		return sys.EEXIST
	case n.kind == fs.ModeDir:
		return sys.EPERM
	}
	n.links++
	dir.sub[name] = n
	return 0
}

func (m *model) rename(a, b string) sys.Errno {
	da, na, src, e := m.find(a, false)
	if e != 0 {
		return e
	}
	if src == nil {
		return sys.ENOENT
	}
	db, nb, dst, e := m.find(b, false)
	if e != 0 {
		return e
	}
	if src == dst {
		return 0
	}
	if src.kind == fs.ModeDir {
		for d := db; ; d = d.up {
			if d == src {
				return sys.EINVAL
			}
			if d == m.root {
				break
			}
		}
		switch {
		case dst != nil && dst.kind != fs.ModeDir:
			return sys.ENOTDIR
		case dst != nil && len(dst.sub) > 0:
			return sys.ENOTEMPTY
		}
	} else if dst != nil && dst.kind == fs.ModeDir {
		return sys.EISDIR
	}
	if dst != nil {
		dst.links--
	}
	delete(da.sub, na)
	db.sub[nb] = src
	src.up = db
	return 0
}

// write puts data at off; truncate is write of nothing at a size.
func (n *mnode) write(data []byte, off int) {
	if len(data) == 0 {
		return
	}
	n.truncate(max(len(n.data), off+len(data)))
	copy(n.data[off:], data)
}

func (n *mnode) truncate(size int) {
	next := make([]byte, size)
	copy(next, n.data)
	n.data = next
}

// snapshot lists the tree as path: content.
func (m *model) snapshot() map[string]string {
	out := map[string]string{}
	var visit func(p string, n *mnode)
	visit = func(p string, n *mnode) {
		for name, c := range n.sub {
			q := strings.TrimPrefix(p+"/"+name, "/")
			switch c.kind {
			case fs.ModeDir:
				out[q] = "dir"
				visit(q, c)
			case fs.ModeSymlink:
				out[q] = "link " + c.target
			default:
				out[q] = "file " + string(c.data)
			}
		}
	}
	visit("", m.root)
	return out
}
