package llm

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mayfly-run/mayfly/hostfns"
)

// modelFunc is a provider without a network, for tests in which time is not the real one.
type modelFunc func(ctx context.Context, r *Request, stream func(string)) (*Response, error)

func (modelFunc) Name() string { return "func" }

func (f modelFunc) Complete(ctx context.Context, r *Request, stream func(string)) (*Response, error) {
	return f(ctx, r, stream)
}

func call(ctx context.Context, m modelFunc, s *hostfns.Scope, o *Options, fn, args string) (*hostfns.Value, error) {
	o.Logger = slog.New(slog.DiscardHandler)
	return Functions(m, o)[fn](ctx, &hostfns.FunctionCall{Args: json.RawMessage(args), Scope: s, Emit: func(hostfns.Event) {}})
}

func code(err error) string {
	var e *hostfns.Error
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

func ms(n int) time.Duration { return time.Duration(n) * time.Millisecond }

// sleeper takes some time to answer.
func sleeper(d time.Duration) modelFunc {
	return func(ctx context.Context, _ *Request, _ func(string)) (*Response, error) {
		select {
		case <-time.After(d):
			return &Response{Text: "ok", FinishReason: FinishStop}, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// The budget of time is the time in which any call is under way: what happens at once counts once, and pauses do not.
func TestWall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, o, m := hostfns.NewScope(), &Options{MaxWall: 10 * time.Second, MaxParallel: 4, CacheBytes: -1}, sleeper(4*time.Second)
		if _, err := call(t.Context(), m, s, o, FnBatch, `{"prompts": ["1", "2", "3", "4"]}`); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		if _, err := call(t.Context(), m, s.Child(), o, FnAsk, `{"prompt": "5"}`); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		_, err := call(t.Context(), m, s, o, FnAsk, `{"prompt": "6"}`)
		if code(err) != hostfns.CodeBudget || time.Since(start) != 2*time.Second {
			t.Errorf("%v after %s", err, time.Since(start))
		}
		if _, err := call(t.Context(), m, s, o, FnAsk, `{"prompt": "7"}`); code(err) != hostfns.CodeBudget || !strings.Contains(err.Error(), "10s") {
			t.Errorf("%v", err)
		}
		if _, err := call(t.Context(), m, hostfns.NewScope(), o, FnAsk, `{"prompt": "7"}`); err != nil {
			t.Errorf("another tree: %v", err)
		}
	})
}

func TestWaits(t *testing.T) {
	failing := func(after time.Duration) (modelFunc, *[]time.Duration) {
		var times []time.Duration
		start := time.Now()
		return func(context.Context, *Request, func(string)) (*Response, error) {
			times = append(times, time.Since(start))
			return nil, &hostfns.Error{Code: hostfns.CodeRateLimit, Retryable: true, RetryAfter: after}
		}, &times
	}
	tests := []struct {
		name  string
		after time.Duration
		o     Options
		waits [][2]time.Duration // at least, at most
	}{
		{"doubling", 0, Options{}, [][2]time.Duration{
			{ms(250), ms(500)}, {ms(500), ms(1000)}, {ms(1000), ms(2000)}, {ms(2000), ms(4000)},
		}},
		{"bounded", 0, Options{MaxWait: ms(600), Retries: 3}, [][2]time.Duration{
			{ms(250), ms(500)}, {ms(300), ms(600)}, {ms(300), ms(600)},
		}},
		{"as told", 20 * time.Second, Options{Retries: 2}, [][2]time.Duration{
			{ms(20_000), ms(22_001)}, {ms(20_000), ms(22_001)},
		}},
		{"too long", 31 * time.Second, Options{}, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m, times := failing(test.after)
				_, err := call(t.Context(), m, hostfns.NewScope(), &test.o, FnAsk, `{"prompt": "x"}`)
				if code(err) != hostfns.CodeRateLimit || len(*times) != len(test.waits)+1 {
					t.Fatalf("%v, attempts at %v", err, *times)
				}
				for i, w := range test.waits {
					if d := (*times)[i+1] - (*times)[i]; d < w[0] || d > w[1] {
						t.Errorf("wait %d took %s, want %s to %s", i, d, w[0], w[1])
					}
				}
			})
		})
	}
}

// A wait ends with the context.
func TestWaitIsCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		m := modelFunc(func(context.Context, *Request, func(string)) (*Response, error) {
			time.AfterFunc(time.Second, cancel)
			return nil, &hostfns.Error{Code: hostfns.CodeUnavailable, Retryable: true, RetryAfter: 20 * time.Second}
		})
		start := time.Now()
		_, err := call(ctx, m, hostfns.NewScope(), &Options{}, FnAsk, `{"prompt": "x"}`)
		if !errors.Is(err, context.Canceled) || time.Since(start) != time.Second {
			t.Errorf("%v after %s", err, time.Since(start))
		}
	})
}

// Providers that do what they must not do no harm.
func TestBadProviders(t *testing.T) {
	ok := &Response{Text: "ok", FinishReason: FinishStop}
	tests := map[string]struct {
		m    modelFunc
		code string
	}{
		"panic":       {func(context.Context, *Request, func(string)) (*Response, error) { panic("?") }, hostfns.CodeServer},
		"nothing":     {func(context.Context, *Request, func(string)) (*Response, error) { return nil, nil }, hostfns.CodeServer},
		"plain error": {func(context.Context, *Request, func(string)) (*Response, error) { return nil, errors.New("secret") }, hostfns.CodeServer},
		"large": {func(context.Context, *Request, func(string)) (*Response, error) {
			return &Response{Text: strings.Repeat("x", maxAnswer+1)}, nil
		}, hostfns.CodeTooLarge},
		"large stream": {func(_ context.Context, _ *Request, stream func(string)) (*Response, error) {
			for range 10 {
				stream(strings.Repeat("x", 1<<20))
			}
			return ok, nil
		}, hostfns.CodeTooLarge},
		"no UTF-8": {func(_ context.Context, _ *Request, stream func(string)) (*Response, error) {
			stream(strings.Repeat("\x80", 100_000))
			return ok, nil
		}, ""},
	}
	for name, test := range tests {
		_, err := call(t.Context(), test.m, hostfns.NewScope(), &Options{MaxTokens: -1}, FnAsk, `{"prompt": "x"}`)
		if code(err) != test.code || err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
