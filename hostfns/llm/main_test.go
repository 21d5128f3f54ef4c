package llm_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/mayfly-run/mayfly/hostfns"
	"github.com/mayfly-run/mayfly/hostfns/llm"
	"github.com/mayfly-run/mayfly/hostfns/llm/openai"
	"github.com/mayfly-run/mayfly/internal/llmtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// asker asks as a program does.
type asker struct {
	t      testing.TB
	server *llmtest.Server
	m      llm.Model
	fns    map[string]hostfns.Function
	scope  *hostfns.Scope

	mu     sync.Mutex
	events []hostfns.Event
}

// newAsker starts a model server. Everything is ended with the test.
func newAsker(t testing.TB, script *llmtest.Script, o *llm.Options) *asker {
	t.Helper()
	server, err := llmtest.Start(script)
	if err != nil {
		t.Fatal(err)
	}
	client, transport := llmtest.Client()
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	m, err := openai.New(&openai.Options{BaseURL: server.URL, Model: "test-model", HTTPClient: client})
	if err != nil {
		t.Fatal(err)
	}
	a := &asker{t: t, server: server, m: m}
	return a.again(o)
}

// again returns an asker of the same server, with nothing remembered.
func (a *asker) again(o *llm.Options) *asker {
	var quiet llm.Options
	if o != nil {
		quiet = *o
	}
	quiet.Logger = slog.New(slog.DiscardHandler)
	return &asker{t: a.t, server: a.server, m: a.m, fns: llm.Functions(a.m, &quiet), scope: hostfns.NewScope()}
}

// in returns the same asker in another scope.
func (a *asker) in(s *hostfns.Scope) *asker {
	return &asker{t: a.t, server: a.server, m: a.m, fns: a.fns, scope: s}
}

func (a *asker) call(ctx context.Context, fn, args string) (*hostfns.Value, error) {
	return a.fns[fn](ctx, &hostfns.FunctionCall{
		Name: fn, Args: json.RawMessage(args), Scope: a.scope,
		Emit: func(e hostfns.Event) {
			a.mu.Lock()
			defer a.mu.Unlock()
			a.events = append(a.events, e)
		},
	})
}

// ask calls FnAsk.
func (a *asker) ask(args string) (string, error) {
	v, err := a.call(a.t.Context(), llm.FnAsk, args)
	if err != nil {
		return "", err
	}
	return string(v.Kind) + " " + string(v.Data), nil
}

// want asks, and checks the kind and value of the answer.
func (a *asker) want(args, answer string) {
	a.t.Helper()
	if got, err := a.ask(args); err != nil || got != answer {
		a.t.Fatalf("%.100s gave %q, %v, want %q", args, got, err, answer)
	}
}

// fail asks, and checks the code of the error.
func (a *asker) fail(args, code string) *hostfns.Error {
	a.t.Helper()
	got, err := a.ask(args)
	return wantCode(a.t, got, err, code)
}

func wantCode(t testing.TB, got any, err error, code string) *hostfns.Error {
	t.Helper()
	var e *hostfns.Error
	if !errors.As(err, &e) || e.Code != code {
		t.Fatalf("got %q, %v, want the code %s", got, err, code)
	}
	return e
}

func (a *asker) prompts() (prompts []string) {
	for _, r := range a.server.Requests() {
		prompts = append(prompts, r.Prompt())
	}
	return prompts
}
