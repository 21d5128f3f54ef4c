// Package guest encodes the requests of the engine to a guest's support library, and decodes its answers.
//
// A request is a frame (guests/README.md) whose code is one of the ops here. Answers come from a hostile place: the
// decoders bound and check everything, and return errors instead of guesses.
package guest

import (
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/mayfly-run/mayfly/wasm"
)

// Ops of a guest.
const (
	// OpExec runs the body as source code; the head is an ExecHead, the answer an Answer.
	OpExec = 1
	// OpModules lists the guest's modules; the answer's head is a Modules.
	OpModules = 2
	// OpIncomplete tells whether the body is the beginning of a statement; the answer's head is {"incomplete": bool}.
	OpIncomplete = 3
	// OpFork is what a guest asks of a fork that it makes of itself; the host passes it on.
	OpFork = 4
	// OpVariables lists the program's variables; the answer's head is a Variables.
	OpVariables = 5
)

// Failed is the status of an answer that is an error.
const Failed = 1

// ExecHead is the head of OpExec.
type ExecHead struct {
	// Filename is what tracebacks call the code.
	Filename string `json:"filename"`
	// File is the value of __file__, none when empty.
	File string   `json:"file,omitempty"`
	Argv []string `json:"argv,omitempty"`
	// Env replaces the environment, to which HOME is added; nil leaves it as it is. A fork begins with HOME alone.
	Env map[string]string `json:"env,omitzero"`
	// Reseed is set on the first execution after a fork or a restore.
	Reseed bool `json:"reseed,omitempty"`
	// Stdin tells that this execution has an input of its own.
	Stdin bool `json:"stdin,omitempty"`
	// Result asks for the value of the last statement.
	Result bool `json:"result,omitempty"`
	// Finish ends the program after the code: exit handlers run.
	Finish bool `json:"finish,omitempty"`
}

// Request returns the bytes of a request frame.
func Request(op uint32, head any, body []byte) ([]byte, error) {
	h, err := json.Marshal(head)
	if err != nil {
		return nil, err
	}
	return wasm.Frame{Code: op, Head: h, Body: body}.Append(nil), nil
}

// Outcomes of an execution in Answer.Status.
const (
	StatusOK    = "ok"
	StatusError = "error"
	StatusExit  = "exit"
)

// Answer is what the guest says of an execution.
type Answer struct {
	Status string `json:"status"`
	// Code is the exit code when Status is StatusExit, 0 to 255.
	Code int `json:"code"`
	// JSON and Repr are the lengths of the two encodings of the value in the body, 0 when there is none.
	JSON int `json:"json"`
	Repr int `json:"repr"`
	// Preview tells that the repr is a preview of a value too large to encode.
	Preview bool `json:"preview"`
	// Variable is the name that the last statement assigned the value to, empty when it was an expression.
	Variable string `json:"variable"`
	Error    *Error `json:"error"`
	// ThreadsEnded counts threads that did not end by themselves.
	ThreadsEnded int `json:"threads_ended"`

	// ValueJSON and ValueRepr are the encodings, cut out of the body.
	ValueJSON json.RawMessage `json:"-"`
	ValueRepr string          `json:"-"`
}

// Error describes an exception.
type Error struct {
	Kind      string `json:"kind"`
	Type      string `json:"type"`
	Message   string `json:"message"`
	Traceback string `json:"traceback"`
	Line      int    `json:"line"`
	Hint      string `json:"hint"`
}

// ErrAnswer is wrapped by errors about an answer that the support library would not give: the program damaged it.
var ErrAnswer = errors.New("unexpected answer of the guest")

// Bounds of strings in answers, in bytes.
const (
	maxShort = 1 << 10
	maxLong  = 256 << 10
)

// ParseAnswer decodes the answer to OpExec.
func ParseAnswer(b []byte) (*Answer, error) {
	f, err := parse(b)
	if err != nil {
		return nil, err
	}
	a := &Answer{}
	if err := json.Unmarshal(f.Head, a); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrAnswer, err)
	}
	if err := a.check(len(f.Body)); err != nil {
		return nil, err
	}
	if a.JSON > 0 {
		a.ValueJSON = append(a.ValueJSON, f.Body[:a.JSON]...)
		// Go's json takes strings that are not UTF-8 for valid, and passes them on.
		if !json.Valid(a.ValueJSON) || !utf8.Valid(a.ValueJSON) {
			return nil, fmt.Errorf("%w: value is not JSON", ErrAnswer)
		}
	}
	a.ValueRepr = string(f.Body[a.JSON : a.JSON+a.Repr])
	return a, nil
}

