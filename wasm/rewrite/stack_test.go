package rewrite_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero/api"

	"github.com/mayfly-run/mayfly/wasm/internal/testguest"
	"github.com/mayfly-run/mayfly/wasm/rewrite"
)

const (
	globalGet = 0x23
	globalSet = 0x24
	i32Add    = 0x6a
	i32Sub    = 0x6b
)

// stackSets are ways to set the stack pointer, global 0, in a function with a parameter and a local.
var stackSets = []struct {
	name   string
	code   *testguest.Code
	checks int
}{
	{"lowered", code().Op(globalGet, 0).I32(16).Raw(i32Sub).Op(globalSet, 0), 1},
	{"lowered, with a copy", code().Op(globalGet, 0).I32(16).Raw(i32Sub).Tee(1).Op(globalSet, 0), 1},
	{"lowered by adding", code().Op(globalGet, 0).I32(-16).Raw(i32Add).Op(globalSet, 0), 1},
	{"lowered by adding the smallest number", code().Op(globalGet, 0).I32(-1<<31).Raw(i32Add).Op(globalSet, 0), 1},
	{"lowered by a variable", code().Op(globalGet, 0).Get(0).Raw(i32Sub).Op(globalSet, 0), 1},
	{"nothing added", code().Op(globalGet, 0).I32(0).Raw(i32Add).Op(globalSet, 0), 1},
	{"variable added", code().Op(globalGet, 0).Get(0).Raw(i32Add).Op(globalSet, 0), 1},
	{"operands the other way round", code().I32(16).Op(globalGet, 0).Raw(i32Add).Op(globalSet, 0), 1},
	{"from a local", code().Get(1).Op(globalSet, 0), 1},
	{"constant", code().I32(64).Op(globalSet, 0), 1},
	{"raised, with a copy", code().Op(globalGet, 0).I32(16).Raw(i32Add).Tee(1).Op(globalSet, 0), 1},
	{"raised, then something else", code().Op(globalGet, 0).I32(16).Raw(i32Add).Op(0x01).Op(globalSet, 0), 1},
	{"raised, then lowered", code().Op(globalGet, 0).I32(16).Raw(i32Add).Op(globalSet, 0).Get(1).Op(globalSet, 0), 1},
	{"raised", code().Op(globalGet, 0).I32(16).Raw(i32Add).Op(globalSet, 0), 0},
	{"raised by one", code().Get(1).I32(1).Raw(i32Add).Op(globalSet, 0), 0},
	{"raised by the largest number", code().Op(globalGet, 0).I32(1<<31-1).Raw(i32Add).Op(globalSet, 0), 0},
	{"read", code().Op(globalGet, 0).I32(16).Raw(i32Sub).Op(0x1a), 0},
	{"another global", code().Op(globalGet, 1).I32(16).Raw(i32Sub).Op(globalSet, 1), 0},
	{"not reached", code().Op(0x0f).Get(1).Op(globalSet, 0), 0},
	{"in blocks", code().Block(void).Get(1).Op(globalSet, 0).End().Get(0).If(void).Get(1).Op(globalSet, 0).End(), 2},
}

func TestStackChecks(t *testing.T) {
	for _, tt := range stackSets {
		t.Run(tt.name, func(t *testing.T) {
			m := threadModule(1)
			m.Global('i', true, 7)
			m.Export("f", testguest.KindFunc, m.Func("i:", "i", tt.code))
			res := rewritten(t, m.Bytes(), nil)
			if res.Stats.StackChecks != tt.checks {
				t.Errorf("%d checks, want %d", res.Stats.StackChecks, tt.checks)
			}
			// Below no limit they change nothing.
			x := newTrio(t, m.Bytes(), nil)
			x.call("f", 48)
			want := global(x.original, "__stack_pointer").Get()
			for name, in := range x.others {
				if got := global(in, "__stack_pointer").Get(); got != want {
					t.Errorf("stack pointer %#x in the %s, want %#x", got, name, want)
				}
			}
		})
	}
}

func global(in *instance, name string) api.MutableGlobal {
	return in.mod.ExportedGlobal(name).(api.MutableGlobal)
}

