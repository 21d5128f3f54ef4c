package sched_test

import (
	"context"
	"testing"

	"github.com/mayfly-run/mayfly/wasm/sched"
)

// nothing is a machine that exchanges nothing, so that only the scheduler is measured.
type nothing struct{}

func (nothing) Save(*sched.Thread)    {}
func (nothing) Load(*sched.Thread)    {}
func (nothing) Preempt(*sched.Thread) {}

func BenchmarkTick(b *testing.B) {
	for name, others := range map[string]int{"nobody ready": 0, "others ready": 3} {
		b.Run(name, func(b *testing.B) {
			s := sched.New(nothing{}, sched.Options{})
			for range others {
				if err := s.Start(context.Background(), nil, func(*sched.Thread) error { return nil }); err != nil {
					b.Fatal(err)
				}
			}
			for b.Loop() {
				s.First().Tick()
			}
			if err := s.Finish(); err != nil {
				b.Error(err)
			}
		})
	}
}

// BenchmarkYield is a switch, and the one back.
func BenchmarkYield(b *testing.B) {
	s := sched.New(nothing{}, sched.Options{})
	err := s.Start(context.Background(), nil, func(t *sched.Thread) error {
		return caught(func() {
			for {
				t.Yield()
			}
		})
	})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		s.First().Yield()
	}
	if err := s.Finish(); err != nil {
		b.Error(err)
	}
}
