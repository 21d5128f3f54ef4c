package hostfns

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// callKind says how a function is served.
type callKind uint8

const (
	kindFunction  callKind = iota // one of Options.Functions, or unknown
	kindTool                      // a tool
	kindCatalogue                 // what there is; may wait for servers
	kindQuick                     // answered at once
)

const outcomeOK = "ok"

func kindOf(fn string) callKind {
	switch fn {
	case FnTool:
		return kindTool
	case FnServers, FnModule, FnSpec, FnSearch, FnDescribe:
		return kindCatalogue
	case FnRead, FnClose, FnSecret:
		return kindQuick
	}
	return kindFunction
}

// perform does what was called, in a goroutine of its own.
func (k *call) perform() (*Value, error) {
	switch k.kind {
	case kindTool:
		return k.c.callTool(k)
	case kindCatalogue:
		return k.c.read(k)
	}
	f := k.c.h.o.Functions[k.fn]
	if f == nil {
		return nil, &Error{Code: CodeUnavailable, Message: "this host has no function " + cutText(k.fn, maxName)}
	}
	if !k.c.rules.function(k.fn) {
		return nil, &Error{Code: CodeDenied, Message: k.fn + ": policy does not allow it"}
	}
	return f(k.ctx, &FunctionCall{Name: k.fn, Args: k.args, Body: k.body, Scope: k.c.o.Scope, Emit: k.emit})
}

