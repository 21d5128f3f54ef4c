package bench

import (
	"math"
	"slices"
	"time"
)

// Quantiles summarise a series of measurements. The unit is in the name of the field that holds them.
type Quantiles struct {
	P50 float64 `json:"p50"`
	P99 float64 `json:"p99"`
}

// quantiles summarises durations in the given unit.
func quantiles(d []time.Duration, unit time.Duration) Quantiles {
	v := make([]float64, len(d))
	for i := range d {
		v[i] = float64(d[i]) / float64(unit)
	}
	return Quantiles{P50: round(percentile(v, 50)), P99: round(percentile(v, 99))}
}

// round drops the digits that no measurement here has.
func round(x float64) float64 { return math.Round(x*1000) / 1000 }

// percentile returns the p-th percentile by the nearest-rank method: a value that was really measured, and with few
// samples the largest rather than something below it. It is NaN without samples.
func percentile(v []float64, p float64) float64 {
	if len(v) == 0 {
		return math.NaN()
	}
	v = slices.Sorted(slices.Values(v))
	rank := int(math.Ceil(p / 100 * float64(len(v))))
	return v[min(max(rank, 1), len(v))-1]
}

// geomean returns the geometric mean of positive values, the mean that fits ratios. It is NaN when there are none or one
// is not positive.
func geomean(v []float64) float64 {
	if len(v) == 0 {
		return math.NaN()
	}
	sum := 0.0
	for _, x := range v {
		if !(x > 0) {
			return math.NaN()
		}
		sum += math.Log(x)
	}
	return math.Exp(sum / float64(len(v)))
}
