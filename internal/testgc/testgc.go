// Package testgc has the garbage collector run all the time, for tests of what it may not find in a wrong state or stop
// the world for: compiled WebAssembly, its stacks, and memory that Go does not know of.
package testgc

import (
	"runtime"
	"testing"
	"time"
)

// Every runs the garbage collector with pauses between, which may be 0, until the test ends or stop is called. stop returns
// when the last collection is over, and may be called more than once.
func Every(t testing.TB, pause time.Duration) (stop func()) {
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			runtime.GC()
			select {
			case <-quit:
				return
			case <-time.After(pause):
			}
		}
	}()
	stopped := false
	stop = func() {
		if !stopped {
			stopped = true
			close(quit)
		}
		<-done
	}
	t.Cleanup(stop)
	return stop
}