// quick answers a call that waits for nothing.
func (c *Calls) quick(k *call) (answer []byte) {
	answer = c.quickAnswer(k)
	if !k.started {
		return answer
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over() {
		return errorFrame(c.overError())
	}
	if e := c.register(k); e != nil {
		return errorFrame(e)
	}
	k.finished, k.answer = true, answer
	c.deliver(k)
	return nil
}

func (c *Calls) quickAnswer(k *call) (answer []byte) {
	var e *Error
	switch k.fn {
	case FnRead:
		answer, e = c.s.handles.read(k.args)
	case FnClose:
		answer, e = c.s.handles.close(k.args)
	default:
		answer, e = c.h.placeholder(k.args)
	}
	if e != nil {
		return errorFrame(e)
	}
	return answer
}

func (h *Host) placeholder(args []byte) ([]byte, *Error) {
	var a struct {
		Name string `json:"name"`
	}
	if err := json.Unmarshal(args, &a); err != nil {
		return nil, Errorf(CodeRequest, `arguments are {"name": STRING}: %w`, err)
	}
	p, err := h.o.Secrets.Placeholder(a.Name)
	if err != nil {
		e := Errorf(CodeUnavailable, "%w", err)
		e.Hint = hintNames("secrets", a.Name, h.o.Secrets.Names())
		return nil, e
	}
	return valueFrame(&Value{Kind: ValueText, Data: []byte(p)})
}

// answer makes the frame of a call that went well: without secrets, within the budget, and not too large.
func (c *Calls) answer(k *call, v *Value) ([]byte, error) {
	if v == nil {
		v = &Value{Kind: ValueNone}
	}
	v = c.scrubValue(v)
	if k.kind != kindCatalogue {
		c.mu.Lock()
		e := c.chargeBytes(v.size())
		c.mu.Unlock()
		if e != nil {
			return nil, e
		}
	}
	if err := v.check(k.kind != kindFunction); err != nil {
		return nil, err
	}
	if k.direct {
		c.mu.Lock()
		if !k.finished { // its caller has no use for what comes later
			k.value = v
		}
		c.mu.Unlock()
	}
	if k.kind == kindTool && !k.direct && v.size() > c.h.o.MaxInline {
		// A late result, that nobody gets any more, must not drive out others.
		if k.over() {
			return nil, context.Cause(k.ctx)
		}
		frame, e := c.s.handles.offer(v)
		if e != nil {
			return nil, e
		}
		if frame != nil {
			return frame, nil
		}
	}
	b, e := valueFrame(v)
	if e != nil {
		return nil, e
	}
	return b, nil
}

// over tells whether nobody waits for the call any more.
func (k *call) over() bool {
	k.c.mu.Lock()
	defer k.c.mu.Unlock()
	return k.finished
}

// check makes sure that a value is what it says, so that the guest can rely on it. JSON may have been checked already.
func (v *Value) check(checked bool) error {
	switch {
	case v.Head != nil && !validObject(v.Head):
		return Errorf(CodeServer, "the head of a value is no JSON object")
	case v.Kind == ValueJSON && !checked && !json.Valid(v.Data):
		return Errorf(CodeInvalidResult, "the result is not JSON")
	case v.Kind == ValueText, v.Kind == ValueJSON: // Go takes JSON with strings that are no UTF-8, Python does not
		v.Data = validText(v.Data)
	case v.Kind == ValueBlocks:
		for i := range v.Blocks {
			if b := &v.Blocks[i]; !utf8.ValidString(b.Text) {
				b.Text = strings.ToValidUTF8(b.Text, "\ufffd")
			}
		}
	}
	v.Head = validText(v.Head)
	return nil
}

// validText returns UTF-8: b itself, if it is.
func validText(b []byte) []byte {
	if utf8.Valid(b) {
		return b
	}
	return bytes.ToValidUTF8(b, []byte("\ufffd"))
}

// size is the bytes of a value.
func (v *Value) size() int {
	const perBlock = 64 // so that many empty ones are not for free
	n := len(v.Data) + len(v.Head) + perBlock*len(v.Blocks)
	for i := range v.Blocks {
		b := &v.Blocks[i]
		n += len(b.Text) + len(b.Data) + len(b.MIMEType) + len(b.URI) + len(b.Name) + len(b.Title)
	}
	return n
}

// toError makes an Error of any error. What is none was not written for guests, and is not told to them.
func toError(err error) *Error {
	if e := (*Error)(nil); errors.As(err, &e) && e != nil {
		c := *e
		return &c
	}
	return &Error{Code: CodeServer, Message: "an internal fault on the host; its log says more", Err: err}
}

// overError is the error of a call that begins too late.
func (c *Calls) overError() *Error {
	if errors.Is(c.ctx.Err(), context.DeadlineExceeded) {
		return &Error{Code: CodeTimeout, Message: "there is no time left"}
	}
	return &Error{Code: CodeCancelled, Message: errEnded.Error()}
}

// toError is the Error that a call ends with.
func (k *call) toError(err error) *Error {
	if e := (*Error)(nil); errors.As(err, &e) && e != nil && (k.ctx.Err() == nil || e.Code == CodeToolFailed) {
		c := *e
		return &c
	}
	switch {
	case errors.Is(context.Cause(k.ctx), errTimeout):
		return &Error{
			Code: CodeTimeout, Message: "the call took longer than it may: " + k.c.rules.timeout.String(),
			Hint: "ask for less, or raise the time limit of calls in the policy", Err: err,
		}
	case errors.Is(err, context.DeadlineExceeded), errors.Is(k.ctx.Err(), context.DeadlineExceeded):
		return &Error{Code: CodeTimeout, Message: "the call took longer than there was time", Err: err}
	case k.ctx.Err() != nil, errors.Is(err, context.Canceled), errors.Is(err, errEnded):
		return &Error{Code: CodeCancelled, Message: "the call was cancelled", Err: err}
	}
	k.c.h.log.Error("a host function failed", "function", k.fn, "server", k.tool.Server, "tool", k.tool.Tool,
		"error", k.c.h.scrubText(fmt.Sprint(err)))
	return toError(err)
}

// protect calls a provider, whose panic becomes an error.
func protect[T any](h *Host, f func() (T, error)) (v T, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = h.panicked("provider", r)
		}
	}()
	return f()
}
