package wasi

import (
	"io"
	"time"
)

// Fork returns a process for a copy of the guest: with the same file system, arguments, environment, clocks and output, and
// no input. As after fork(2), the descriptors are the same and lead to the same open files, whose positions are shared; but
// they stay the first process's to close. It must be called by a host function of the guest, or while that does not run.
//
// Options.ForkSources may give it other sources of randomness and time.
func (p *Process) Fork() *Process {
	f := &Process{
		terminal: p.terminal, rand: p.rand, walltime: p.walltime, monotonic: p.monotonic, cputime: p.cputime,
		block: p.block, shared: p.shared, forkSources: p.forkSources, noWait: p.noWait, hasStale: p.hasStale,
		notReady: func() {}, // it has no input
	}
	if p.forkSources != nil {
		f.setSources(p.forkSources())
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	f.args, f.env, f.stdout, f.stderr, f.closed = p.args, p.env, p.stdout, p.stderr, p.closed
	f.fds.max = p.fds.max
	f.outside = &outside{p: f, mu: p.outside.mu}
	if fs, ok := p.fs.(outsideFS); ok {
		f.fs = outsideFS{fs.FS, f.outside}
	}
	for fd, old := range p.fds.files {
		if old == nil {
			continue
		}
		g := &file{kind: old.kind, path: old.path, flags: old.flags, read: old.read, write: old.write, isDir: old.isDir}
		g.started, g.borrowed = old.started, true
		g.stale, g.ino, g.dev, g.identified = old.stale, old.ino, old.dev, old.identified
		switch of := old.f.(type) {
		case outsideFile:
			g.f = outsideFile{of.File, f.outside}
		case staleFile:
			g.f = of
		}
		f.fds.put(uint32(fd), g)
	}
	return f
}

// setSources replaces the sources that are not nil.
func (p *Process) setSources(
	random io.Reader, walltime func() time.Time, monotonic func() time.Duration, cputime func() time.Duration,
) {
	if random != nil {
		p.rand = random
	}
	if walltime != nil {
		p.walltime = walltime
	}
	if monotonic != nil {
		p.monotonic = monotonic
	}
	if cputime != nil {
		p.cputime = cputime
	}
}