// The pointer may come down to the limit and not below; when it does, it is set before the trap.
func TestStackTrap(t *testing.T) {
	m := threadModule(1)
	m.Export("lower", testguest.KindFunc, m.Func("i:i", "", code().Op(globalGet, 0).Get(0).Raw(i32Sub).Op(globalSet, 0).I32(5)))
	m.Export("raise", testguest.KindFunc, m.Func("i:i", "", code().Get(0).I32(16).Raw(i32Add).Op(globalSet, 0).I32(6)))
	res := rewritten(t, m.Bytes(), nil)
	for name, cfg := range engines() {
		in := instantiate(t, cfg, res.Module, nil)
		pointer, limit := global(in, res.StackPointer), global(in, res.StackLimit)
		if pointer.Get() != stackTop || limit.Get() != 0 {
			t.Errorf("%s: at first the pointer is %#x and the limit %#x", name, pointer.Get(), limit.Get())
		}
		tests := []struct {
			function      string
			limit         uint64
			arg, pointer  uint64
			trap          bool
			pointerBefore uint64
		}{
			{"lower", 0x7000, 0x1000, 0x7000, false, stackTop},
			{"lower", 0x7000, 0x1001, 0x6fff, true, stackTop},
			{"lower", 0x7000, 0x8000, 0, true, stackTop},
			{"lower", 0x7000, 0, 0x7000, false, 0x7000},
			{"lower", 0x7000, 1, 0x6fff, true, 0x7000},
			{"lower", 0, 0x8000, 0, false, stackTop},
			{"lower", 0x80000000, 16, 0x7ffffff0, true, 0x80000000}, // unsigned
			{"lower", 0x7000, 16, 0xffffffe0, false, 0xfffffff0},
			{"raise", 0x7000, 0x100, 0x110, false, 0x100}, // needs no check
		}
		for _, tt := range tests {
			pointer.Set(tt.pointerBefore)
			limit.Set(tt.limit)
			got := in.call(tt.function, tt.arg)
			if trapped := got.err != nil; trapped != tt.trap || trapped && !strings.Contains(got.err.Error(), "unreachable") {
				t.Errorf("%s: %s from %#x by %#x, limit %#x: %v", name, tt.function, tt.pointerBefore, tt.arg, tt.limit, got.err)
			}
			if pointer.Get() != tt.pointer {
				t.Errorf("%s: %s from %#x by %#x: pointer %#x, want %#x", name, tt.function, tt.pointerBefore, tt.arg, pointer.Get(), tt.pointer)
			}
		}
	}
}

func TestThreadsNeedStackPointer(t *testing.T) {
	tests := []struct {
		name   string
		global func(m *testguest.Module)
	}{
		{"no global", func(*testguest.Module) {}},
		{"not exported", func(m *testguest.Module) { m.Global('i', true, 0) }},
		{"immutable", func(m *testguest.Module) { m.Export("__stack_pointer", testguest.KindGlobal, m.Global('i', false, 0)) }},
		{"of another type", func(m *testguest.Module) { m.Export("__stack_pointer", testguest.KindGlobal, m.Global('l', true, 0)) }},
		{"a function", func(m *testguest.Module) { m.Global('i', true, 0); m.Export("__stack_pointer", testguest.KindFunc, 0) }},
		{"another name", func(m *testguest.Module) { m.Export("stack_pointer", testguest.KindGlobal, m.Global('i', true, 0)) }},
		{"index of no global", func(m *testguest.Module) { m.Export("__stack_pointer", testguest.KindGlobal, 9) }},
	}
	for _, tt := range tests {
		m := newModule(1)
		m.Import("mayfly", "thread_start", "iii:i")
		tt.global(m)
		m.Export("f", testguest.KindFunc, m.Func(":", "", code()))
		if _, err := rewrite.Rewrite(m.Bytes(), nil); err == nil || !strings.Contains(err.Error(), "__stack_pointer") {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

// A module without threads, or without ticks, keeps its functions as they are.
func TestNoStackChecksWithoutThreads(t *testing.T) {
	for _, tt := range stackSets {
		for _, imports := range [][]string{{"tick"}, {"thread_start"}, nil} {
			m := &testguest.Module{MinPages: 1}
			for _, name := range imports {
				m.Import("mayfly", name, map[string]string{"tick": ":", "thread_start": "iii:i"}[name])
			}
			m.Export("__stack_pointer", testguest.KindGlobal, m.Global('i', true, stackTop))
			m.Global('i', true, 7)
			m.Export("f", testguest.KindFunc, m.Func("i:", "i", tt.code))
			res := rewritten(t, m.Bytes(), nil)
			if res.Stats.StackChecks != 0 || res.StackPointer != "" || res.StackLimit != "" || len(res.Globals) != 2+min(1, strings.Count(strings.Join(imports, " "), "tick")) {
				t.Errorf("%s, imports %s: %+v, %q, %q, globals %v", tt.name, imports, res.Stats, res.StackPointer, res.StackLimit, res.Globals)
			}
			body := append(append([]byte{1, 1, 0x7f}, tt.code.B...), 0x0b)
			if !bytes.Contains(res.Module, append([]byte{byte(len(body))}, body...)) {
				t.Errorf("%s, imports %s: the function was changed", tt.name, imports)
			}
		}
	}
}
