package wasi

import "github.com/tetratelabs/wazero/experimental/sys"

// rootFD is where wasi-libc starts to look for pre-opened directories.
const rootFD = 3

type fileKind uint8

const (
	kindFile fileKind = iota // opened by path_open
	kindRoot                 // the pre-opened root
	kindStdin
	kindStdout
	kindStderr
)

// A file is what a descriptor stands for. Preview 1 has no dup, so it belongs to one descriptor.
type file struct {
	kind    fileKind
	f       sys.File // nil unless kindFile
	isDir   bool
	path    string // where it was opened, for names relative to a directory
	read    bool
	write   bool
	flags   uint16 // fdflags
	entries []dirEntry
	listed  bool // entries is valid
	started bool // entries have been read from f, so the next time begins with a rewind
	// borrowed files belong to the process that this one was forked from.
	borrowed bool
	// stale says what could not be opened again; f is a staleFile.
	stale *OpenFile
	// ino and dev are those of f, once identified.
	ino, dev   uint64
	identified bool
}

// dir says whether names may be relative to the file.
func (f *file) dir() bool { return f.kind == kindRoot || f.isDir }

// stream says whether the file is a standard stream.
func (f *file) stream() bool { return f.kind >= kindStdin }

// An fdTable maps descriptors to files. Numbers are below max; the lowest free one is given out, as POSIX has it.
type fdTable struct {
	files []*file
	max   int
}

func (t *fdTable) get(fd uint32) *file {
	if uint64(fd) >= uint64(len(t.files)) {
		return nil
	}
	return t.files[fd]
}

// free returns the lowest free descriptor, false if there is none.
func (t *fdTable) free() (uint32, bool) {
	for i, f := range t.files {
		if f == nil {
			return uint32(i), true
		}
	}
	return uint32(len(t.files)), len(t.files) < t.max
}

// put sets a descriptor, which the caller has checked. The standard streams and the root have their numbers even when
// max is smaller.
func (t *fdTable) put(fd uint32, f *file) {
	for uint64(fd) >= uint64(len(t.files)) {
		t.files = append(t.files, nil)
	}
	t.files[fd] = f
}

func (p *Process) lookup(fd uint32) *file {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.fds.get(fd)
}

func (p *Process) hasFreeFD() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, ok := p.fds.free()
	return ok && !p.closed
}

// add gives a file the lowest free descriptor.
func (p *Process) add(f *file) (uint32, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fd, ok := p.fds.free()
	if !ok || p.closed {
		return 0, false
	}
	p.fds.put(fd, f)
	return fd, true
}

// forget drops what the process counts for a file that leaves the table. p.mu is held.
func (p *Process) forget(f *file) {
	p.cached -= len(f.entries)
	f.entries, f.listed = nil, false
}

func closeFile(f *file) errno {
	if f == nil || f.f == nil || f.borrowed {
		return success
	}
	return toErrno(f.f.Close())
}

func fdClose(c call) errno {
	p, fd := c.p, c.u32(0)
	p.mu.Lock()
	f := p.fds.get(fd)
	if f == nil || f.kind == kindRoot {
		p.mu.Unlock()
		if f == nil {
			return errBadf
		}
		return errNotsup // see the package comment
	}
	p.fds.files[fd] = nil
	p.forget(f)
	p.mu.Unlock()
	return closeFile(f)
}

func fdRenumber(c call) errno {
	p, from, to := c.p, c.u32(0), c.u32(1)
	p.mu.Lock()
	f, old := p.fds.get(from), p.fds.get(to)
	e := success
	switch {
	case f == nil || uint64(to) >= uint64(p.fds.max):
		e = errBadf
	case f.kind == kindRoot || old != nil && old.kind == kindRoot || to == rootFD && p.fs != nil:
		e = errNotsup
	}
	if e != success || from == to {
		p.mu.Unlock()
		return e
	}
	p.fds.put(to, f)
	p.fds.files[from] = nil
	if old != nil {
		p.forget(old)
	}
	p.mu.Unlock()
	closeFile(old) // like dup2: an error of the old file has nobody to go to
	return success
}
