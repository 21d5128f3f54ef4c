package rewrite_test

import (
	"testing"

	"github.com/mayfly-run/mayfly/wasm/internal/testguest"
)

const (
	void = testguest.Void
	i32t = testguest.I32T
)

// args1 are arguments for functions with one parameter.
var args1 = [][]uint64{{0}, {1}, {2}, {3}, {7}, {1000}, {0xffffffff}}

// Control flow of every kind: the walker has to follow the operand stack through it, and checks and constants that it
// moves have to stay right on every path.
func TestControlFlow(t *testing.T) {
	// Types of blocks with parameters: added first, so that their indices are below 64.
	types := func(m *testguest.Module) { m.TypeIndex("ii:ii"); m.TypeIndex("i:i"); m.TypeIndex("i:") }
	const pairs, same, consume = 1, 2, 3
	tests := []struct {
		name   string
		sig    string
		locals string
		code   *testguest.Code
	}{
		// A conditional branch takes the constant along as the block's result, and leaves it as an address.
		{"constant is address and result", "i:i", "", code().
			I32(64).Mem(0x28, 0).Op(0x1a).I32(96).Mem(0x28, 0).Op(0x1a).
			Block(i32t).I32(8).Get(0).Op(0x0d, 0).Mem(0x28, 0).End()},
		{"constant is address and parameter of a loop", "i:i", "i", code().
			I32(64).Mem(0x28, 0).Op(0x1a).I32(96).Mem(0x28, 0).Op(0x1a).
			I32(12).Loop(same).Tee(1).Op(0x1a).Get(0).I32(1).Raw(0x76).Tee(0).Op(0x1a).
			I32(20).Get(0).Op(0x0d, 0).Mem(0x28, 0).End().Get(1).Raw(0x6a)},
		{"constant passes a branch without operands", "i:i", "", code().
			I32(64).Mem(0x28, 0).Op(0x1a).Block(void).I32(8).Get(0).Op(0x0d, 0).Mem(0x28, 0).Op(0x1a).End().I32(3)},
		{"local changes between push and use", "i:i", "", code().
			Get(0).I32(255).Raw(0x71).Set(0).
			Get(0).I32(512).Set(0).Mem(0x28, 4000).Get(0).Mem(0x28, 0).Raw(0x6a)},
		{"local changes in a branch", "i:i", "i", code().
			I32(100).Set(1).Get(1).Mem(0x28, 8).
			Get(0).If(void).I32(200).Set(1).Else().I32(300).Set(1).End().
			Get(1).Mem(0x28, 0).Raw(0x6a).Get(1).Mem(0x28, 600).Raw(0x6a)},
		{"local changes in a loop", "i:i", "ii", code().
			I32(10).Set(1).
			Loop(void).Get(1).Mem(0x28, 40).Get(1).Mem(0x28, 0).Raw(0x6a).Get(2).Raw(0x6a).Set(2).
			Get(1).I32(4).Raw(0x6a).Tee(1).I32(1000).Raw(0x49).Op(0x0d, 0).End().Get(2)},
		{"address from tee", "i:i", "i", code().
			Get(0).I32(1023).Raw(0x71).Tee(1).Mem(0x28, 100).Get(1).Mem(0x28, 4).Raw(0x6a)},
		{"br_table", "i:i", "i", code().
			Block(void).Block(void).Block(void).Get(0).Raw(0x0e, 3, 0, 1, 2, 1).End().
			I32(16).Mem(0x28, 0).Set(1).Op(0x0c, 1).End().I32(32).Mem(0x28, 4).Set(1).End().Get(1).Get(0).Raw(0x6a)},
		{"br_table with operands", "i:i", "", code().
			Block(i32t).Block(i32t).I32(5).Get(0).Raw(0x0e, 1, 0, 1).End().I32(10).Raw(0x6a).End()},
		{"nested loops", "i:i", "iii", code().
			I32(5).Set(1).Loop(void).I32(7).Set(2).
			Loop(void).Get(3).Get(1).Get(2).Raw(0x6c).Raw(0x6a).Set(3).Get(2).I32(1).Raw(0x6b).Tee(2).Op(0x0d, 0).End().
			Get(1).I32(1).Raw(0x6b).Tee(1).Op(0x0d, 0).End().Get(3)},
		{"blocks with parameters", "i:i", "", code().
			Get(0).I32(3).Block(pairs).Raw(0x6a).I32(9).End().Raw(0x6b)},
		{"loop with parameters", "i:i", "", code().
			I32(10).I32(0).Loop(pairs).I32(1).Raw(0x6a).Set(0).I32(1).Raw(0x6b).Get(0).Get(0).I32(6).Raw(0x49).Op(0x0d, 0).End().Raw(0x6c)},
		{"if with a parameter", "i:i", "", code().
			Get(0).I32(2).Raw(0x6f).I32(40).Get(0).If(same).Mem(0x28, 0).Else().I32(2).Raw(0x6c).End().Raw(0x6a)},
		{"block that consumes", "i:i", "", code().Get(0).Block(consume).Op(0x1a).End().Get(0)},
		{"code behind br", "i:i", "", code().
			Block(i32t).I32(7).Op(0x0c, 0).
			Raw(0x1b).Op(0x1a).I32(4).Mem(0x28, 0).Op(0x1a).Mem(0x28, 0).Op(0x1a).Op(0x40, 0).Op(0x1a).
			Block(void).I32(4).I32(4).Mem(0x36, 0).End().Loop(void).End().Raw(0xfc, 10, 0, 0).End()},
		{"code behind return", "i:i", "", code().Get(0).Op(0x0f).Raw(0x92).Op(0x1a).Raw(0xa0).I32(1).Raw(0x1b).Op(0x1a).I32(3)},
		{"code behind unreachable", "i:i", "", code().Get(0).If(void).Op(0x00).Mem(0x36, 0).End().I32(5)},
		{"float behind unreachable", "i:i", "", code().
			Get(0).Op(0x0f).F32(1).I32(0).Raw(0x1b).Op(0x1a)},
		{"sign extension and truncation", "i:i", "", code().
			Get(0).Raw(0xc0).Get(0).Raw(0xc1, 0x6a).Get(0).Raw(0xb3, 0xfc, 0, 0x6a)},
		{"size and growth", "i:i", "", code().
			Op(0x3f, 0).Get(0).I32(3).Raw(0x71).Op(0x40, 0).I32(100).Raw(0x6c, 0x6a).Op(0x3f, 0).I32(10000).Raw(0x6c, 0x6a)},
		{"growth that fails", "i:i", "", code().I32(-1).Op(0x40, 0).I32(70000).Op(0x40, 0).Raw(0x6a).Op(0x3f, 0).Raw(0x6a)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := newModule(1)
			types(m)
			m.Export("f", testguest.KindFunc, m.Func(tt.sig, tt.locals, tt.code))
			x := newTrio(t, m.Bytes(), nil)
			x.seed()
			for _, args := range args1 {
				x.call("f", args...)
			}
		})
	}
}

// Calls, through the table too, with globals that both sides keep.
func TestCalls(t *testing.T) {
	m := newModule(1)
	g := m.Global('l', true, 5)
	m.Global('i', false, 6)
	add := m.Func("i:i", "", code().Get(0).Op(0x23, 1).Raw(0x6a).Op(0x23, g).Get(0).Raw(0xad, 0x7c).Op(0x24, g))
	mul := m.Func("i:i", "", code().Get(0).I32(3).Raw(0x6c))
	m.Table(add, mul)
	m.Export("f", testguest.KindFunc, m.Func("ii:l", "",
		code().Get(0).Get(1).Op(0x11, m.TypeIndex("i:i"), 0).Call(mul).Raw(0xad).Op(0x23, g).Raw(0x7c)))
	x := newTrio(t, m.Bytes(), nil)
	for i := range uint64(3) { // the last one is outside of the table
		x.call("f", 10, i)
	}
}
