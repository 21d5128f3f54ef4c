package wasi

import (
	"path"
	"slices"
	"strings"

	"github.com/tetratelabs/wazero/experimental/sys"
)

const (
	direntSize = 24 // bytes of a dirent before the name

	// maxCachedEntries is the limit of directory entries that all descriptors of a process hold together, about 100
	// bytes of host memory each. A directory that does not fit fails with ENOMEM.
	maxCachedEntries = 1 << 18
	readdirBatch     = 1024 // entries asked of the file system at once
)

type dirEntry struct {
	name string
	ino  uint64
	typ  uint8
}

// fdReaddir gives out a directory in pieces. A cookie is the index of the next entry in a list that is read when the
// guest starts at zero, so the answers are stable while the directory changes. The last entry is cut when the buffer is
// full: a full buffer means that there is more.
func fdReaddir(c call) errno {
	f := c.p.lookup(c.u32(0))
	buf, n, cookie, result := c.u32(1), c.u32(2), c.stack[3], c.u32(4)
	switch {
	case f == nil:
		return errBadf
	case !f.dir():
		return errNotdir
	case n < direntSize:
		return errInval // the guest could not even learn the length of a name
	}
	out, ok := c.mem.Read(buf, n)
	if !ok || !c.writable(result, 4) {
		return errFault
	}
	if cookie == 0 || !f.listed {
		again := cookie > 0
		if e := c.p.list(f); e != success {
			return e
		}
		if again {
			// The guest began with another list, perhaps in another process. If that was longer, this is its end.
			cookie = min(cookie, uint64(len(f.entries)))
		}
	}
	if cookie > uint64(len(f.entries)) {
		return errInval
	}
	used := 0
	for i, ent := range f.entries[cookie:] {
		if used == len(out) {
			break
		}
		var head [direntSize]byte
		le.PutUint64(head[0:], cookie+uint64(i)+1)
		le.PutUint64(head[8:], ent.ino)
		le.PutUint32(head[16:], uint32(len(ent.name)))
		head[20] = ent.typ
		used += copy(out[used:], head[:])
		used += copy(out[used:], ent.name)
	}
	return c.putU32(result, uint32(used))
}

// list reads a directory from its beginning.
func (p *Process) list(f *file) errno {
	p.mu.Lock()
	p.forget(f)
	room := maxCachedEntries - p.cached
	p.mu.Unlock()

	dir := f.f
	var e sys.Errno
	if dir == nil { // the root has no open file
		if dir, e = p.fs.OpenFile(".", sys.O_RDONLY|sys.O_DIRECTORY, 0); e != 0 {
			return toErrno(e)
		}
		defer dir.Close()
	} else if f.started { // a file system that cannot rewind can at least list once
		if _, e = dir.Seek(0, 0); e != 0 {
			return toErrno(e)
		}
	}
	f.started = true
	self, _ := dir.Ino()
	parent := uint64(0) // unknown, for a directory that was moved or removed
	if st, e := p.fs.Stat(path.Dir(f.path)); e == 0 {
		parent = st.Ino
	}
	entries := []dirEntry{{".", self, typeDirectory}, {"..", parent, typeDirectory}}
	for {
		batch, e := dir.Readdir(readdirBatch)
		if e != 0 {
			return toErrno(e)
		}
		if len(entries)+len(batch) > room {
			return errNomem
		}
		for _, d := range batch {
			if d.Name != "." && d.Name != ".." {
				entries = append(entries, dirEntry{d.Name, d.Ino, fileType(d.Type)})
			}
		}
		if len(batch) < readdirBatch {
			break
		}
	}
	// In an order that is the same when the directory is read again, for guests that go on with a cookie.
	slices.SortFunc(entries[2:], func(a, b dirEntry) int { return strings.Compare(a.name, b.name) })
	p.mu.Lock()
	defer p.mu.Unlock()
	f.entries, f.listed = entries, true
	p.cached += len(entries)
	return success
}
