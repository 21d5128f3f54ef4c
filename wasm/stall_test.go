package wasm_test

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mayfly-run/mayfly/internal/testgc"
	tg "github.com/mayfly-run/mayfly/wasm/internal/testguest"
)

// stall is the longest time for which a goroutine that wants to run each millisecond did not, while busy runs once for
// each core and the garbage collector starts every 50 ms.
func stall(t *testing.T, busy func(stop *atomic.Bool)) time.Duration {
	var stop atomic.Bool
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() { busy(&stop) })
	}
	stopGC := testgc.Every(t, 50*time.Millisecond)
	var worst time.Duration
	for start, last := time.Now(), time.Now(); time.Since(start) < 600*time.Millisecond; {
		time.Sleep(time.Millisecond)
		now := time.Now()
		worst = max(worst, now.Sub(last)-time.Millisecond)
		last = now
	}
	stop.Store(true)
	stopGC()
	wg.Wait()
	return worst
}

// Guests that compute on every core must not hold up the rest of the process: without ticks, the first garbage
// collection would stop everything for ever. What Go's own goroutines do to each other is the measure, as the machine
// may be busy with other things.
func TestGCStall(t *testing.T) {
	if testing.Short() || raceEnabled {
		t.Skip("measures time")
	}
	im := newImage(t)
	guests := map[string][]byte{
		"loop":        tg.Request(tg.Spin),
		"memory.fill": tg.Request(tg.Fill, tg.Heap+pageSize, 1, 300<<20),
	}
	for name, request := range guests {
		t.Run(name, func(t *testing.T) {
			const limit = 20 * time.Millisecond
			for range 4 {
				baseline := stall(t, func(stop *atomic.Bool) {
					for !stop.Load() {
					}
				})
				worst := stall(t, func(stop *atomic.Bool) { occupy(t, newBox(t, im, nil), request, stop) })
				t.Logf("worst stall %v, with goroutines of Go alone %v", worst, baseline)
				if worst < max(limit, 3*baseline) {
					return
				}
			}
			t.Errorf("a goroutine was held up for more than %v in every attempt", limit)
		})
	}
}

// occupy runs a request again and again until stop is set.
func occupy(t *testing.T, b *box, request []byte, stop *atomic.Bool) {
	b.call(tg.Grow, 301<<20/pageSize)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var wg sync.WaitGroup
	wg.Go(func() {
		for !stop.Load() {
			time.Sleep(time.Millisecond)
		}
		cancel()
	})
	b.o.Grace = -1
	for !stop.Load() {
		// It ends by the kill, or because it was done; only the time counts here.
		if _, _, err := b.im.Call(ctx, b.m, request, &b.o); err != nil {
			break
		}
	}
	wg.Wait()
}
