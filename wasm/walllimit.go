package wasm

import (
	"context"
	"sync"
	"time"
)

// WallLimit is a wall-clock limit of a call that can be paused, for what nobody can hold against the guest: that a person
// thinks about a question. The time in which the guest, or a copy of it, runs meanwhile counts nevertheless, or else a guest
// that has something asked would have no limit any more. It is safe for concurrent use, and good for one call.
type WallLimit struct {
	limit time.Duration

	mu     sync.Mutex
	spent  time.Duration // before since
	since  time.Time     // zero: it stands still
	pauses int
	busy   int // the call, unless it is idle, and the copies of its guest that run
	over   func()
	timer  *time.Timer
}

// NewWallLimit returns a limit, which stands still until the call begins. Zero and less is none.
func NewWallLimit(d time.Duration) *WallLimit { return &WallLimit{limit: max(d, 0)} }

// Pause stops the clock, while the guest is idle, until resume is called, which has to be done once. Pauses may overlap.
func (l *WallLimit) Pause() (resume func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pauses++
	if l.busy == 0 {
		l.halt()
	}
	return sync.OnceFunc(func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.pauses--
		l.run()
	})
}

// Work tells that one more runs: the clock goes on whoever paused it. Each Work needs a Rest.
func (l *WallLimit) Work() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.busy++
	l.run()
}

// Rest tells that one that ran is idle, or has ended.
func (l *WallLimit) Rest() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.busy--; l.busy == 0 && l.pauses > 0 {
		l.halt()
	}
}

// start begins with the call; over is called when the limit is reached.
func (l *WallLimit) start(over func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.over = over
	l.busy++
	l.run()
}

// stop ends with the call.
func (l *WallLimit) stop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.halt()
	l.over = nil
}

// whileIdle is a CallOptions.Idle that tells l and then another one, which may be nil.
func (l *WallLimit) whileIdle(tell func(context.Context, bool)) func(context.Context, bool) {
	return func(ctx context.Context, idle bool) {
		if idle {
			l.Rest()
		}
		if tell != nil {
			tell(ctx, idle)
		}
		if !idle {
			l.Work()
		}
	}
}

func (l *WallLimit) run() {
	if l.pauses > 0 && l.busy == 0 || l.over == nil || l.limit == 0 || !l.since.IsZero() {
		return
	}
	l.since = time.Now()
	left := max(l.limit-l.spent, 0)
	if l.timer == nil {
		l.timer = time.AfterFunc(left, l.expire)
	} else {
		l.timer.Reset(left)
	}
}

func (l *WallLimit) halt() {
	if l.since.IsZero() {
		return
	}
	l.timer.Stop()
	l.spent += time.Since(l.since)
	l.since = time.Time{}
}

// expire is the timer's. It may be late, and meet a limit that was paused since.
func (l *WallLimit) expire() {
	l.mu.Lock()
	over := l.over
	due := !l.since.IsZero() && l.spent+time.Since(l.since) >= l.limit
	l.mu.Unlock()
	if due && over != nil {
		over()
	}
}

// reached tells whether the limit is over.
func (l *WallLimit) reached() bool {
	if l.limit == 0 {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	spent := l.spent
	if !l.since.IsZero() {
		spent += time.Since(l.since)
	}
	return spent >= l.limit
}
