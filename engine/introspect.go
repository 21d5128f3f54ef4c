package engine

import (
	"context"
	"time"

	"github.com/mayfly-run/mayfly/engine/internal/guest"
	"github.com/mayfly-run/mayfly/wasm"
	"github.com/mayfly-run/mayfly/wasm/wasi"
)

// Modules tells what of a language's standard library is in the guest, as the guest sees it.
type Modules struct {
	Version string   `json:"version"`
	In      []string `json:"in"`
	Out     []string `json:"out"`
}

// askTimeout bounds questions to a guest, which take milliseconds.
const askTimeout = 10 * time.Second

// Modules asks the guest of a language for its modules.
func (e *Engine) Modules(ctx context.Context, language string) (*Modules, error) {
	if !e.enter() {
		return nil, &Error{Err: ErrClosed, Phase: PhaseRequest}
	}
	defer e.running.Done()
	language, err := e.language(language)
	if err != nil {
		return nil, err
	}
	b, err := e.wasm.ask(ctx, language, guest.OpModules, nil)
	if err != nil {
		return nil, &Error{Err: err, Phase: PhaseExec}
	}
	m, err := guest.ParseModules(b)
	if err != nil {
		return nil, &Error{Err: err, Phase: PhaseExec}
	}
	return &Modules{m.Version, m.In, m.Out}, nil
}

// Incomplete tells whether code is the beginning of a statement rather than a whole one, for interactive input. The
// question goes to a fresh sandbox, so it does not touch the session. Code that the parser cannot cope with counts as whole.
func (s *Session) Incomplete(ctx context.Context, code string) (bool, error) {
	if !s.e.enter() {
		return false, &Error{Err: ErrClosed, Phase: PhaseRequest}
	}
	defer s.e.running.Done()
	b, err := s.e.wasm.ask(ctx, s.spec.Language, guest.OpIncomplete, []byte(code))
	if err == nil {
		var more bool
		if more, err = guest.ParseIncomplete(b); err == nil {
			return more, nil
		}
	}
	if ctx.Err() == nil && new(Outcome).failure(err, wasm.Usage{}) {
		return false, nil // code that is too much for the guest: running it will tell
	}
	return false, &Error{Err: err, Phase: PhaseExec}
}

// ask sends a request to a fork of its own.
func (w *wasmExecutor) ask(ctx context.Context, language string, op uint32, body []byte) ([]byte, error) {
	im, err := w.image(ctx, language)
	if err != nil {
		return nil, err
	}
	m, err := im.NewMemory(nil)
	if err != nil {
		return nil, err
	}
	defer m.Close()
	p := wasi.NewProcess(&wasi.Options{Block: wasm.Block, Shared: wasm.Shared})
	defer p.Close()
	req, err := guest.Request(op, struct{}{}, body)
	if err != nil {
		return nil, err
	}
	b, _, err := im.Call(ctx, m, req, &wasm.CallOptions{Process: p, Timeout: askTimeout})
	return b, err
}
