package wasm

import (
	"context"
	"fmt"
	"time"
)

// DefaultMaxForks is the number of forks that a call may have at the same time. Each has a memory of its own.
const DefaultMaxForks = 64

// Results of fork and fork_wait that are no handle and no length, see guests/README.md.
const (
	forkRefused = -3
	forkLimit   = -4

	waitNoFork = -1
	waitTime   = -2
)

// child is a fork that a call made of its memory while it ran.
type child struct {
	done   chan struct{}
	end    context.CancelFunc
	answer []byte
}

// fork is the import fork: it copies the memory as it is in the middle of the call and has CallOptions.Fork run the copy.
func (c *call) fork(x *callContext, request []byte) int32 {
	if c.opts.Fork == nil || c.mem.child {
		return forkRefused
	}
	handle := int32(-1)
	for i, f := range c.forks {
		if f == nil {
			handle = int32(i)
		}
	}
	if handle < 0 {
		limit := c.opts.MaxForks
		if limit <= 0 {
			limit = DefaultMaxForks
		}
		if len(c.forks) >= limit {
			return forkLimit
		}
		handle = int32(len(c.forks))
		c.forks = append(c.forks, nil)
	}
	m, size, err := c.forkMemory(x)
	if err != nil {
		return forkLimit
	}
	if c.forkCtx == nil {
		c.forkCtx, c.endForks = context.WithCancel(c.ops)
	}
	ctx, cancel := context.WithCancel(c.forkCtx)
	f := &child{done: make(chan struct{}), end: cancel}
	c.forks[handle] = f
	run := c.opts.Fork(m)
	c.forked.Add(size)
	c.forking.Go(func() {
		defer close(f.done)
		defer cancel()
		defer c.forked.Add(-size)
		f.answer = run(ctx, request)
	})
	return handle
}

// forkMemory copies the memory, for the first thread to go on in: the others are not alive in the copy. It tells how many
// bytes that were; all copies of a call together may not have more than the memory's limit.
func (c *call) forkMemory(x *callContext) (f *Memory, size int64, err error) {
	m := c.mem
	spans, err := m.changed()
	if err != nil {
		return nil, 0, err
	}
	size = int64(bytesIn(spans))
	if c.forked.Load()+size > int64(m.limit) {
		return nil, 0, ErrNoMemory
	}
	if f, err = m.copyOf(); err != nil {
		return nil, 0, err
	}
	f.child = true
	c.worker.saveGlobals(f)
	if x.thread != nil {
		block := m.im.threads
		f.globals[block.Pointer], f.globals[block.Limit] = c.first.pointer, 0
		for i, addr := range block.Local {
			f.putU32(addr, c.first.local[i])
		}
	}
	return f, size, nil
}

// changed returns the pages that were written since the memory was the image; all others are what they are there.
func (m *Memory) changed() ([]span, error) {
	spans, err := m.region.dirty(nil, len(m.buf))
	if err != nil {
		return nil, fmt.Errorf("find changed pages: %w", err)
	}
	if m.region.layered() {
		// The page tables only know what changed since the layer was made.
		spans = m.region.withLayer(spans)
	}
	return spans, nil
}

// forkOf returns the fork of a handle, or nil.
func (c *call) forkOf(handle int32) *child {
	if handle < 0 || int(handle) >= len(c.forks) {
		return nil
	}
	return c.forks[handle]
}

// endFork is the import fork_end.
func (c *call) endFork(handle int32) {
	if f := c.forkOf(handle); f != nil {
		f.end()
	}
}

// waitFork is the import fork_wait.
func (c *call) waitFork(x *callContext, handle int32, ns int64) int64 {
	f := c.forkOf(handle)
	if f == nil {
		return waitNoFork
	}
	var expired <-chan time.Time
	if ns >= 0 {
		t := time.NewTimer(time.Duration(ns))
		defer t.Stop()
		expired = t.C
	}
	x.block(func() {
		select {
		case <-f.done:
		case <-expired:
		case <-x.Done():
		}
	})
	c.checkpoint()
	select {
	case <-f.done:
	default:
		return waitTime
	}
	if c.forks[handle] == f {
		c.forks[handle] = nil // the handle may be another's now
	}
	x.state().answer = f.answer
	return int64(len(f.answer))
}

// finishForks ends the forks that are left.
func (c *call) finishForks() {
	if c.endForks != nil {
		c.endForks()
		c.forking.Wait()
	}
}
