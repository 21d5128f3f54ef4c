package llm_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/mayfly-run/mayfly/hostfns"
	"github.com/mayfly-run/mayfly/hostfns/llm"
	"github.com/mayfly-run/mayfly/internal/llmtest"
)

func answers(a llmtest.Answer) *llmtest.Script {
	return &llmtest.Script{Func: func(int, *llmtest.Request) llmtest.Answer { return a }}
}

func TestBudgetOfCalls(t *testing.T) {
	a := newAsker(t, answers(llmtest.Answer{Text: "ok"}), &llm.Options{MaxCalls: 3})
	a.want(`{"prompt": "1"}`, "text ok")
	a.in(a.scope.Child()).want(`{"prompt": "2"}`, "text ok")
	// A batch that cannot be finished costs nothing.
	_, err := a.call(t.Context(), llm.FnBatch, `{"prompts": ["3", "4"]}`)
	if e := wantCode(t, "", err, hostfns.CodeBudget); !strings.Contains(e.Message, "2 of 3") || !strings.Contains(e.Hint, "MaxCalls") {
		t.Errorf("%s (%s)", e.Message, e.Hint)
	}
	a.want(`{"prompt": "5"}`, "text ok")
	a.fail(`{"prompt": "6"}`, hostfns.CodeBudget)
	a.want(`{"prompt": "1"}`, "text ok") // from the cache, which is no call
	a.in(hostfns.NewScope()).want(`{"prompt": "6"}`, "text ok")
	if n := len(a.server.Requests()); n != 4 {
		t.Errorf("%d requests", n)
	}
}

// What a failed batch did not begin is not counted.
func TestBudgetOfFailedBatch(t *testing.T) {
	a := newAsker(t, &llmtest.Script{Answers: []llmtest.Answer{{Status: 400}, {Text: "ok"}, {Text: "ok"}}}, &llm.Options{MaxCalls: 3, MaxParallel: 1})
	_, err := a.call(t.Context(), llm.FnBatch, `{"prompts": ["1", "2", "3"]}`)
	wantCode(t, "", err, hostfns.CodeRequest)
	a.want(`{"prompt": "4"}`, "text ok")
	a.want(`{"prompt": "5"}`, "text ok")
	a.fail(`{"prompt": "6"}`, hostfns.CodeBudget)
}

func TestBudgetOfTokens(t *testing.T) {
	a := newAsker(t, answers(llmtest.Answer{Text: "ok", PromptTokens: 400, CompletionTokens: 300}), &llm.Options{MaxTokens: 1000})
	a.want(`{"prompt": "1"}`, "text ok")
	// 300 are left: less than the prompt and the least answer need.
	e := a.fail(`{"prompt": "`+strings.Repeat("four", 100)+`"}`, hostfns.CodeBudget)
	if !strings.Contains(e.Message, "700 of 1000") || !strings.Contains(e.Hint, "MaxTokens") {
		t.Errorf("%s (%s)", e.Message, e.Hint)
	}
	a.fail(`{"prompt": "2", "max_tokens": 1000}`, hostfns.CodeBudget)
	a.want(`{"prompt": "3"}`, "text ok")
	rs := a.server.Requests()
	if n := rs[len(rs)-1].MaxTokens; n < 256 || n > 300 {
		t.Errorf("max_tokens %d, of the 300 that were left", n)
	}
	a.fail(`{"prompt": "4"}`, hostfns.CodeBudget)
	if len(rs) != 2 {
		t.Errorf("%d requests", len(rs))
	}
}

// An answer that goes on and on is ended when the tokens are used up, not when it is complete.
func TestBudgetEndsAnswer(t *testing.T) {
	deltas := make([]string, 50)
	for i := range deltas {
		deltas[i] = strings.Repeat("word", 1000) // 1000 tokens
	}
	a := newAsker(t, answers(llmtest.Answer{Deltas: deltas, Hang: true, HangAfter: 40}), &llm.Options{MaxTokens: 20_000})
	a.fail(`{"prompt": "x"}`, hostfns.CodeBudget)
	e := a.fail(`{"prompt": "x"}`, hostfns.CodeBudget)
	var used int
	if _, err := fmt.Sscanf(e.Message, "tokens of models are used up: %d of", &used); err != nil || used < 15_000 || used > 22_000 {
		t.Errorf("%s", e.Message)
	}
	// An answer that is cut because of the budget is told as such.
	a = newAsker(t, answers(llmtest.Answer{Text: "half", FinishReason: "length"}), &llm.Options{MaxTokens: 1000})
	if e := a.fail(`{"prompt": "x"}`, hostfns.CodeBudget); !strings.Contains(e.Message, "cut") {
		t.Errorf("%s", e.Message)
	}
}

// Requests at the same time cannot use more than there is: they wait for one another.
func TestBudgetOfBatch(t *testing.T) {
	var mu sync.Mutex
	reserved := 0
	a := newAsker(t, &llmtest.Script{Func: func(_ int, r *llmtest.Request) llmtest.Answer {
		mu.Lock()
		defer mu.Unlock()
		reserved = max(reserved, r.MaxTokens)
		return llmtest.Answer{Text: "ok", PromptTokens: 10, CompletionTokens: r.MaxTokens}
	}}, &llm.Options{MaxTokens: 5000})
	prompts := make([]string, 20)
	for i := range prompts {
		prompts[i] = fmt.Sprintf("%q", fmt.Sprint(i))
	}
	_, err := a.call(t.Context(), llm.FnBatch, `{"prompts": [`+strings.Join(prompts, ",")+`], "max_tokens": 800, "return_exceptions": true}`)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(a.server.Requests()); n != 6 { // of 810 each
		t.Errorf("%d requests", n)
	}
}

func TestHostileUsage(t *testing.T) {
	for _, n := range []int{-1 << 62, 1 << 62} {
		a := newAsker(t, answers(llmtest.Answer{Text: "ok", PromptTokens: n, CompletionTokens: n}), nil)
		a.want(`{"prompt": "1"}`, "text ok")
		if got, err := a.ask(`{"prompt": "2"}`); n < 0 && err != nil {
			t.Errorf("%q, %v", got, err)
		} else if n > 0 {
			wantCode(t, got, err, hostfns.CodeBudget)
		}
	}
}

func TestBudgetOfDepth(t *testing.T) {
	a := newAsker(t, answers(llmtest.Answer{Text: "ok"}), nil)
	s := a.scope
	for range llm.DefaultMaxDepth {
		a.in(s).want(`{"prompt": "x"}`, "text ok")
		s = s.Child()
	}
	if e := a.in(s).fail(`{"prompt": "x"}`, hostfns.CodeBudget); !strings.Contains(e.Message, "level 4") {
		t.Errorf("%s", e.Message)
	}
}

// The slots are those of the whole tree.
func TestParallel(t *testing.T) {
	gate := make(chan struct{})
	a := newAsker(t, &llmtest.Script{Func: func(n int, _ *llmtest.Request) llmtest.Answer {
		if n == 1 {
			close(gate)
		}
		return llmtest.Answer{Text: "ok", Wait: gate}
	}}, &llm.Options{MaxParallel: 2})
	var wg sync.WaitGroup
	for i := range 6 {
		wg.Go(func() {
			args := fmt.Sprintf(`{"prompt": "%d"}`, i)
			if _, err := a.in(a.scope.Child()).call(context.Background(), llm.FnAsk, args); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := a.server.MostAtOnce(); n != 2 {
		t.Errorf("%d at once", n)
	}
}
