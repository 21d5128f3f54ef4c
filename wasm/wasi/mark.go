package wasi

import (
	"io"
	"slices"

	"github.com/tetratelabs/wazero/experimental/sys"
)

// A Mark remembers which files a process had open, and where their positions were.
type Mark struct {
	files     []*file
	positions []position // of those that are open files
}

// position is what changes of an open file.
type position struct {
	fd    uint32
	off   int64
	known bool // off is good
	flags uint16
}

// Mark returns the files that are open now. It must not run while the guest does. It costs less than a microsecond for
// each open file.
func (p *Process) Mark() Mark {
	p.mu.Lock()
	m := Mark{files: slices.Clone(p.fds.files)}
	p.mu.Unlock()
	for fd, f := range m.files {
		if f == nil || f.kind != kindFile {
			continue
		}
		at := position{fd: uint32(fd), flags: f.flags}
		if !f.isDir && f.stale == nil {
			off, e := f.f.Seek(0, io.SeekCurrent)
			at.off, at.known = off, e == 0
		}
		f.identify() // once it is closed nobody could
		m.positions = append(m.positions, at)
	}
	return m
}

// Restore gives every descriptor back what it stood for at the mark, for a guest whose memory is set back to that time.
// Files that were opened since are closed. Those that are open still get back their positions, and whether they append.
// Those that were closed since are opened again by reopen, as in Reopen; with a nil reopen their descriptors are not valid.
// It must not run while the guest does. Errors of closing and seeking are dropped: nobody is left to act on them.
func (p *Process) Restore(m Mark, reopen func(OpenFile) (sys.File, sys.Errno)) {
	p.mu.Lock()
	p.calling = nil // it was killed
	if p.closed {
		p.mu.Unlock()
		return
	}
	open := map[*file]bool{}
	for _, f := range p.fds.files {
		if f != nil && f.kind == kindFile {
			open[f] = true
		}
	}
	table := slices.Clone(m.files)
	lost := map[uint32]*file{}
	for fd, f := range table {
		switch {
		case f == nil || f.kind != kindFile:
		case open[f]:
			delete(open, f)
		default:
			table[fd] = nil
			lost[uint32(fd)] = f
		}
	}
	for f := range open {
		p.forget(f)
	}
	p.fds.files = table
	p.mu.Unlock()
	for f := range open {
		closeFile(f)
	}
	for _, at := range m.positions {
		if f := lost[at.fd]; f != nil {
			p.bringBack(f, at, reopen)
		} else {
			table[at.fd].putBack(at)
		}
	}
}

// putBack sets a file that is open to where it was.
func (f *file) putBack(at position) {
	if at.known {
		f.seek(at.off)
	}
	if (f.flags^at.flags)&fdAppend != 0 {
		f.f.SetAppend(at.flags&fdAppend != 0)
	}
	f.flags = at.flags
}

// bringBack opens a file that was closed.
func (p *Process) bringBack(f *file, at position, reopen func(OpenFile) (sys.File, sys.Errno)) {
	if reopen == nil {
		return
	}
	o := f.describe(at.fd)
	if f.stale == nil {
		o.Offset, o.Flags, o.Append = at.off, at.flags, at.flags&fdAppend != 0
	}
	g := p.reopen(o, reopen)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fds.put(at.fd, g)
}
