package store

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/mayfly-run/mayfly/engine"
	"github.com/mayfly-run/mayfly/hostfns/cas"
)

// halfRandom compresses to about a half, as memory pages do.
func halfRandom(r *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		if i%64 < 32 {
			b[i] = byte(r.Uint32())
		}
	}
	return b
}

func batchOf(tb testing.TB, r *rand.Rand, size, chunk int) (*cas.Batch, cas.Hash) {
	b := new(cas.Batch)
	var refs []cas.Hash
	for n := 0; n < size; n += chunk {
		h, err := b.Add(cas.Object{Data: halfRandom(r, min(chunk, size-n))})
		if err != nil {
			tb.Fatal(err)
		}
		refs = append(refs, h)
	}
	top, err := b.Add(cas.Object{Refs: refs, Data: []byte(`{"frame":1}`)})
	if err != nil {
		tb.Fatal(err)
	}
	return b, top
}

func BenchmarkCommit(b *testing.B) {
	for _, d := range []Durability{Sync, Async} {
		for _, c := range []struct {
			name        string
			size, chunk int
		}{{"12KB", 12 << 10, 4 << 10}, {"100KB", 100 << 10, 16 << 10}, {"20MB", 20 << 20, 128 << 10}} {
			b.Run(d.String()+"/"+c.name, func(b *testing.B) {
				s := open(b, b.TempDir(), &Options{Durability: d})
				r := rand.New(rand.NewPCG(1, 2))
				commitN(b, s, r, "a", c.size, c.chunk)
			})
		}
	}
}

// commitN commits b.N steps, of which the last three hold their objects, and reports the median.
func commitN(b *testing.B, s *Store, r *rand.Rand, name string, size, chunk int) {
	ctx := context.Background()
	var holds [][]cas.Hash
	var times []time.Duration
	b.SetBytes(int64(size))
	b.ResetTimer()
	for i := range b.N {
		b.StopTimer()
		batch, top := batchOf(b, r, size, chunk)
		c := &engine.Commit{Session: name, Create: i == 0, Step: i, Objects: batch, Holds: []cas.Hash{top},
			Head: make([]byte, 500), Record: make([]byte, 1500)}
		b.StartTimer()
		t := time.Now()
		if err := s.Commit(ctx, c); err != nil {
			b.Fatal(err)
		}
		times = append(times, time.Since(t))
		b.StopTimer()
		if holds = append(holds, c.Holds); len(holds) > 3 {
			if err := s.Release(ctx, name, i-3, holds[0]); err != nil {
				b.Fatal(err)
			}
			holds = holds[1:]
		}
		b.StartTimer()
	}
	b.StopTimer()
	slices.Sort(times)
	b.ReportMetric(float64(times[len(times)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(times[len(times)*99/100].Microseconds())/1000, "p99-ms")
}

func BenchmarkCommitParallel(b *testing.B) {
	s := open(b, b.TempDir(), nil)
	ctx := context.Background()
	batches := make(chan *engine.Commit)
	done := make(chan error, 8)
	for w := range 8 {
		go func() {
			r := rand.New(rand.NewPCG(uint64(w), 2))
			name := fmt.Sprintf("w%d", w)
			var err error
			step := 0
			for range batches {
				batch, top := batchOf(b, r, 12<<10, 4<<10)
				if err == nil {
					err = s.Commit(ctx, &engine.Commit{Session: name, Create: step == 0, Step: step, Objects: batch,
						Holds: []cas.Hash{top}})
				}
				step++
			}
			done <- err
		}()
	}
	b.ResetTimer()
	for range b.N {
		batches <- nil
	}
	close(batches)
	for range 8 {
		if err := <-done; err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkGet(b *testing.B) {
	for _, size := range []int{4 << 10, 128 << 10} {
		b.Run(fmt.Sprintf("%dKB", size>>10), func(b *testing.B) {
			s := open(b, b.TempDir(), nil)
			batch, top := batchOf(b, rand.New(rand.NewPCG(1, 2)), 3<<20, size)
			mustCommit(b, s, &engine.Commit{Session: "a", Create: true, Objects: batch, Holds: []cas.Hash{top}})
			var hashes []cas.Hash
			for h := range batch.All {
				hashes = append(hashes, h)
			}
			b.SetBytes(int64(size))
			for i := 0; b.Loop(); i++ {
				h := hashes[i%(len(hashes)-1)]
				s.cache.drop([]cas.Hash{h})
				if _, err := s.Get(h); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkOpenClose(b *testing.B) {
	for _, c := range []struct {
		name  string
		steps int
	}{{"empty", 0}, {"100steps", 100}, {"3000steps", 3000}} {
		b.Run(c.name, func(b *testing.B) {
			dir := b.TempDir()
			s := open(b, dir, &Options{Durability: None})
			r := rand.New(rand.NewPCG(1, 2))
			for i := range c.steps {
				batch, top := batchOf(b, r, 12<<10, 4<<10)
				if err := s.Commit(context.Background(), &engine.Commit{Session: "a", Create: i == 0, Step: i, Objects: batch,
					Holds: []cas.Hash{top}, Record: make([]byte, 1500), Head: make([]byte, 500)}); err != nil {
					b.Fatal(err)
				}
			}
			if err := s.Close(); err != nil {
				b.Fatal(err)
			}
			var opening time.Duration
			b.ResetTimer()
			n := c.steps
			for range b.N {
				t := time.Now()
				s := open(b, dir, nil)
				opening += time.Since(t)
				if n > 0 { // a command commits one step
					mustCommit(b, s, &engine.Commit{Session: "a", Step: n, Record: make([]byte, 1500)})
					n++
				}
				if err := s.Close(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(opening.Microseconds())/1000/float64(b.N), "open-ms")
		})
	}
}
