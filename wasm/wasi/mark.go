package wasi

import "slices"

// A Mark remembers which files a process had open.
type Mark struct{ files []*file }

// Mark returns the files that are open now. It must not run while the guest does.
func (p *Process) Mark() Mark {
	p.mu.Lock()
	defer p.mu.Unlock()
	return Mark{slices.Clone(p.fds.files)}
}

// Restore closes every file that was opened since the mark, for a guest whose memory is set back to that time and knows
// nothing of them. A file that was closed since stays closed, and its descriptor is not valid; positions stay as they
// are. It must not run while the guest does. Errors of closing are dropped: nobody is left to act on them.
func (p *Process) Restore(m Mark) {
	p.mu.Lock()
	p.calling = nil // it was killed
	var stale []*file
	for fd, f := range p.fds.files {
		if f == nil || f.kind != kindFile || slices.Contains(m.files, f) {
			continue
		}
		p.fds.files[fd] = nil
		p.forget(f)
		stale = append(stale, f)
	}
	p.mu.Unlock()
	for _, f := range stale {
		closeFile(f)
	}
}
