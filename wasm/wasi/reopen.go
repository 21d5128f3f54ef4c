package wasi

import (
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/tetratelabs/wazero/experimental/sys"
)

// An OpenFile describes a file that a process has open, so that it can be opened again in another process, for a guest
// whose memory knows its descriptor.
type OpenFile struct {
	FD uint32 `json:"fd"`
	// Path is where the file was opened, as Options.FS gets it. It may have been moved or removed since.
	Path string `json:"path"`
	Dir  bool   `json:"dir,omitempty"`
	// Read, Write and Append are how it was opened, Append as it was changed later.
	Read   bool `json:"read,omitempty"`
	Write  bool `json:"write,omitempty"`
	Append bool `json:"append,omitempty"`
	// Flags are WASI's fdflags.
	Flags uint16 `json:"flags,omitempty"`
	// Offset is the position in bytes; 0 for a directory, whose position is the guest's own.
	Offset int64 `json:"offset,omitempty"`
	// Ino and Dev identify the file as its Stat does; 0 when that is not known.
	Ino uint64 `json:"ino,omitempty"`
	Dev uint64 `json:"dev,omitempty"`
}

const fdFlagsAll = fdAppend | fdDsync | fdNonblock | fdRsync | fdSyncFlag

// Files returns the descriptors that are open besides standard streams and the root, by number. A stream that the guest
// moved to another number is not among them. It must not run while the guest does.
func (p *Process) Files() []OpenFile {
	p.mu.Lock()
	table := append([]*file(nil), p.fds.files...)
	p.mu.Unlock()
	var out []OpenFile
	for fd, f := range table {
		if f == nil || f.kind != kindFile {
			continue
		}
		o := f.describe(uint32(fd))
		if !f.isDir && f.stale == nil {
			if pos, e := f.f.Seek(0, io.SeekCurrent); e == 0 {
				o.Offset = pos
			}
		}
		out = append(out, o)
	}
	return out
}

// describe returns what is known of an open file without its position.
func (f *file) describe(fd uint32) OpenFile {
	if f.stale != nil {
		o := *f.stale
		o.FD = fd
		return o
	}
	f.identify()
	return OpenFile{
		FD: fd, Path: f.path, Dir: f.isDir, Read: f.read, Write: f.write, Append: f.flags&fdAppend != 0, Flags: f.flags,
		Ino: f.ino, Dev: f.dev,
	}
}

// identify finds out which file it is. That does not change, so it is done once.
func (f *file) identify() {
	if f.identified || f.f == nil {
		return
	}
	f.identified = true
	if st, e := f.f.Stat(); e == 0 {
		f.ino, f.dev = st.Ino, st.Dev
	}
}

// Reopen gives a new process the files that an earlier one had open, for a guest whose memory knows their descriptors.
// Each is opened by the callback, in the mode that the description says and without creating or truncating it; its
// position is set here. When the callback fails, or returns something of another type, the descriptor becomes a stale
// file: every operation on it fails with ESTALE, except that it can be closed. The callback may use nothing of p.
//
// The descriptions are not trusted: when one is not possible, or its descriptor is in use, nothing is opened and the
// error says why. A standard stream gives way to a file that has its number. It must not run while the guest does.
func (p *Process) Reopen(files []OpenFile, open func(OpenFile) (sys.File, sys.Errno)) error {
	p.mu.Lock()
	err := p.checkReopen(files)
	p.mu.Unlock()
	if err != nil {
		return fmt.Errorf("wasi: reopen files: %w", err)
	}
	for _, o := range files {
		f := p.reopen(o, open)
		p.mu.Lock()
		p.fds.put(o.FD, f)
		p.mu.Unlock()
	}
	return nil
}

// checkReopen looks at descriptions; p.mu is held.
func (p *Process) checkReopen(files []OpenFile) error {
	seen := map[uint32]bool{}
	for _, o := range files {
		old := p.fds.get(o.FD)
		switch {
		case p.closed:
			return fs.ErrClosed
		case uint64(o.FD) >= uint64(p.fds.max):
			return fmt.Errorf("descriptor %d: a process has at most %d", o.FD, p.fds.max)
		case seen[o.FD], o.FD == rootFD, old != nil && !old.stream():
			return fmt.Errorf("descriptor %d is in use", o.FD)
		case len(o.Path) > maxPath, !fs.ValidPath(o.Path), strings.IndexByte(o.Path, 0) >= 0:
			return fmt.Errorf("descriptor %d: not a path: %.80q", o.FD, o.Path)
		case o.Offset < 0:
			return fmt.Errorf("descriptor %d: position %d", o.FD, o.Offset)
		case o.Flags&^uint16(fdFlagsAll) != 0, o.Dir && o.Write:
			return fmt.Errorf("descriptor %d: impossible flags", o.FD)
		}
		seen[o.FD] = true
	}
	return nil
}

// reopen opens a file that was described, or returns a stale one.
func (p *Process) reopen(o OpenFile, open func(OpenFile) (sys.File, sys.Errno)) *file {
	if o.Append {
		o.Flags |= fdAppend
	}
	o.Append = o.Flags&fdAppend != 0
	f := &file{path: o.Path, isDir: o.Dir, read: o.Read, write: o.Write, flags: o.Flags}
	opened, e := open(o)
	if e == 0 && opened != nil {
		f.f = outsideFile{opened, p.outside}
		dir, e := f.f.IsDir()
		if e == 0 && dir == o.Dir && f.seek(o.Offset) == 0 {
			return f
		}
		closeFile(f)
	}
	f.f, f.stale = staleFile{}, &o
	p.hasStale = true
	return f
}

// seek sets the position of a file; directories have none.
func (f *file) seek(off int64) sys.Errno {
	if f.isDir {
		return 0
	}
	_, e := f.f.Seek(off, io.SeekStart)
	return e
}
