package llm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/mayfly-run/mayfly/hostfns"
)

// maxBatch bounds the prompts of a batch, whatever the budget is.
const maxBatch = 10_000

// result is what became of a question.
type result struct {
	answer answer
	err    error
	same   int // the earlier question that is the same, -1 if there is none
}

func (f *functions) batch(ctx context.Context, c *hostfns.FunctionCall) (*hostfns.Value, error) {
	var args batchArgs
	if err := decode(c.Args, &args); err != nil {
		return nil, err
	}
	if len(args.Prompts) > maxBatch {
		return nil, hostfns.Errorf(hostfns.CodeRequest, "a batch has at most %d prompts, not %d", maxBatch, len(args.Prompts))
	}
	questions, err := f.questions(c, &args.params, args.Prompts)
	if err != nil {
		return nil, err
	}
	results, todo := f.prepare(questions)
	t := treeOf(c.Scope, f.o.MaxParallel)
	// All or nothing: a batch that cannot be finished should not cost anything.
	if err := t.takeCalls(len(todo), f.o.MaxCalls); err != nil {
		return nil, err
	}
	first := f.run(ctx, t, c.Emit, questions, results, todo, !args.ReturnExceptions)
	if ctx.Err() != nil {
		return nil, reason(ctx, ctx.Err())
	}
	if first >= 0 && !args.ReturnExceptions {
		return nil, inBatch(results[first].err, first, len(results))
	}
	return batchValue(questions, results)
}

// prepare answers what is remembered, and returns the questions that have to be asked: those that are the same are asked once.
func (f *functions) prepare(questions []question) (results []result, todo []int) {
	results = make([]result, len(questions))
	seen := map[cacheKey]int{}
	for i := range questions {
		r, q := &results[i], &questions[i]
		r.same = -1
		if q.key != (cacheKey{}) {
			if j, ok := seen[q.key]; ok {
				r.same = j
				continue
			}
			seen[q.key] = i
		}
		a, ok := f.remembered(q)
		if r.answer = a; !ok {
			todo = append(todo, i)
		}
	}
	return results, todo
}

// run asks the questions of todo, some at a time, and returns which failed first, -1 if none did. With stop, the others
// are given up then.
func (f *functions) run(ctx context.Context, t *tree, emit func(hostfns.Event), questions []question, results []result,
	todo []int, stop bool) (first int) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var (
		mu   sync.Mutex
		wg   sync.WaitGroup
		next int
	)
	first = -1
	for range min(f.o.MaxParallel, len(todo)) {
		wg.Go(func() {
			for {
				mu.Lock()
				if next == len(todo) || ctx.Err() != nil {
					mu.Unlock()
					return
				}
				i := todo[next]
				next++
				mu.Unlock()
				a, err := f.answer(ctx, t, emit, &questions[i])
				mu.Lock()
				results[i].answer, results[i].err = a, err
				if err != nil && first < 0 {
					if first = i; stop {
						cancel()
					}
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	t.giveCalls(len(todo) - next)
	return first
}

// inBatch says which prompt an error is about.
func inBatch(err error, i, n int) error {
	var e *hostfns.Error
	if n == 1 || !errors.As(err, &e) {
		return err
	}
	about := *e
	about.Message = fmt.Sprintf("prompt %d of %d: %s", i+1, n, e.Message)
	return &about
}

func batchValue(questions []question, results []result) (*hostfns.Value, error) {
	items := make([]item, len(results))
	for i := range results {
		r := &results[i]
		if r.same >= 0 {
			items[i] = items[r.same]
			continue
		}
		if r.err != nil {
			items[i].Error = errorItem(r.err)
			continue
		}
		items[i].Value = json.RawMessage(r.answer)
		if questions[i].answer == nil {
			text, err := json.Marshal(string(r.answer))
			if err != nil {
				return nil, err
			}
			items[i].Value = text
		}
	}
	data, err := json.Marshal(items)
	if err != nil {
		return nil, &hostfns.Error{Code: hostfns.CodeServer, Message: "the answers are not JSON", Err: err}
	}
	return &hostfns.Value{Kind: hostfns.ValueJSON, Data: data}, nil
}

// item is an element of a batch's value.
type item struct {
	Value json.RawMessage `json:"value,omitempty"`
	Error *itemError      `json:"error,omitempty"`
}

// itemError is a hostfns.Error as frames have it.
type itemError struct {
	Code       string          `json:"code"`
	Message    string          `json:"message"`
	Hint       string          `json:"hint,omitempty"`
	Data       json.RawMessage `json:"data,omitempty"`
	RetryAfter float64         `json:"retry_after,omitempty"`
	Retryable  bool            `json:"retryable,omitempty"`
}

func errorItem(err error) *itemError {
	var e *hostfns.Error
	if !errors.As(err, &e) {
		e = hostfns.Errorf(hostfns.CodeCancelled, "%w", err)
	}
	return &itemError{
		Code: e.Code, Message: cut(e.Message, maxProblem), Hint: cut(e.Hint, maxProblem), Data: e.Data,
		RetryAfter: max(0, e.RetryAfter.Seconds()), Retryable: e.Retryable,
	}
}
