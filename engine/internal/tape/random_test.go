package tape_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/mayfly-run/mayfly/engine/internal/tape"
)

// run is a program of source calls, the same for the same seed. It returns what it learned. Each answer decides what is
// done next, as in a real guest.
func run(tp *tape.Tape, seed uint64, in io.Reader, sleep func(time.Duration)) (learned []string) {
	r := rand.New(rand.NewPCG(seed, 7))
	stdin := tp.Stdin(in)
	for range r.IntN(200) {
		var got any
		switch r.IntN(8) {
		case 0:
			b := make([]byte, r.IntN(70))
			_, err := tp.Rand().Read(b)
			got = fmt.Sprint(b, err)
		case 1:
			got = tp.Walltime().UnixNano()
		case 2:
			got = tp.Monotonic()
		case 3:
			got = tp.CPUTime()
		case 4:
			got = tp.FileTime()
		case 5:
			b := make([]byte, r.IntN(9))
			n, err := stdin.Read(b)
			got = fmt.Sprint(b[:n], err)
		case 6:
			request := fmt.Appendf(nil, "%d %v", r.IntN(9), learned[max(0, len(learned)-3):])
			got = fmt.Sprint(tp.Call(request, func() []byte { return slices.Repeat([]byte("a"), rand.IntN(100)) }))
		case 7:
			sleep(time.Duration(r.Int64N(1 << r.IntN(35))))
		}
		learned = append(learned, fmt.Sprint(got))
		if len(fmt.Sprint(got))%3 == 0 { // a decision
			learned = append(learned, tp.Walltime().String())
		}
	}
	return learned
}

func TestRandomProgramsRepeat(t *testing.T) {
	n := uint64(400)
	if testing.Short() {
		n = 100
	}
	synctest.Test(t, func(t *testing.T) {
		tp := tape.New()
		tp.SetBase(time.Second)
		for seed := range n {
			in := io.Reader(strings.NewReader(strings.Repeat("standard input ", int(seed%20))))
			if seed%2 == 0 {
				in = iotest.HalfReader(in)
			}
			tp.Record([32]byte{}, time.Now(), tape.Limits{})
			first := run(tp, seed, in, time.Sleep)
			r, _ := tp.End()
			r = stored(t, r)
			if !r.Steady() {
				t.Fatalf("seed %d: %v", seed, r.Incomplete)
			}
			if err := tp.Play(r); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			again := run(tp, seed, nil, func(time.Duration) {})
			if _, d := tp.End(); d != nil || !slices.Equal(first, again) {
				t.Fatalf("seed %d: %v\n%v\n%v", seed, d, first, again)
			}
			// Another program does not repeat it, and ends nonetheless.
			if err := tp.Play(r); err != nil {
				t.Fatal(err)
			}
			run(tp, seed+1, nil, func(time.Duration) {})
			if _, d := tp.End(); d == nil && len(first) > 20 {
				t.Fatalf("seed %d: no divergence", seed)
			}
		}
	})
}
