package wasm

import (
	"context"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/mayfly-run/mayfly/wasm/wasi"
)

// callContext is the context that the runtime hands to host functions: it leads back to the call without a search.
type callContext struct {
	context.Context
	call *call
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
	i32, i64 := api.ValueTypeI32, api.ValueTypeI64
	_, err := r.NewHostModuleBuilder("mayfly").
		NewFunctionBuilder().
		WithGoModuleFunction(api.GoModuleFunc(hostCall), []api.ValueType{i32, i32}, []api.ValueType{i64}).Export("call").
		NewFunctionBuilder().
		WithGoModuleFunction(api.GoModuleFunc(hostRecv), []api.ValueType{i32, i32}, []api.ValueType{i32}).Export("recv").
		NewFunctionBuilder().
		WithGoFunction(api.GoFunc(hostTick), nil, nil).Export("tick").
		Instantiate(ctx)
	return err
}

func hostTick(ctx context.Context, _ []uint64) {
	if c := callOf(ctx); c != nil {
		c.tick()
	}
}

func hostCall(ctx context.Context, mod api.Module, stack []uint64) {
	ptr, n := uint32(stack[0]), uint32(stack[1])
	c := callOf(ctx)
	answer := int64(callMalformed)
	switch b, ok := mod.Memory().Read(ptr, min(n, MaxFrame)); {
	case n > MaxFrame:
		answer = callTooLarge
	case !ok || c == nil || c.handle == nil:
	default:
		if _, err := ParseFrame(b); err != nil {
			break
		}
		// The view is only good until the guest runs again.
		c.answer = c.handle(c.ops, append([]byte(nil), b...))
		if len(c.answer) > MaxFrame {
			c.answer, answer = nil, callTooLarge
		} else {
			answer = int64(len(c.answer))
		}
		c.checkpoint()
	}
	stack[0] = api.EncodeI64(answer)
}

func hostRecv(ctx context.Context, mod api.Module, stack []uint64) {
	ptr, n := uint32(stack[0]), uint32(stack[1])
	c := callOf(ctx)
	if c == nil {
		stack[0] = api.EncodeI32(-1)
		return
	}
	b := c.answer
	c.answer = nil
	if int(n) != len(b) || !mod.Memory().Write(ptr, b) {
		stack[0] = api.EncodeI32(-1)
		return
	}
	stack[0] = 0
}
