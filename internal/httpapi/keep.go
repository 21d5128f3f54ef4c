package httpapi

import (
	"sync"
	"time"

	"github.com/mayfly-run/mayfly/engine"
)

// Sessions stay open for a while after a request, since the next one has them ready then.
const (
	keepOpen = time.Minute
	maxKept  = 256
)

// keeper holds sessions open that were used of late.
type keeper struct {
	mu   sync.Mutex
	held map[string]*held
}

type held struct {
	session *engine.Session
	timer   *time.Timer
	used    time.Time
}

// keep takes a session over from a request that is done with it.
func (k *keeper) keep(s *engine.Session) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.held == nil {
		k.held = map[string]*held{}
	}
	old := k.held[s.ID()]
	if old != nil && old.session == s {
		s.Close() // once is enough
		old.used = time.Now()
		old.timer.Reset(keepOpen)
		return
	}
	if old != nil { // it was removed, and made anew
		k.drop(old)
	}
	if len(k.held) >= maxKept {
		k.dropOldest()
	}
	h := &held{session: s, used: time.Now()}
	h.timer = time.AfterFunc(keepOpen, func() { k.expire(h) })
	k.held[s.ID()] = h
}

func (k *keeper) expire(h *held) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.held[h.session.ID()] == h && time.Since(h.used) >= keepOpen {
		k.drop(h)
	}
}

// forget gives a session up at once: it is to be opened in another way, or removed.
func (k *keeper) forget(name string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if h := k.held[name]; h != nil {
		k.drop(h)
	}
}

func (k *keeper) drop(h *held) {
	delete(k.held, h.session.ID())
	h.timer.Stop()
	h.session.Close()
}

func (k *keeper) dropOldest() {
	var oldest *held
	for _, h := range k.held {
		if oldest == nil || h.used.Before(oldest.used) {
			oldest = h
		}
	}
	k.drop(oldest)
}
