package hostfns

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/mayfly-run/mayfly/hostfns/schema"
	"github.com/mayfly-run/mayfly/hostfns/secrets"
)

// Back-off between tries of a call: the first wait, and the longest, which also bounds what a server may ask for.
const (
	firstBackoff = 100 * time.Millisecond
	maxBackoff   = 10 * time.Second
)

// callTool serves FnTool.
func (c *Calls) callTool(k *call) (*Value, error) {
	s := c.h.byName[k.tool.Server]
	if s == nil || !c.rules.server(s.name, s.module) {
		// A server that policy hides altogether must not be started.
		if s != nil {
			return nil, &Error{Code: CodeDenied, Message: "tools of the server " + s.name + " may not be called: policy denies it"}
		}
		return nil, c.h.noServer(k.tool.Server, c.rules)
	}
	cat, err := s.catalogue(k.ctx)
	if err != nil {
		return nil, err
	}
	t := cat.byName[k.tool.Tool]
	if t == nil {
		return nil, cat.noTool(k.tool.Tool, c.rules)
	}
	if ok, why := c.rules.allows(&t.names, &t.def.Annotations); !ok {
		return nil, &Error{Code: CodeDenied, Message: t.names.full[0] + " may not be called: " + why}
	}
	args, err := t.checkArgs(k.tool.Args)
	if err != nil {
		return nil, err
	}
	if c.rules.approve(&t.names) {
		if err := c.approve(k, t, args); err != nil {
			return nil, err
		}
	}
	if args, err = c.h.reveal(args, t.destination); err != nil {
		return nil, err
	}
	res, err := c.try(k, t, &ToolCall{
		Server: s.name, Tool: t.def.Name, Args: args, Emit: k.emit,
		Ask: func(ctx context.Context, q *Question) (*Reply, error) { return c.elicit(ctx, k, q) },
	})
	if err != nil {
		return nil, err
	}
	return t.value(res)
}

// checkArgs returns the arguments to send.
func (t *tool) checkArgs(args json.RawMessage) (json.RawMessage, error) {
	out, err := t.CheckArgs(args)
	if err == nil {
		return out, nil
	}
	e := Errorf(CodeInvalidArguments, "%w", err)
	if errors.Is(err, schema.ErrTooComplex) {
		e.Code = CodeTooLarge
	}
	if !strings.Contains(e.Message, t.Name()+"(") {
		e.Hint = "the signature is " + t.Signature().Line()
	}
	return nil, e
}

// reveal puts real values for placeholders.
func (h *Host) reveal(args json.RawMessage, destination string) (json.RawMessage, error) {
	if h.o.Secrets == nil {
		return args, nil
	}
	args, err := h.o.Secrets.RevealJSON(args, destination)
	if err != nil {
		e := Errorf(CodeDenied, "%w", err)
		if errors.Is(err, secrets.ErrDestination) {
			e.Hint = "whoever starts the sandbox says where a secret may go: --allow-secret NAME=" + destination
		}
		return nil, e
	}
	return args, nil
}

// try calls the provider, again and again where that is safe and may help.
func (c *Calls) try(k *call, t *tool, tc *ToolCall) (*ToolResult, error) {
	p := c.h.byName[tc.Server].p
	a := &t.def.Annotations
	tries := 1
	if isTrue(a.Idempotent) || isTrue(a.ReadOnly) {
		tries += c.rules.retries
	}
	wait := firstBackoff
	for {
		res, err := p.Call(k.ctx, tc)
		if tries--; err == nil || tries == 0 || k.ctx.Err() != nil {
			return res, err
		}
		e := (*Error)(nil)
		if !errors.As(err, &e) || e == nil || !e.Retryable && e.Code != CodeUnavailable || e.RetryAfter > maxBackoff {
			return res, err
		}
		timer := time.NewTimer(max(wait, e.RetryAfter))
		select {
		case <-timer.C:
		case <-k.ctx.Done():
			timer.Stop()
			return res, err
		}
		wait = min(2*wait, maxBackoff)
	}
}

func isTrue(b *bool) bool { return b != nil && *b }

// value makes a Value of a result.
func (t *tool) value(res *ToolResult) (*Value, error) {
	if res == nil {
		res = &ToolResult{}
	}
	if res.Structured != nil && !validObject(res.Structured) {
		return nil, &Error{Code: CodeInvalidResult, Message: "the structured result is no JSON object"}
	}
	if res.IsError {
		return nil, &Error{Code: CodeToolFailed, Message: failure(res.Content), Data: res.Structured}
	}
	if t.output {
		// The guest's code was told what it gets: anything else would fail later, and farther from the reason.
		if res.Structured == nil {
			return nil, &Error{Code: CodeInvalidResult, Message: "the tool promises a structured result and returned none",
				Hint: "the tool ran; what it said is: " + cutText(failure(res.Content), 1<<10)}
		}
		// A result that is too large to be checked is more likely right than not.
		if err := t.CheckResult(res.Structured); err != nil && !errors.Is(err, schema.ErrTooComplex) {
			e := Errorf(CodeInvalidResult, "the tool ran, but its result does not match its own output schema: %w", err)
			e.Data = res.Structured
			return nil, e
		}
		return &Value{Kind: ValueJSON, Data: t.Value(res.Structured)}, nil
	}
	if res.Structured != nil && onlyText(res.Content) {
		return &Value{Kind: ValueJSON, Data: t.Value(res.Structured)}, nil
	}
	switch {
	case len(res.Content) == 0:
		return &Value{Kind: ValueNone}, nil
	case len(res.Content) == 1 && res.Content[0].Type == BlockText:
		return &Value{Kind: ValueText, Data: []byte(res.Content[0].Text)}, nil
	}
	return &Value{Kind: ValueBlocks, Blocks: res.Content}, nil
}

func onlyText(blocks []Block) bool {
	for i := range blocks {
		if blocks[i].Type != BlockText {
			return false
		}
	}
	return true
}

// failure is the text of a result.
func failure(blocks []Block) string {
	var b strings.Builder
	for i := range blocks {
		if t := blocks[i].Text; t != "" && b.Len() < maxMessage {
			if b.Len() > 0 {
				b.WriteByte('\n')
			}
			b.WriteString(t[:min(len(t), maxMessage+1)])
		}
	}
	if b.Len() == 0 {
		return "the tool failed and did not say why"
	}
	return cutText(b.String(), maxMessage)
}