func (a *Answer) check(body int) error {
	switch {
	case a.JSON < 0 || a.Repr < 0 || a.JSON > body || a.Repr > body-a.JSON:
		return fmt.Errorf("%w: value of %d+%d bytes in a body of %d", ErrAnswer, a.JSON, a.Repr, body)
	case a.Status == StatusOK && a.Error == nil:
	case a.Status == StatusExit && a.Error == nil && a.Code >= 0 && a.Code <= 255:
	case a.Status == StatusError && a.Error != nil:
		a.Error.Kind, a.Error.Type = cut(a.Error.Kind, maxShort), cut(a.Error.Type, maxShort)
		a.Error.Hint = cut(a.Error.Hint, maxShort)
		a.Error.Message, a.Error.Traceback = cut(a.Error.Message, maxLong), cut(a.Error.Traceback, maxLong)
		a.Error.Line = max(a.Error.Line, 0)
	default:
		return fmt.Errorf("%w: status %q", ErrAnswer, cut(a.Status, 40))
	}
	a.ThreadsEnded = max(a.ThreadsEnded, 0)
	a.Variable = cut(a.Variable, maxShort)
	return nil
}

func cut(s string, n int) string { return s[:min(n, len(s))] }

// Modules is the answer to OpModules.
type Modules struct {
	Version string   `json:"version"`
	In      []string `json:"in"`
	Out     []string `json:"out"`
}

// ParseModules decodes the answer to OpModules.
func ParseModules(b []byte) (*Modules, error) {
	f, err := parse(b)
	if err != nil {
		return nil, err
	}
	m := &Modules{}
	if err := json.Unmarshal(f.Head, m); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrAnswer, err)
	}
	return m, nil
}

// ParseIncomplete decodes the answer to OpIncomplete.
func ParseIncomplete(b []byte) (bool, error) {
	f, err := parse(b)
	if err != nil {
		return false, err
	}
	var a struct{ Incomplete bool }
	if err := json.Unmarshal(f.Head, &a); err != nil {
		return false, fmt.Errorf("%w: %w", ErrAnswer, err)
	}
	return a.Incomplete, nil
}

// Variables is the answer to OpVariables.
type Variables struct {
	Variables []Variable `json:"variables"`
	// More is the number of those that were left out.
	More int `json:"more"`
}

// Variable is a global variable of the program.
type Variable struct {
	Name string `json:"name"`
	Type string `json:"type"`
	// Repr is the value as the language prints it, shortened when Truncated is set.
	Repr      string `json:"repr"`
	Truncated bool   `json:"truncated"`
}

// Bounds of the answer to OpVariables.
const (
	MaxVariables    = 10_000
	maxVariableRepr = 4 << 10
)

// ParseVariables decodes the answer to OpVariables.
func ParseVariables(b []byte) (*Variables, error) {
	f, err := parse(b)
	if err != nil {
		return nil, err
	}
	v := &Variables{}
	if err := json.Unmarshal(f.Head, v); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrAnswer, err)
	}
	if len(v.Variables) > MaxVariables {
		return nil, fmt.Errorf("%w: %d variables", ErrAnswer, len(v.Variables))
	}
	for i := range v.Variables {
		x := &v.Variables[i]
		x.Name, x.Type = cut(x.Name, maxShort), cut(x.Type, maxShort)
		if len(x.Repr) > maxVariableRepr {
			x.Repr, x.Truncated = x.Repr[:maxVariableRepr], true
		}
	}
	return v, nil
}

// parse splits a frame and turns an error answer into an error.
func parse(b []byte) (wasm.Frame, error) {
	f, err := wasm.ParseFrame(b)
	if err != nil {
		return f, fmt.Errorf("%w: %w", ErrAnswer, err)
	}
	if f.Code == 0 {
		return f, nil
	}
	var e struct{ Type, Message string }
	if err := json.Unmarshal(f.Head, &e); err != nil {
		return f, fmt.Errorf("%w: status %d", ErrAnswer, f.Code)
	}
	return f, fmt.Errorf("%w: %s: %s", ErrAnswer, cut(e.Type, maxShort), cut(e.Message, maxShort))
}
