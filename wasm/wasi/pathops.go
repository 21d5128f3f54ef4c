package wasi

// Modes of what guests make. Preview 1 has no modes; a mount of the host shows these.
const (
	modeFile = 0o644
	modeDir  = 0o755
)

func pathCreateDirectory(c call) errno {
	t, e := c.target(c.u32(0), c.u32(1), c.u32(2))
	if e != success {
		return e
	}
	if t.root() {
		return errExist
	}
	return toErrno(t.fs.Mkdir(t.name, modeDir))
}

func pathFilestatGet(c call) errno {
	t, e := c.target(c.u32(0), c.u32(2), c.u32(3))
	if e != success {
		return e
	}
	st, e := t.stat(c.u32(1)&lookupFollow != 0)
	if e != success {
		return e
	}
	return c.putStat(c.u32(4), &st, fileType(st.Mode))
}

func pathFilestatSetTimes(c call) errno {
	t, e := c.target(c.u32(0), c.u32(2), c.u32(3))
	if e != success {
		return e
	}
	atim, mtim, e := c.times(4)
	if e != success {
		return e
	}
	if t.mustDir {
		if _, e := t.stat(true); e != success {
			return e
		}
	} else if c.u32(1)&lookupFollow == 0 && t.symlink() {
		if l, ok := t.fs.(Lutimenser); ok {
			return toErrno(l.Lutimens(t.name, atim, mtim))
		}
		return errNotsup
	}
	return toErrno(t.fs.Utimens(t.name, atim, mtim))
}

func pathLink(c call) errno {
	from, e := c.target(c.u32(0), c.u32(2), c.u32(3))
	if e != success {
		return e
	}
	to, e := c.target(c.u32(4), c.u32(5), c.u32(6))
	switch {
	case e != success:
		return e
	case to.root():
		return errExist
	case from.root():
		return errPerm // no links to directories
	case to.mustDir:
		return errNoent
	}
	if from.mustDir {
		if _, e := from.stat(true); e != success {
			return e
		}
	}
	if c.u32(1)&lookupFollow != 0 && from.symlink() {
		return errNotsup // the file system links what it is given
	}
	return toErrno(from.fs.Link(from.name, to.name))
}

func pathReadlink(c call) errno {
	t, e := c.target(c.u32(0), c.u32(1), c.u32(2))
	if e != success {
		return e
	}
	n := c.u32(4)
	if n == 0 || t.root() {
		return errInval
	}
	if t.mustDir { // the link has been followed, so there is none to read
		if _, e := t.stat(true); e != success {
			return e
		}
		return errInval
	}
	s, fe := t.fs.Readlink(t.name)
	if fe != 0 {
		return toErrno(fe)
	}
	if uint64(len(s)) > uint64(n) {
		s = s[:n] // like readlink(2)
	}
	if !c.mem.WriteString(c.u32(3), s) {
		return errFault
	}
	return c.putU32(c.u32(5), uint32(len(s)))
}

func pathRemoveDirectory(c call) errno {
	t, e := c.target(c.u32(0), c.u32(1), c.u32(2))
	if e != success {
		return e
	}
	if t.root() {
		return errBusy
	}
	return toErrno(t.fs.Rmdir(t.name))
}

func pathRename(c call) errno {
	from, e := c.target(c.u32(0), c.u32(1), c.u32(2))
	if e != success {
		return e
	}
	to, e := c.target(c.u32(3), c.u32(4), c.u32(5))
	if e != success {
		return e
	}
	if from.root() || to.root() {
		return errBusy
	}
	if from.mustDir || to.mustDir {
		from.mustDir = true
		if _, e := from.stat(false); e != success {
			return e
		}
	}
	return toErrno(from.fs.Rename(from.name, to.name))
}

func pathSymlink(c call) errno {
	content, e := c.pathString(c.u32(0), c.u32(1))
	if e != success {
		return e
	}
	t, e := c.target(c.u32(2), c.u32(3), c.u32(4))
	switch {
	case e != success:
		return e
	case t.root():
		return errExist
	case t.mustDir:
		return errNoent
	}
	return toErrno(t.fs.Symlink(content, t.name))
}

func pathUnlinkFile(c call) errno {
	t, e := c.target(c.u32(0), c.u32(1), c.u32(2))
	if e != success {
		return e
	}
	if t.root() {
		return errIsdir
	}
	if t.mustDir {
		if _, e := t.stat(true); e != success {
			return e
		}
		return errIsdir
	}
	return toErrno(t.fs.Unlink(t.name))
}
