package bench

import (
	"math"
	"testing"
	"time"
)

func TestPercentile(t *testing.T) {
	hundred := make([]float64, 100)
	for i := range hundred {
		hundred[i] = float64(100 - i) // not sorted
	}
	for _, tt := range []struct {
		v    []float64
		p    float64
		want float64
	}{
		{hundred, 50, 50},
		{hundred, 99, 99},
		{hundred, 100, 100},
		{hundred, 0, 1},
		{[]float64{7}, 50, 7},
		{[]float64{7}, 99, 7},
		{[]float64{3, 1, 2}, 50, 2},
		{[]float64{3, 1, 2}, 99, 3},
		{[]float64{4, 1, 3, 2}, 50, 2},
	} {
		if got := percentile(tt.v, tt.p); got != tt.want {
			t.Errorf("p%v of %d values: got %v, want %v", tt.p, len(tt.v), got, tt.want)
		}
	}
	if hundred[0] != 100 {
		t.Error("the values were sorted in place")
	}
	if got := percentile(nil, 50); !math.IsNaN(got) {
		t.Errorf("of nothing: got %v", got)
	}
}

func TestQuantiles(t *testing.T) {
	d := []time.Duration{3 * time.Millisecond, 1500 * time.Microsecond, 2 * time.Millisecond}
	if got, want := quantiles(d, time.Microsecond), (Quantiles{2000, 3000}); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
	if got, want := quantiles(d, time.Millisecond), (Quantiles{2, 3}); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestGeomean(t *testing.T) {
	if got := geomean([]float64{1, 4, 16}); math.Abs(got-4) > 1e-12 {
		t.Errorf("got %v, want 4", got)
	}
	if got := geomean([]float64{2.5}); math.Abs(got-2.5) > 1e-12 {
		t.Errorf("got %v, want 2.5", got)
	}
	for _, v := range [][]float64{nil, {1, 0}, {1, -2}, {1, math.NaN()}} {
		if got := geomean(v); !math.IsNaN(got) {
			t.Errorf("of %v: got %v, want NaN", v, got)
		}
	}
}
