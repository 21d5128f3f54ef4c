package openai_test

import (
	"context"
	"errors"
	"net/http"
	"testing"

	"go.uber.org/goleak"

	"github.com/mayfly-run/mayfly/hostfns"
	"github.com/mayfly-run/mayfly/hostfns/llm"
	"github.com/mayfly-run/mayfly/hostfns/llm/openai"
	"github.com/mayfly-run/mayfly/internal/llmtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const secretKey = "sk-very-secret-key"

// start starts a model server and returns its models. Options have what is needed already.
func start(t testing.TB, script *llmtest.Script, o openai.Options) (*openai.Model, *llmtest.Server) {
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
	o.BaseURL, o.HTTPClient = server.URL, client
	if o.Model == "" {
		o.Model = "test-model"
	}
	return newModel(t, o), server
}

func newModel(t testing.TB, o openai.Options) *openai.Model {
	t.Helper()
	if o.APIKey == nil {
		o.APIKey = func() string { return secretKey }
	}
	m, err := openai.New(&o)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func prompt(text string) *llm.Request {
	return &llm.Request{Messages: []llm.Message{{Role: llm.RoleUser, Content: text}}}
}

// complete asks with streaming.
func complete(m *openai.Model, r *llm.Request) (*llm.Response, string, error) {
	streamed := ""
	resp, err := m.Complete(context.Background(), r, func(delta string) { streamed += delta })
	return resp, streamed, err
}

func wantCode(t testing.TB, err error, code string) *hostfns.Error {
	t.Helper()
	var e *hostfns.Error
	if !errors.As(err, &e) || e.Code != code {
		t.Fatalf("got %v, want the code %s", err, code)
	}
	return e
}

// roundTrip is a transport that needs no network, for what a server cannot be made to do, and for fuzzing.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
