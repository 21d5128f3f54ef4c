package rewrite_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/mayfly-run/mayfly/wasm/internal/testguest"
	"github.com/mayfly-run/mayfly/wasm/rewrite"
)

// toI64 is the code that turns what a load pushes, or what a store wants, into an i64 and back, and the bytes accessed.
var toI64 = map[byte]struct {
	to, from []byte
	size     uint64
}{
	0x28: {to: []byte{0xad}, size: 4}, 0x29: {size: 8}, 0x2a: {to: []byte{0xbc, 0xad}, size: 4}, 0x2b: {to: []byte{0xbd}, size: 8},
	0x2c: {to: []byte{0xad}, size: 1}, 0x2d: {to: []byte{0xad}, size: 1}, 0x2e: {to: []byte{0xad}, size: 2}, 0x2f: {to: []byte{0xad}, size: 2},
	0x30: {size: 1}, 0x31: {size: 1}, 0x32: {size: 2}, 0x33: {size: 2}, 0x34: {size: 4}, 0x35: {size: 4},
	0x36: {from: []byte{0xa7}, size: 4}, 0x37: {size: 8}, 0x38: {from: []byte{0xa7, 0xbe}, size: 4}, 0x39: {from: []byte{0xbf}, size: 8},
	0x3a: {from: []byte{0xa7}, size: 1}, 0x3b: {from: []byte{0xa7}, size: 2}, 0x3c: {size: 1}, 0x3d: {size: 2}, 0x3e: {size: 4},
}

// access appends a load into the sum in local 1, or a store of that sum, with an address that addr pushes.
func access(c *testguest.Code, op byte, offset uint32, addr func()) {
	conv := toI64[op]
	if op >= 0x36 {
		addr()
		c.Get(1).Raw(conv.from...).Mem(op, offset)
		return
	}
	c.Get(1).I64(31).Raw(0x7e) // i64.mul
	addr()
	c.Mem(op, offset).Raw(conv.to...).Raw(0x7c).Set(1)
}

// Loads and stores of every width, through one local, with offsets that rise, fall and jump.
func TestAccesses(t *testing.T) {
	orders := map[string][]uint32{
		"one":     {24},
		"rising":  {0, 8, 16, 200, 4000},
		"falling": {4000, 200, 16, 8, 0},
		"jumping": {8, 4000, 0, 200, 65519, 16, 65512, 70000},
	}
	for name, offsets := range orders {
		m := newModule(3)
		for op := range toI64 {
			c := code()
			for _, off := range offsets {
				access(c, op, off, func() { c.Get(0) })
			}
			m.Export(fmt.Sprintf("f%x", op), testguest.KindFunc, m.Func("il:l", "", c.Get(1)))
		}
		t.Run(name, func(t *testing.T) {
			x := newTrio(t, m.Bytes(), nil)
			x.seed()
			highest := uint64(slices.Max(offsets))
			for op, conv := range toI64 {
				for _, base := range []uint64{0, 1, 4093, 3*page - highest - conv.size} {
					if o := x.call(fmt.Sprintf("f%x", op), base, 0x8182838485868788); o.err != nil {
						t.Errorf("op %#x at %d traps", op, base)
					}
				}
			}
		})
	}
}

// An early check must never trap where the program would not have: the lowest access of a function may be the only one
// that happens, and it may be of the memory's last byte.
func TestCheckAtEndOfMemory(t *testing.T) {
	const highest = page - 16 - 8
	c := code().Get(0).Raw(0x2d, 0, 0).Set(1) // i32.load8_u of the first byte
	c.Get(1).If(testguest.Void)
	for off := uint32(0); off <= highest; off += 1001 {
		c.Get(0).Get(1).Mem(0x36, off)
	}
	c.Get(0).I64(1).Mem(0x37, highest).End()
	x := newTrio(t, module1(2, "i:i", "i", c.Get(1)), nil)
	if x.stats.Covered == 0 {
		t.Error("no check was merged")
	}
	for _, addr := range []uint64{2*page - 1, 2*page - 2, page, 0} {
		if o := x.call("f", addr); o.err != nil {
			t.Errorf("byte %#x traps", addr)
		}
	}
	// With the other accesses too, as high as they fit. Only a fault on the guard page goes unnoticed by the guest.
	x.seed()
	x.original.mod.Memory().WriteByte(page, 1)
	for _, in := range x.others {
		in.mod.Memory().WriteByte(page, 1)
	}
	if o := x.call("f", page); o.err != nil {
		t.Error(o.err)
	}
}

