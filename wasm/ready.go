package wasm

import "sync"

// readyPool keeps memories prepared ahead: mapped, and with the hot pages already private, which saves a fork the page
// faults of its first call. One goroutine refills it.
//
// A memory that is closed and has changed little goes back into the pool, its changes undone: its pages are then still in
// the processor's caches, which is worth more than anything that can be prepared. The others are unmapped by the same
// goroutine, which takes longer than their whole life may have.
type readyPool struct {
	mu      sync.Mutex
	size    int
	free    []*Memory
	want    chan struct{} // has room for one wish
	stopped chan struct{}
	quit    chan struct{}
	dead    chan *region
}

// maxDead bounds the closed memories that wait to be unmapped; beyond it, closing does the work itself.
const maxDead = 64

func (p *readyPool) start(im *Image, size int) {
	if size <= 0 || len(im.hot) == 0 {
		return
	}
	p.size = size
	p.want = make(chan struct{}, 1)
	p.quit = make(chan struct{})
	p.stopped = make(chan struct{})
	p.dead = make(chan *region, maxDead)
	p.want <- struct{}{}
	go p.refill(im)
}

func (p *readyPool) refill(im *Image) {
	defer close(p.stopped)
	filled := false
	for {
		select {
		case <-p.quit:
			return
		case r := <-p.dead:
			// A region that cannot be unmapped was unmapped before; there is nobody to tell.
			_ = r.free()
			continue
		case <-p.want:
		}
		for p.len() < p.size && p.running() {
			m, err := im.newMemory(DefaultMemoryLimit)
			if err != nil {
				break // a fork that needs one will meet and report the error
			}
			// A kernel that cannot populate leaves the pages to be faulted in.
			_ = m.region.populate(im.read, im.hot)
			p.mu.Lock()
			p.free = append(p.free, m)
			p.mu.Unlock()
		}
		if !filled {
			filled = true
			hugeCode(p.running)
		}
	}
}

func (p *readyPool) len() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.free)
}

func (p *readyPool) running() bool {
	select {
	case <-p.quit:
		return false
	default:
		return true
	}
}

// take returns a ready memory with this limit, or nil. A region is as large as the default limit, so lower limits fit.
func (p *readyPool) take(limit int64) *Memory {
	if p.want == nil || limit > DefaultMemoryLimit {
		return nil
	}
	p.mu.Lock()
	var m *Memory
	if n := len(p.free); n > 0 {
		m, p.free = p.free[n-1], p.free[:n-1]
	}
	// Not after each one: most come back by themselves, and are the better for it.
	low := len(p.free) < (p.size+1)/2
	p.mu.Unlock()
	if low {
		select {
		case p.want <- struct{}{}:
		default:
		}
	}
	if m != nil {
		m.limit = int(limit+pageSize-1) / pageSize * pageSize
	}
	return m
}

// maxReverted bounds the changes of a memory that is used again.
const maxReverted = 2 << 20

// reuse puts what m used back into the pool, as a new memory, if that is possible and worth it.
func (p *readyPool) reuse(m *Memory) bool {
	if p.want == nil || !p.running() || m.region.max != DefaultMemoryLimit+guardSize || m.region.layered() || p.len() >= p.size {
		return false
	}
	if !m.fresh {
		changed, err := m.region.dirty(nil, len(m.buf))
		if err != nil || bytesIn(changed) > maxReverted || m.region.revert(changed) != nil {
			return false
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.free = append(p.free, m.im.memoryOn(m.region, DefaultMemoryLimit))
	return true
}

// bury unmaps a region, soon or now.
func (p *readyPool) bury(r *region) error {
	if p.want != nil && p.running() {
		select {
		case p.dead <- r:
			return nil
		default:
		}
	}
	return r.free()
}

func (p *readyPool) stop() {
	if p.want == nil {
		return
	}
	close(p.quit)
	<-p.stopped
	for {
		select {
		case r := <-p.dead:
			_ = r.free()
			continue
		default:
		}
		break
	}
	for _, m := range p.free {
		m.Close()
	}
	p.free = nil
}
