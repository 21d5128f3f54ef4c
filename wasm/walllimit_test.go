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
		l.Rest()
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

// A guest that has something asked and goes on meanwhile has no more time than others.
func TestWallLimitOfABusyGuest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewWallLimit(10 * time.Second)
		over := make(chan struct{})
		began := time.Now()
		l.start(func() { close(over) })
		defer l.Pause()()
		idle := l.whileIdle(nil)
		time.Sleep(3 * time.Second)
		idle(t.Context(), true)
		time.Sleep(time.Hour)
		l.Work() // a copy of it
		time.Sleep(3 * time.Second)
		l.Rest()
		time.Sleep(time.Hour)
		idle(t.Context(), false)
		<-over
		if took := time.Since(began); took != 2*time.Hour+10*time.Second {
			t.Errorf("over after %v", took)
		}
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
