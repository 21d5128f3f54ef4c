package tools

import (
	"sync"
	"time"
)

// bucket bounds how often something happens: burst times at once, and rate times a second. It is safe for concurrent use.
type bucket struct {
	burst, rate float64

	mu      sync.Mutex
	tokens  float64
	last    time.Time
	refused int
}

func newBucket(burst, rate float64) *bucket { return &bucket{burst: burst, rate: rate, tokens: burst} }

// take tells whether it may happen now.
func (b *bucket) take() bool { return b.takeAt(time.Now()) }

func (b *bucket) takeAt(now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.last.IsZero() {
		b.tokens = min(b.burst, b.tokens+b.rate*now.Sub(b.last).Seconds())
	}
	b.last = now
	if b.tokens < 1 {
		b.refused++
		return false
	}
	b.tokens--
	return true
}

// dropped returns how often it was refused.
func (b *bucket) dropped() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.refused
}
