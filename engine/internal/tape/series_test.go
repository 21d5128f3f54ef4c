package tape

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func writeSeries(list []uint64) series {
	var w seriesWriter
	for _, v := range list {
		w.add(v)
	}
	return w.finish()
}

func readSeries(s series) (list []uint64) {
	for r := s.reader(); ; {
		v, ok := r.next()
		if !ok {
			return list
		}
		list = append(list, v)
	}
}

func TestSeries(t *testing.T) {
	for name, c := range map[string]struct {
		list []uint64
		size int // at most
	}{
		"empty":        {nil, 0},
		"one":          {[]uint64{0}, 1},
		"three small":  {[]uint64{4, 0, 3}, 1},
		"four small":   {[]uint64{4, 0, 3, 1}, 2},
		"bytes":        {[]uint64{5, 127, 6}, 3},
		"small, large": {[]uint64{1, 2, 128, 3}, 6},
		"large":        {[]uint64{math.MaxUint64}, 11},
		"short run":    {slices.Repeat([]uint64{9}, 11), 11},
		"run":          {slices.Repeat([]uint64{9}, 100_000), 5},
		"zeros":        {make([]uint64, 100_000), 5},
		"run of large": {slices.Repeat([]uint64{1 << 20}, 50), 6},
		"mixed":        {append(slices.Repeat([]uint64{1}, 40), 2, 2, 700, 1, 0), 20},
	} {
		s := writeSeries(c.list)
		if got := readSeries(s); !slices.Equal(got, c.list) {
			t.Errorf("%s: read %v", name, got)
		}
		if len(s.data) > c.size || s.count != uint64(len(c.list)) {
			t.Errorf("%s: %d bytes, %d numbers", name, len(s.data), s.count)
		}
		r := s.reader()
		for i := range c.list {
			if left := r.left(); left != uint64(len(c.list)-i) {
				t.Errorf("%s: %d left at %d", name, left, i)
			}
			if r.next(); i > 20 {
				break
			}
		}
	}
}

func TestRandomSeries(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		var list []uint64
		var sum uint64
		for range r.IntN(60) {
			v := r.Uint64N(1 << r.IntN(30))
			n := 1 + r.IntN(1+r.IntN(30))
			list = append(list, slices.Repeat([]uint64{v}, n)...)
			sum += v * uint64(n)
		}
		s := writeSeries(list)
		if got := readSeries(s); !slices.Equal(got, list) {
			t.Fatalf("seed %d: read %v, wrote %v", seed, got, list)
		}
		if got, err := s.check(sum); got != sum || err != nil {
			t.Fatalf("seed %d: sum %d, %v; want %d", seed, got, err, sum)
		}
		if sum > 0 {
			if _, err := s.check(sum - 1); !errors.Is(err, ErrDamaged) {
				t.Fatalf("seed %d: %v", seed, err)
			}
		}
	}
}

func TestDamagedSeries(t *testing.T) {
	for name, s := range map[string]series{
		"number cut off": {[]byte{tokenNumber, 0x80}, 1},
		"number missing": {[]byte{tokenNumber}, 1},
		"run cut off":    {[]byte{tokenRun, 1}, 1},
		"run of nothing": {[]byte{tokenRun, 1, 0}, 0},
		"unknown token":  {[]byte{0xfd}, 1},
		"too many":       {[]byte{1, 2}, 1},
		"too few":        {[]byte{1}, 2},
		"run too long":   {[]byte{tokenRun, 0, 50}, 49},
		"sum":            {[]byte{100, 1}, 2},
		"overflow":       {append([]byte{tokenRun, 3}, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1), math.MaxUint64},
	} {
		if _, err := s.check(100); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
