package rewrite_test

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"go.uber.org/goleak"

	"github.com/mayfly-run/mayfly/wasm/internal/testguest"
	"github.com/mayfly-run/mayfly/wasm/rewrite"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const page = 65536

// instance is a module in one of wazero's engines, with a host that counts ticks.
type instance struct {
	mod   api.Module
	ticks int
	guard int // bytes at the end of the memory that the guest does not know of
}

func instantiate(t testing.TB, cfg wazero.RuntimeConfig, bin []byte, data []rewrite.Segment) *instance {
	t.Helper()
	ctx := context.Background()
	r := wazero.NewRuntimeWithConfig(ctx, cfg)
	t.Cleanup(func() { r.Close(ctx) })
	in := &instance{}
	tick := api.GoFunc(func(context.Context, []uint64) { in.ticks++ })
	b := r.NewHostModuleBuilder("mayfly")
	b.NewFunctionBuilder().WithFunc(func(_, _, _ uint32) uint32 { return 0 }).Export("thread_start")
	if _, err := b.NewFunctionBuilder().WithGoFunction(tick, nil, nil).Export("tick").Instantiate(ctx); err != nil {
		t.Fatal(err)
	}
	var err error
	if in.mod, err = r.InstantiateWithConfig(ctx, bin, wazero.NewModuleConfig().WithStartFunctions()); err != nil {
		t.Fatal(err)
	}
	for _, d := range data {
		if !in.mod.Memory().Write(d.Offset, d.Bytes) {
			t.Fatalf("data segment at %d does not fit", d.Offset)
		}
	}
	return in
}

// memory is the guest's part of the memory.
func (in *instance) memory() []byte {
	m := in.mod.Memory()
	if m == nil {
		return nil
	}
	b, _ := m.Read(0, m.Size())
	return b[:len(b)-in.guard]
}

// outcome is what a call does, as far as the guest can tell.
type outcome struct {
	results []uint64
	err     error
	memory  []byte
}

func (in *instance) call(name string, args ...uint64) outcome {
	res, err := in.mod.ExportedFunction(name).Call(context.Background(), args...)
	return outcome{slices.Clone(res), err, in.memory()}
}

func (o outcome) diff(p outcome) string {
	switch {
	case (o.err != nil) != (p.err != nil):
		return fmt.Sprintf("errors %v and %v", o.err, p.err)
	case !slices.Equal(o.results, p.results):
		return fmt.Sprintf("results %#x and %#x", o.results, p.results)
	case len(o.memory) != len(p.memory):
		return fmt.Sprintf("memories of %d and %d bytes", len(o.memory), len(p.memory))
	case o.err == nil && !bytes.Equal(o.memory, p.memory):
		for i := range o.memory {
			if o.memory[i] != p.memory[i] {
				return fmt.Sprintf("memories differ at %#x: %#x and %#x", i, o.memory[i], p.memory[i])
			}
		}
	}
	return ""
}

func rewritten(t testing.TB, bin []byte, o *rewrite.Options) *rewrite.Result {
	t.Helper()
	res, err := rewrite.Rewrite(bin, o)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func compiler() wazero.RuntimeConfig    { return wazero.NewRuntimeConfigCompiler() }
func interpreter() wazero.RuntimeConfig { return wazero.NewRuntimeConfigInterpreter() }

func engines() map[string]wazero.RuntimeConfig {
	return map[string]wazero.RuntimeConfig{"compiler": compiler(), "interpreter": interpreter()}
}

// trio is a module as it was, in the interpreter, and rewritten in both engines.
type trio struct {
	t        testing.TB
	original *instance
	others   map[string]*instance
	stats    rewrite.Stats
}

func newTrio(t testing.TB, bin []byte, o *rewrite.Options) *trio {
	t.Helper()
	res := rewritten(t, bin, o)
	x := &trio{t: t, original: instantiate(t, interpreter(), bin, nil), others: map[string]*instance{}, stats: res.Stats}
	for name, cfg := range engines() {
		in := instantiate(t, cfg, res.Module, res.Data)
		in.guard = page
		x.others[name] = in
	}
	x.check("after start", outcome{memory: x.original.memory()}, func(in *instance) outcome { return outcome{memory: in.memory()} })
	return x
}

func (x *trio) check(what string, want outcome, f func(in *instance) outcome) {
	x.t.Helper()
	for name, in := range x.others {
		if d := want.diff(f(in)); d != "" {
			x.t.Errorf("%s, original and rewritten in the %s: %s", what, name, d)
		}
	}
}

// seed fills all memories with the same pattern.
func (x *trio) seed() {
	x.original.seed()
	for _, in := range x.others {
		in.seed()
	}
}

func (in *instance) seed() {
	b := in.memory()
	for i := range b {
		b[i] = byte(i*7 ^ i>>8 ^ i>>15)
	}
}

// call calls a function everywhere, compares and returns what the original did.
func (x *trio) call(name string, args ...uint64) outcome {
	x.t.Helper()
	want := x.original.call(name, args...)
	x.check(fmt.Sprintf("%s(%#x)", name, args), want, func(in *instance) outcome { return in.call(name, args...) })
	return want
}

// newModule returns a module with a memory and mayfly.tick as its function 0.
func newModule(pages uint32) *testguest.Module {
	m := &testguest.Module{MinPages: pages}
	m.Import("mayfly", "tick", ":")
	m.Export("memory", testguest.KindMemory, 0)
	return m
}

func code() *testguest.Code { return &testguest.Code{} }

// module1 returns a module with one exported function f.
func module1(pages uint32, sig, locals string, c *testguest.Code) []byte {
	m := newModule(pages)
	m.Export("f", testguest.KindFunc, m.Func(sig, locals, c))
	return m.Bytes()
}

// threadModule returns a module like newModule's that imports thread_start as well, as function 1, and has a stack pointer
// as its global 0, at first stackTop.
func threadModule(pages uint32) *testguest.Module {
	m := newModule(pages)
	m.Import("mayfly", "thread_start", "iii:i")
	m.Export("__stack_pointer", testguest.KindGlobal, m.Global('i', true, stackTop))
	return m
}

const stackTop = 0x8000
