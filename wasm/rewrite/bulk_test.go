package rewrite_test

import (
	"fmt"
	"testing"

	"github.com/mayfly-run/mayfly/wasm/internal/testguest"
)

// memory.copy and memory.fill of more than the chunk, overlapping in both directions, and outside of the memory.
func TestBulk(t *testing.T) {
	m := newModule(64)
	m.Export("copy", testguest.KindFunc, m.Func("iii:", "", code().Get(0).Get(1).Get(2).Raw(0xfc, 10, 0, 0)))
	m.Export("fill", testguest.KindFunc, m.Func("iii:", "", code().Get(0).Get(1).Get(2).Raw(0xfc, 11, 0)))
	const mib, size = 1 << 20, 64 * page
	tests := []struct {
		name  string
		args  [3]uint64
		ticks int
	}{
		{"copy", [3]uint64{100, 200, 5000}, 0},
		{"copy", [3]uint64{0, mib, mib}, 0},
		{"copy", [3]uint64{0, 12345, 3*mib + 77}, 3},
		{"copy", [3]uint64{12345, 0, 3*mib + 77}, 3},
		{"copy", [3]uint64{1, 0, size - 1}, 3},
		{"copy", [3]uint64{0, 1, size - 1}, 3},
		{"copy", [3]uint64{5, 5, 2 * mib}, 1},
		{"copy", [3]uint64{0, 2 * mib, 2 * mib}, 1},
		{"copy", [3]uint64{size, 0, 0}, 0},
		{"fill", [3]uint64{3, 0x1ff, 2*mib + 1}, 2},
		{"fill", [3]uint64{size - 10, 7, 10}, 0},
		{"fill", [3]uint64{size, 7, 0}, 0},
	}
	x := newTrio(t, m.Bytes(), nil)
	for _, tt := range tests {
		x.seed()
		for _, in := range x.others {
			in.ticks = 0
		}
		if o := x.call(tt.name, tt.args[:]...); o.err != nil {
			t.Errorf("%s%v: %v", tt.name, tt.args, o.err)
		}
		for engine, in := range x.others {
			if in.ticks != tt.ticks {
				t.Errorf("%s%v in the %s: %d ticks, want %d", tt.name, tt.args, engine, in.ticks, tt.ticks)
			}
		}
	}
	for _, args := range [][]uint64{
		{size, 0, page + 1}, {0, size, page + 1}, {3 * mib, 0, 2 * mib}, {0, 3 * mib, 2 * mib}, {0xfff80000, 0, 3 * mib},
		{0, 0, 0xffffffff}, {0xffffffff, 0, 2}, {0, 0xffffffff, 2},
	} {
		x.call("copy", args...)
		x.call("fill", args[0], 0, args[2]|1<<31)
	}
}

// Short lengths, which may be done in another way than by the instruction, whether the length is known or not. The
// patterns overlap in both directions, and the values of memory.fill have bits that do not count.
func TestBulkShort(t *testing.T) {
	m := newModule(1)
	m.Export("copy", testguest.KindFunc, m.Func("iii:", "", code().Get(0).Get(1).Get(2).Raw(0xfc, 10, 0, 0)))
	m.Export("fill", testguest.KindFunc, m.Func("iii:", "", code().Get(0).Get(1).Get(2).Raw(0xfc, 11, 0)))
	lengths := []int32{0, 1, 7, 8, 9, 63, 64, 65, 72, 127, 128, 129, 300, 5000}
	for _, n := range lengths {
		m.Export(fmt.Sprint("copy", n), testguest.KindFunc, m.Func("ii:", "", code().Get(0).Get(1).I32(n).Raw(0xfc, 10, 0, 0)))
		m.Export(fmt.Sprint("fill", n), testguest.KindFunc, m.Func("ii:", "", code().Get(0).Get(1).I32(n).Raw(0xfc, 11, 0)))
	}
	x := newTrio(t, m.Bytes(), nil)
	for _, n := range lengths {
		for _, p := range [][2]uint64{{1000, 1000}, {1000, 1001}, {1001, 1000}, {1000, 1008}, {1009, 1000}, {3, 60000}} {
			x.seed()
			x.call("copy", p[0], p[1], uint64(n))
			x.call(fmt.Sprint("copy", n), p[0]+20000, p[1])
			x.call("fill", p[0], p[1]<<8|0xa5, uint64(n))
			x.call(fmt.Sprint("fill", n), p[0]+20000, p[1]<<8|0x5a)
		}
		end := page - uint64(n)
		for _, o := range []outcome{x.call("fill", end, 3, uint64(n)), x.call(fmt.Sprint("copy", n), end, 0), x.call("copy", 0, end, uint64(n))} {
			if o.err != nil {
				t.Errorf("%d bytes at the end: %v", n, o.err)
			}
		}
	}
}

// Only lengths that are known to be short do without ticks, and none that is long.
func TestBulkConstantLength(t *testing.T) {
	const long = 3<<20 + 5
	m := newModule(64)
	m.Export("copy", testguest.KindFunc, m.Func(":", "", code().I32(100).I32(200).I32(long).Raw(0xfc, 10, 0, 0)))
	m.Export("fill", testguest.KindFunc, m.Func(":", "", code().I32(100).I32(200).I32(long).Raw(0xfc, 11, 0)))
	x := newTrio(t, m.Bytes(), nil)
	x.seed()
	for _, name := range []string{"copy", "fill"} {
		x.call(name)
	}
	for engine, in := range x.others {
		if in.ticks != 6 {
			t.Errorf("%s: %d ticks", engine, in.ticks)
		}
	}
}
