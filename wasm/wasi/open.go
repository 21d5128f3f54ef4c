package wasi

import "github.com/tetratelabs/wazero/experimental/sys"

// Bits of oflags.
const (
	openCreat     = 1 << 0
	openDirectory = 1 << 1
	openExcl      = 1 << 2
	openTrunc     = 1 << 3
)

func pathOpen(c call) errno {
	t, e := c.target(c.u32(0), c.u32(2), c.u32(3))
	if e != success {
		return e
	}
	oflags, fdflags, result := c.u16(4), c.u16(7), c.u32(8)
	follow := c.u32(1)&lookupFollow != 0 || t.mustDir // "link/" is what it leads to
	if oflags&openDirectory != 0 {
		if oflags&openCreat != 0 {
			return errInval
		}
		t.mustDir = true
	}
	if t.mustDir && oflags&openCreat != 0 {
		return errIsdir
	}
	if oflags > 15 || fdflags > 31 {
		return errInval
	}
	// Nothing must be created or cut off for a guest that cannot have the descriptor.
	if !c.writable(result, 4) {
		return errFault
	}
	if !c.p.hasFreeFD() {
		return errMfile
	}
	f := &file{path: t.name, flags: fdflags}
	flag := f.access(c.stack[5], oflags) | sysFlags(oflags, fdflags)
	if t.mustDir {
		flag |= sys.O_DIRECTORY
	}
	if !follow {
		flag |= sys.O_NOFOLLOW
	}
	opened, fe := t.fs.OpenFile(t.name, flag, modeFile)
	if fe != 0 {
		return toErrno(fe)
	}
	f.f = opened
	if f.isDir, fe = opened.IsDir(); fe == 0 && t.mustDir && !f.isDir {
		fe = sys.ENOTDIR
	}
	if fe == 0 && f.isDir && f.write {
		fe = sys.EISDIR
	}
	if fe != 0 {
		closeFile(f)
		return toErrno(fe)
	}
	fd, ok := c.p.add(f)
	if !ok {
		closeFile(f)
		return errMfile
	}
	return c.putU32(result, fd)
}

// access decides between reading and writing, which preview 1 says with rights only.
func (f *file) access(rights uint64, oflags uint16) sys.Oflag {
	f.read, f.write = rights&(rightRead|rightReaddir) != 0, rights&rightWrite != 0
	switch {
	case f.read && f.write:
		return sys.O_RDWR
	case f.write:
		return sys.O_WRONLY
	case !f.read && (oflags&(openCreat|openTrunc) != 0 || f.flags&fdAppend != 0):
		// A guest that knows nothing of rights, but would hardly make a file that it cannot write to.
		f.read, f.write = true, true
		return sys.O_RDWR
	}
	f.read = true
	return sys.O_RDONLY
}

func sysFlags(oflags, fdflags uint16) (flag sys.Oflag) {
	for _, m := range []struct {
		have bool
		flag sys.Oflag
	}{
		{oflags&openCreat != 0, sys.O_CREAT},
		{oflags&openExcl != 0, sys.O_EXCL},
		{oflags&openTrunc != 0, sys.O_TRUNC},
		{fdflags&fdAppend != 0, sys.O_APPEND},
		{fdflags&fdDsync != 0, sys.O_DSYNC},
		{fdflags&fdNonblock != 0, sys.O_NONBLOCK},
		{fdflags&fdRsync != 0, sys.O_RSYNC},
		{fdflags&fdSyncFlag != 0, sys.O_SYNC},
	} {
		if m.have {
			flag |= m.flag
		}
	}
	return flag
}
