package llm

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/mayfly-run/mayfly/hostfns"
)

const (
	// usualAnswer is the number of tokens that is reserved for an answer without MaxTokens, and for each further piece of a
	// longer one. Few answers have more.
	usualAnswer = 4096
	// leastAnswer is what has to be left for a request to be worth it.
	leastAnswer = 256
	// maxAnswer bounds the text of an answer in bytes. Models write at most some hundred kilobytes.
	maxAnswer = 8 << 20
	// maxUsage bounds the tokens that a provider may claim to have used for one request: sums must not overflow.
	maxUsage = 1 << 31
	// firstWait is the time before the first repetition when the provider does not say; it doubles.
	firstWait = 500 * time.Millisecond
)

// estimate guesses how many tokens a text of n bytes has. It is right for English, low for other scripts, and corrected by
// what the provider says.
func estimate(n int) int64 { return int64(n)/4 + 1 }

func promptTokens(r *Request) int64 {
	n := estimate(len(r.Schema))
	for _, m := range r.Messages {
		n += estimate(len(m.Content)) + 4
	}
	return n
}

// complete makes a request within the budgets of the tree, and repeats it where that may help. The error is one of ctx or a
// *hostfns.Error.
func (f *functions) complete(ctx context.Context, t *tree, emit func(hostfns.Event), r *Request) (*Response, error) {
	select {
	case t.slots <- struct{}{}:
		defer func() { <-t.slots }()
	case <-ctx.Done():
		return nil, reason(ctx, ctx.Err())
	}
	ctx, end, err := t.begin(ctx, f.o.MaxWall)
	if err != nil {
		return nil, err
	}
	defer end()
	prompt := promptTokens(r)
	least, want := prompt+leastAnswer, prompt+usualAnswer
	if r.MaxTokens > 0 {
		least, want = prompt+int64(r.MaxTokens), prompt+int64(r.MaxTokens)
	}
	g := &grant{tree: t, limit: f.o.MaxTokens, prompt: prompt}
	g.tokens, err = t.reserve(ctx, least, want, f.o.MaxTokens)
	if err != nil {
		return nil, reason(ctx, err)
	}
	defer func() { t.settle(g.tokens, g.spent) }()
	capped := *r
	if g.tokens < want {
		capped.MaxTokens = int(g.tokens - prompt)
		g.capped = true
	}
	for try := 0; ; try++ {
		resp, err := f.attempt(ctx, g, emit, &capped)
		if err == nil {
			return resp, g.finished(resp, r)
		}
		wait, again := f.again(ctx, err, try)
		if !again || !g.another() {
			return nil, err
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil, reason(ctx, err)
		}
	}
}

// grant is what a request may use of a tree's tokens.
type grant struct {
	tree   *tree
	limit  int64
	prompt int64 // estimate
	tokens int64 // reserved, for prompt and answer
	spent  int64 // used by attempts
	capped bool  // the answer is bounded by what was left
}

// another reserves for one more attempt what failed ones used.
func (g *grant) another() bool {
	n := g.spent + g.prompt + leastAnswer - g.tokens
	if n <= 0 {
		return true
	}
	if !g.tree.extend(n, g.limit) {
		return false
	}
	g.tokens += n
	return true
}

// room reserves tokens for an answer that has n so far.
func (g *grant) room(n int64) bool {
	for g.spent+g.prompt+n > g.tokens {
		if !g.tree.extend(usualAnswer, g.limit) {
			return false
		}
		g.tokens += usualAnswer
	}
	return true
}

// finished tells what is wrong with an answer that was cut: a part of an answer is not passed off as one.
func (g *grant) finished(resp *Response, r *Request) error {
	if resp.FinishReason != FinishLength {
		return nil
	}
	switch {
	case g.capped:
		e := tokenError(g.tree.spent()+g.spent, g.limit, usualAnswer)
		e.Message = "the answer was cut, " + e.Message
		e.Data = textData(resp.Text, "")
		return e
	case r.MaxTokens > 0 && r.Schema == nil && strings.TrimSpace(resp.Text) != "":
		return nil // it is what was asked for
	}
	e := &hostfns.Error{Code: hostfns.CodeTooLarge, Data: textData(resp.Text, "")}
	e.Message = fmt.Sprintf("the answer was cut after %d tokens, the most that the model can write", resp.Usage.CompletionTokens)
	e.Hint = "ask for a shorter answer, or for parts of it"
	if r.MaxTokens > 0 {
		e.Message = fmt.Sprintf("the answer was cut after max_tokens=%d", r.MaxTokens)
		e.Hint = "raise max_tokens; what a model thinks before it answers counts too"
	}
	return e
}

