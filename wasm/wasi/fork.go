package wasi

// Fork returns a process for a copy of the guest: with the same file system, arguments, environment, clocks and output, and
// no input. As after fork(2), the descriptors are the same and lead to the same open files, whose positions are shared; but
// they stay the first process's to close. It must be called by a host function of the guest, or while that does not run.
func (p *Process) Fork() *Process {
	p.mu.Lock()
	defer p.mu.Unlock()
	f := &Process{
		terminal: p.terminal, rand: p.rand, walltime: p.walltime, monotonic: p.monotonic, cputime: p.cputime,
		block: p.block, shared: p.shared,
		args: p.args, env: p.env, stdout: p.stdout, stderr: p.stderr, closed: p.closed,
	}
	f.fds.max = p.fds.max
	o := &outside{p: f}
	if fs, ok := p.fs.(outsideFS); ok {
		o.mu = fs.o.mu
		f.fs = outsideFS{fs.FS, o}
	}
	for fd, old := range p.fds.files {
		if old == nil {
			continue
		}
		g := &file{kind: old.kind, path: old.path, flags: old.flags, read: old.read, write: old.write, isDir: old.isDir}
		g.started, g.borrowed = old.started, true
		if of, ok := old.f.(outsideFile); ok {
			g.f = outsideFile{of.File, o}
		}
		f.fds.put(uint32(fd), g)
	}
	return f
}