// What lies behind the guest's memory: the guard page, which swallows accesses, and then a trap in any case.
func TestBehindMemory(t *testing.T) {
	m := newModule(1)
	m.Export("load", testguest.KindFunc, m.Func("i:i", "", code().Get(0).Mem(0x28, 0)))
	m.Export("far", testguest.KindFunc, m.Func("i:i", "", code().Get(0).Mem(0x28, 0xfffffff0)))
	m.Export("store", testguest.KindFunc, m.Func("ii:", "", code().Get(0).Get(1).Mem(0x36, 12)))
	tests := []struct {
		name           string
		args           []uint64
		guest, runtime bool // does it trap in the module as it was, and rewritten
	}{
		{"load", []uint64{page - 4}, false, false},
		{"load", []uint64{page - 3}, true, false},
		{"load", []uint64{page}, true, false},
		{"load", []uint64{2*page - 4}, true, false},
		{"load", []uint64{2*page - 3}, true, true},
		{"load", []uint64{2 * page}, true, true},
		{"load", []uint64{0xffffffff}, true, true},
		{"far", []uint64{0}, true, true},
		{"far", []uint64{0x10}, true, true},
		{"store", []uint64{page - 16, 1}, false, false},
		{"store", []uint64{page - 12, 1}, true, false},
		{"store", []uint64{2 * page, 1}, true, true},
		{"store", []uint64{0xfffffff8, 1}, true, true},
	}
	x := newTrio(t, m.Bytes(), nil)
	for _, tt := range tests {
		if o := x.original.call(tt.name, tt.args...); (o.err != nil) != tt.guest {
			t.Errorf("original %s(%#x): %v", tt.name, tt.args, o.err)
		}
		for engine, in := range x.others {
			if o := in.call(tt.name, tt.args...); (o.err != nil) != tt.runtime {
				t.Errorf("rewritten %s(%#x) in the %s: %v", tt.name, tt.args, engine, o.err)
			}
		}
	}
	x.check("memory", outcome{memory: x.original.memory()}, func(in *instance) outcome { return outcome{memory: in.memory()} })
}

// Constant addresses share one check.
func TestStaticAddresses(t *testing.T) {
	c := code()
	for op := range 0x3f - 0x28 {
		for _, addr := range []int32{5, 70000, 1024, 2*page - 64} {
			access(c, byte(0x28+op), uint32(op), func() { c.I32(addr) })
		}
	}
	m := newModule(2)
	m.Export("f", testguest.KindFunc, m.Func("il:l", "", c.Get(1)))
	// Behind the initial memory: reachable only after a growth.
	m.Export("behind", testguest.KindFunc, m.Func(":i", "", code().I32(100).Mem(0x28, 0).Op(0x1a).I32(3*page-8).Mem(0x28, 4)))
	m.Export("grow", testguest.KindFunc, m.Func("i:i", "", code().Get(0).Op(0x40, 0)))
	x := newTrio(t, m.Bytes(), nil)
	x.seed()
	x.call("f", 0, 12345)
	for engine, in := range x.others {
		in.call("grow", 1)
		if o := in.call("behind"); o.err != nil {
			t.Errorf("%s: %v", engine, o.err)
		}
	}
	x.original.call("grow", 1)
	x.call("behind")
}

// Without merging nothing is covered, and the results are the same.
func TestKeepChecks(t *testing.T) {
	c := code().Get(0).Mem(0x28, 8).Get(0).Mem(0x28, 0).Raw(0x6a).I32(16).Mem(0x28, 0).Raw(0x6a).I32(32).Mem(0x28, 0).Raw(0x6a)
	bin := module1(1, "i:i", "", c)
	for _, keep := range []bool{false, true} {
		x := newTrio(t, bin, &rewrite.Options{KeepChecks: keep})
		x.seed()
		x.call("f", 1000)
		if (x.stats.Covered == 0) != keep || x.stats.Accesses != 4 {
			t.Errorf("keep %v: %+v", keep, x.stats)
		}
	}
}
