package wasm

import (
	"context"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/mayfly-run/mayfly/wasm/sched"
	"github.com/mayfly-run/mayfly/wasm/wasi"
)

// callContext is the context that the runtime hands to host functions: it leads back to the call without a search.
type callContext struct {
	context.Context
	call   *call
	thread *sched.Thread // nil for the first
}

func callOf(ctx context.Context) *call {
	if c, ok := ctx.(*callContext); ok {
		return c.call
	}
	return nil
}

func processOf(ctx context.Context) *wasi.Process {
	if c := callOf(ctx); c != nil {
		// Ticks count computing. A guest that does little between slow host calls would not see one for a minute.
		if c.ops.Err() != nil {
			c.checkpoint()
		}
		return c.process
	}
	return nil
}

// Results of mayfly.call, see guests/README.md.
const (
	callMalformed = -1
	callTooLarge  = -2
)

// instantiateHost registers the module "mayfly" of the guest ABI.
func instantiateHost(ctx context.Context, r wazero.Runtime) error {
	b := r.NewHostModuleBuilder("mayfly")
	for _, f := range hostFunctions {
		types := map[byte]api.ValueType{'i': api.ValueTypeI32, 'l': api.ValueTypeI64}
		var params, results []api.ValueType
		for _, t := range []byte(f.params) {
			params = append(params, types[t])
		}
		for _, t := range []byte(f.results) {
			results = append(results, types[t])
		}
		do := f.do
		b.NewFunctionBuilder().WithGoModuleFunction(api.GoModuleFunc(func(ctx context.Context, mod api.Module, stack []uint64) {
			// Only Image.Call runs guests; anything else is a mistake of this package.
			do(ctx.(*callContext), mod, stack)
		}), params, results).Export(f.name)
	}
	_, err := b.Instantiate(ctx)
	return err
}

// hostFunctions are the imports of guests/README.md, with their types as letters: i for i32, l for i64.
var hostFunctions = []struct {
	name, params, results string
	do                    func(x *callContext, mod api.Module, stack []uint64)
}{
	{"call", "ii", "l", hostCall},
	{"recv", "ii", "i", hostRecv},
	{"fork", "ii", "i", hostFork},
	{"fork_wait", "il", "l", func(x *callContext, _ api.Module, s []uint64) {
		s[0] = api.EncodeI64(x.call.waitFork(x, int32(s[0]), int64(s[1])))
	}},
	{"fork_end", "i", "", func(x *callContext, _ api.Module, s []uint64) { x.call.endFork(int32(s[0])) }},
	{"tick", "", "", func(x *callContext, _ api.Module, _ []uint64) { x.call.tick(x) }},
	{"thread_start", "iii", "i", func(x *callContext, _ api.Module, s []uint64) {
		s[0] = uint64(x.call.startThread(uint32(s[0]), uint32(s[1]), uint32(s[2])))
	}},
	{"thread_wait", "il", "i", func(x *callContext, _ api.Module, s []uint64) {
		s[0] = uint64(x.call.wait(x, uint32(s[0]), int64(s[1])))
	}},
	{"thread_wake", "ii", "", func(x *callContext, _ api.Module, s []uint64) {
		if x.call.sched != nil {
			x.call.sched.Wake(uint32(s[0]), int(int32(s[1])))
		}
	}},
	{"thread_yield", "", "", func(x *callContext, _ api.Module, _ []uint64) {
		if x.call.sched != nil {
			t, _ := x.threadOf()
			t.Yield()
		}
		x.call.checkpoint()
	}},
	{"thread_exit", "", "", func(x *callContext, _ api.Module, _ []uint64) { panic(errThreadExit) }},
	{"thread_interrupt", "", "", func(x *callContext, _ api.Module, _ []uint64) {
		if x.call.sched != nil {
			t, _ := x.threadOf()
			x.call.sched.Interrupt(t)
		}
	}},
	{"thread_drop", "", "", func(x *callContext, _ api.Module, _ []uint64) {
		if x.call.sched != nil {
			t, _ := x.threadOf()
			x.call.sched.Drop(t)
		}
	}},
}

func hostFork(x *callContext, mod api.Module, stack []uint64) {
	ptr, n := uint32(stack[0]), uint32(stack[1])
	handle := int32(callMalformed)
	switch b, ok := mod.Memory().Read(ptr, min(n, MaxFrame)); {
	case n > MaxFrame:
		handle = callTooLarge
	case !ok:
	default:
		if _, err := ParseFrame(b); err == nil {
			handle = x.call.fork(x, append([]byte(nil), b...))
		}
	}
	stack[0] = api.EncodeI32(handle)
}

func hostCall(x *callContext, mod api.Module, stack []uint64) {
	ptr, n := uint32(stack[0]), uint32(stack[1])
	c, s := x.call, x.state()
	answer := int64(callMalformed)
	switch b, ok := mod.Memory().Read(ptr, min(n, MaxFrame)); {
	case n > MaxFrame:
		answer = callTooLarge
	case !ok || c.handle == nil:
	default:
		if _, err := ParseFrame(b); err != nil {
			break
		}
		// The view is only good until the guest runs again.
		request := append([]byte(nil), b...)
		x.block(func() { s.answer = c.handle(x.Context, request) })
		if len(s.answer) > MaxFrame {
			s.answer, answer = nil, callTooLarge
		} else {
			answer = int64(len(s.answer))
		}
		c.checkpoint()
	}
	stack[0] = api.EncodeI64(answer)
}

func hostRecv(x *callContext, mod api.Module, stack []uint64) {
	ptr, n := uint32(stack[0]), uint32(stack[1])
	s := x.state()
	b := s.answer
	s.answer = nil
	if int(n) != len(b) || !mod.Memory().Write(ptr, b) {
		stack[0] = api.EncodeI32(-1)
		return
	}
	stack[0] = 0
}
