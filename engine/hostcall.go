package engine

import (
	"context"
	"errors"

	"github.com/mayfly-run/mayfly/engine/internal/guest"
	"github.com/mayfly-run/mayfly/wasm"
)

// hostFunction answers the requests that guest code makes by mayfly.call: both are frames (guests/README.md).
type hostFunction func(ctx context.Context, request []byte) []byte

var errNotRecorded = errors.New("the journal has no answer to this call")

// handle returns what answers the guest's calls: in a durable session, answers are recorded, and those of a step that is run
// again come from its record.
func (s *wasmSandbox) handle() hostFunction {
	call, t := s.spec.call, s.spec.tape
	if call == nil || t == nil {
		return call
	}
	return func(ctx context.Context, request []byte) []byte {
		answer := t.Call(request, func() []byte { return call(ctx, request) })
		if answer == nil {
			return failedCall("replay", errNotRecorded)
		}
		return answer
	}
}

// failedCall is the answer to a call that has none.
func failedCall(kind string, err error) []byte {
	return wasm.Frame{Code: guest.Failed, Head: failure(kind, firstLine(err.Error()))}.Append(nil)
}
