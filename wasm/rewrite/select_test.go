package rewrite_test

import (
	"encoding/binary"
	"math"
	"runtime"
	"testing"

	"github.com/mayfly-run/mayfly/wasm/internal/testguest"
	"github.com/mayfly-run/mayfly/wasm/rewrite"
)

// Selects of floats pass every bit, those of NaNs included.
func TestFloatSelect(t *testing.T) {
	m := newModule(1)
	m.Export("f32", testguest.KindFunc, m.Func("iii:i", "", code().
		Get(0).Raw(0xbe).Get(1).Raw(0xbe).Get(2).Raw(0x1b, 0xbc)))
	m.Export("f64", testguest.KindFunc, m.Func("lli:l", "", code().
		Get(0).Raw(0xbf).Get(1).Raw(0xbf).Get(2).Raw(0x1b, 0xbd)))
	m.Export("typed", testguest.KindFunc, m.Func("lli:l", "", code().
		Get(0).Raw(0xbf).Get(1).Raw(0xbf).Get(2).Raw(0x1c, 1, 0x7c, 0xbd)))
	m.Export("nested", testguest.KindFunc, m.Func("ddi:d", "", code().
		Get(0).Get(1).Get(2).Raw(0x1b).Get(1).Get(0).Get(2).Raw(0x1b).Get(2).I32(2).Raw(0x49, 0x1b)))
	m.Export("i32", testguest.KindFunc, m.Func("iii:i", "", code().Get(0).Get(1).Get(2).Raw(0x1b)))
	x := newTrio(t, m.Bytes(), nil)
	if x.stats.FloatSelects != 6 {
		t.Errorf("%d selects were exchanged", x.stats.FloatSelects)
	}
	bits32 := []uint64{0, 0x80000000, 0x3f800000, 0x7f800000, 0x7fc00001, 0x7f800001, 0xffa5a5a5}
	bits64 := []uint64{0, 1 << 63, 0x3ff0000000000000, 0x7ff0000000000000, 0x7ff8000000000001, 0x7ff0000000000001, 0xfff5a5a5a5a5a5a5}
	for i := range bits32 {
		for _, cond := range []uint64{0, 1, 2, 0x80000000} {
			j := (i + 3) % len(bits32)
			x.call("f32", bits32[i], bits32[j], cond)
			x.call("i32", bits32[i], bits32[j], cond)
			x.call("f64", bits64[i], bits64[j], cond)
			x.call("typed", bits64[i], bits64[j], cond)
			x.call("nested", bits64[i], bits64[j], cond)
		}
	}
}

// aroundCalls selects between a number that a call has driven out of its register, and the result of that call, which
// stands in a register already. While it loads the first, the register allocator gives away the register of the second,
// half-way through the select. For the numbers 1.25 and 2.25 and the condition 0 the result is 7.
func aroundCalls(typ byte) []byte {
	load, add, local := byte(0x2b), byte(0xa0), "d"
	if typ == testguest.F32T {
		load, add, local = 0x2a, 0x92, "f"
	}
	m := newModule(1)
	f := m.NextFunc()
	m.Func("i:"+local, local+local, code().
		Get(0).Mem(load, 64).Set(1).Get(0).Mem(load, 72).Set(2).
		Get(2).Get(1).Call(f+1).Set(1).
		Get(2).Get(1).Get(0).Raw(0x1b).Get(1).Call(f+1))
	m.Func(local+local+":"+local, "", code().Get(0).Get(1).Raw(add))
	m.Export("f", testguest.KindFunc, f)
	return m.Bytes()
}

// TestSelectMiscompiled is the regression test for https://github.com/tetratelabs/wazero/issues/2534: up to v1.12.0, the
// compiler for amd64 may lose the second operand of a select between floats. The rewritten module has no such select.
// When the log says that the compiler is right, the rewriting can go.
func TestSelectMiscompiled(t *testing.T) {
	for name, typ := range map[string]byte{"f64": testguest.F64T, "f32": testguest.F32T} {
		x := newTrio(t, aroundCalls(typ), nil)
		plain := instantiate(t, compiler(), aroundCalls(typ), nil)
		var numbers []byte
		for _, v := range []float64{1.25, 2.25} {
			bits := math.Float64bits(v)
			if typ == testguest.F32T {
				bits = uint64(math.Float32bits(float32(v)))
			}
			numbers = binary.LittleEndian.AppendUint64(numbers, bits)
		}
		for _, in := range []*instance{x.original, plain, x.others["compiler"], x.others["interpreter"]} {
			in.mod.Memory().Write(64, numbers)
		}
		want := x.call("f", 0)
		if seven := map[string]uint64{"f64": math.Float64bits(7), "f32": uint64(math.Float32bits(7))}[name]; want.results[0] != seven {
			t.Errorf("%s: the interpreter returns %#x", name, want.results[0])
		}
		if d := want.diff(plain.call("f", 0)); d != "" {
			t.Logf("%s: wazero's compiler for %s is wrong without the rewriter: %s", name, runtime.GOARCH, d)
		} else {
			t.Logf("%s: wazero's compiler for %s is right without the rewriter", name, runtime.GOARCH)
		}
	}
}

// Ticks are a measure: the same program takes the same number of them everywhere.
func TestTicks(t *testing.T) {
	loop := code().Loop(testguest.Void).Get(0).I32(1).Raw(0x6b).Tee(0).Op(0x0d, 0).End()
	m := newModule(1)
	m.Export("f", testguest.KindFunc, m.Func("i:", "", loop))
	tests := []struct {
		name     string
		interval int32
		n, want  int
	}{
		{"f", 100, 100, 0},
		{"f", 100, 101, 1},
		{"f", 100, 10_000, 99},
		{"f", 1, 1000, 500},
		{"f", 0, 3 * rewrite.DefaultInterval, 2},
	}
	for _, tt := range tests {
		x := newTrio(t, m.Bytes(), &rewrite.Options{Interval: tt.interval})
		x.call(tt.name, uint64(tt.n))
		for engine, in := range x.others {
			if in.ticks != tt.want {
				t.Errorf("%s(%d), interval %d, %s: %d ticks, want %d", tt.name, tt.n, tt.interval, engine, in.ticks, tt.want)
			}
		}
	}
}
