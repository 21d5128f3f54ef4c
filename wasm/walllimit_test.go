package wasm

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestWallLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewWallLimit(10 * time.Second)
		over := make(chan struct{})
		time.Sleep(time.Hour) // it did not begin
		began := time.Now()
		l.start(func() { close(over) })
		time.Sleep(4 * time.Second)
		first, second := l.Pause(), l.Pause()
		time.Sleep(time.Hour)
		first()
		first() // once is enough
		time.Sleep(time.Hour)
		if l.reached() {
			t.Error("reached while it was paused")
		}
		second()
		time.Sleep(5 * time.Second)
		if l.reached() {
			t.Error("reached too early")
		}
		<-over
		if took := time.Since(began); took != 2*time.Hour+10*time.Second || !l.reached() {
			t.Errorf("over after %v, reached %v", took, l.reached())
		}
		l.stop()
		l.Pause()() // after the call
	})
}

func TestWallLimitOfACallThatEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewWallLimit(time.Second)
		l.start(func() { t.Error("over, though the call has ended") })
		l.stop()
		none := NewWallLimit(0)
		none.start(func() { t.Error("there is no limit") })
		time.Sleep(time.Hour)
		if none.reached() {
			t.Error("no limit is reached")
		}
		none.stop()
	})
}