func (t *tree) spent() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.used
}

// attempt makes a request once.
func (f *functions) attempt(ctx context.Context, g *grant, emit func(hostfns.Event), r *Request) (*Response, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	d := &deltas{emit: emit, call: g.tree.number()}
	streamed := 0
	resp, err := f.askModel(ctx, r, func(delta string) {
		streamed += len(delta)
		switch {
		case streamed > maxAnswer:
			cancel(tooLong())
		case !g.room(estimate(streamed)):
			cancel(tokenError(g.tree.spent()+g.spent, g.limit, usualAnswer))
		default:
			d.add(delta)
		}
	})
	d.flush()
	if err == nil {
		err = ctx.Err() // it was ended, whatever the provider makes of that
	}
	if err != nil {
		if streamed > 0 {
			g.spent += g.prompt + estimate(streamed)
		}
		return nil, reason(ctx, err)
	}
	used := clamp(resp.Usage.PromptTokens) + clamp(resp.Usage.CompletionTokens)
	if used == 0 {
		used = g.prompt + estimate(len(resp.Text))
	}
	g.spent += used
	if len(resp.Text) > maxAnswer {
		return nil, tooLong()
	}
	resp.Text = strings.ToValidUTF8(resp.Text, "\ufffd")
	return resp, nil
}

func clamp(n int) int64 { return int64(max(0, min(n, maxUsage))) }

func tooLong() *hostfns.Error {
	return hostfns.Errorf(hostfns.CodeTooLarge, "the model's answer has more than %d bytes", maxAnswer)
}

// reason returns why a request failed: an error of ours if one ended ctx, else that of ctx, else err.
func reason(ctx context.Context, err error) error {
	var e *hostfns.Error
	if ctx.Err() != nil {
		if errors.As(context.Cause(ctx), &e) {
			return e
		}
		return ctx.Err()
	}
	if errors.As(err, &e) {
		return e
	}
	return &hostfns.Error{Code: hostfns.CodeServer, Message: "the model failed", Err: err}
}

// again tells whether a request should be repeated after its try-th failure, and when.
func (f *functions) again(ctx context.Context, err error, try int) (time.Duration, bool) {
	var e *hostfns.Error
	if try >= f.o.Retries || ctx.Err() != nil || !errors.As(err, &e) || !e.Retryable {
		return 0, false
	}
	switch e.Code {
	case hostfns.CodeRateLimit, hostfns.CodeUnavailable, hostfns.CodeServer:
	default:
		return 0, false
	}
	// Those that failed together should not come back together.
	wait := e.RetryAfter
	if wait > 0 {
		wait += rand.N(wait/10 + time.Millisecond)
	} else {
		wait = min(firstWait<<min(try, 20), f.o.MaxWait)
		wait = wait/2 + rand.N(wait/2+1)
	}
	if e.RetryAfter > f.o.MaxWait {
		return 0, false
	}
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= wait {
		return 0, false // it would be in vain; the program can still do something else
	}
	return wait, true
}

// askModel calls the provider. A provider that panics because of what a server sent must not end the process.
func (f *functions) askModel(ctx context.Context, r *Request, stream func(string)) (resp *Response, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &hostfns.Error{Code: hostfns.CodeServer, Message: "the model failed", Err: fmt.Errorf("panic: %v", p)}
		}
	}()
	resp, err = f.m.Complete(ctx, r, stream)
	if err == nil && resp == nil {
		err = &hostfns.Error{Code: hostfns.CodeServer, Message: "the model gave no answer"}
	}
	return resp, err
}
