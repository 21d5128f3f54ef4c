package engine

import (
	"context"

	"github.com/mayfly-run/mayfly/engine/internal/guest"
	"github.com/mayfly-run/mayfly/wasm"
	"github.com/mayfly-run/mayfly/wasm/wasi"
)

// Variable is a global variable of a program. Modules and names like __this__ are left out.
type Variable struct {
	Name string `json:"name"`
	Type string `json:"type"`
	// Repr is the value as the language prints it, cut when Truncated is set.
	Repr      string `json:"repr"`
	Truncated bool   `json:"truncated,omitempty"`
}

// Variables lists the session's variables in the order in which they were made. The program's own code that tells how to
// print a value runs in a copy of the session, which is thrown away.
func (s *Session) Variables(ctx context.Context) (vars []Variable, err error) {
	err = s.exclusive(ctx, func(ctx context.Context) error {
		if _, err := s.open(ctx); err != nil {
			return err
		}
		box, ok := s.box.(*wasmSandbox)
		if !ok {
			return &Error{Err: ErrUnavailable, Phase: PhaseRequest}
		}
		vars, err = box.variables(ctx)
		return err
	})
	return vars, err
}

// Variables lists the session's variables at a step, see Session.Variables.
func (j *Journal) Variables(ctx context.Context, step int) ([]Variable, error) {
	r, err := j.record(ctx, step)
	if err != nil {
		return nil, err
	}
	leave, err := j.e.work(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	spec := j.e.spec(j.head, nil)
	spec.Mounts = nil
	x, err := j.restore(ctx, r, spec)
	if err != nil {
		return nil, err
	}
	defer x.box.Close(context.WithoutCancel(ctx))
	return x.box.variables(ctx)
}

// variables asks a copy of the guest for them: files are not there for it.
func (s *wasmSandbox) variables(ctx context.Context) ([]Variable, error) {
	if s.fresh {
		return []Variable{}, nil
	}
	m, err := s.mem.Fork()
	if err != nil {
		return nil, &Error{Err: err, Phase: PhaseFork}
	}
	defer m.Close()
	p := wasi.NewProcess(&wasi.Options{Block: wasm.Block, Shared: wasm.Shared})
	defer p.Close()
	req, err := guest.Request(guest.OpVariables, struct{}{}, nil)
	if err != nil {
		return nil, &Error{Err: err, Phase: PhaseExec}
	}
	b, _, err := s.im.Call(ctx, m, req, &wasm.CallOptions{Process: p, Timeout: askTimeout})
	if err != nil {
		return nil, &Error{Err: err, Phase: PhaseExec}
	}
	a, err := guest.ParseVariables(b)
	if err != nil {
		return nil, &Error{Err: err, Phase: PhaseExec}
	}
	vars := make([]Variable, len(a.Variables))
	for i, v := range a.Variables {
		vars[i] = Variable(v)
	}
	return vars, nil
}
