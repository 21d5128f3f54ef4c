package hostfns

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"github.com/mayfly-run/mayfly/hostfns/secrets"
)

// Options of New. Nil and the zero value are the good defaults: a host that offers nothing.
type Options struct {
	// Providers have the tools. Two servers of one name are an error.
	Providers []Provider
	// Functions are the other host functions by name: see llm.Functions, egress.Functions.
	Functions map[string]Function
	// OwnTime names the functions that bound their own time, as those of package llm do: Policy.CallTimeout is not for them.
	// Default: none.
	OwnTime []string
	// Policy holds for all sessions, besides their own.
	Policy *Policy
	// Secrets are the named secrets; nil: none.
	Secrets *secrets.Set
	// MaxInline is the size in bytes up to which the result of a tool goes to the guest whole; larger ones become handles. For
	// blocks it is MaxPage instead, as an image is of no use in pieces, and results of other functions always go whole.
	// Default: DefaultMaxInline; at most MaxPage.
	MaxInline int
	// MaxHandles bounds the bytes that a session's handles keep on the host; the oldest go first. Default: DefaultMaxHandles.
	MaxHandles int64
	// Logger gets what an operator may want to know. Default: slog.Default().
	Logger *slog.Logger
}

// Defaults of Options.
const (
	// DefaultMaxInline is what a program may want whole without a second thought.
	DefaultMaxInline = 1 << 20
	// DefaultMaxHandles is room for a few results of the largest size.
	DefaultMaxHandles = 256 << 20
)

// ExecOptions of Session.Begin.
type ExecOptions struct {
	// Session and Execution are their IDs, for questions; optional.
	Session, Execution string
	// Policy holds for this execution, besides those of host and session.
	Policy *Policy
	// Scope is that of the execution that started this one, if any; nil: a new one.
	Scope *Scope
	// Emit is told of events, from any goroutine; nil: nobody listens.
	Emit func(Event)
	// Ask asks a person; it waits until somebody replies or ctx is done. Nil: everything that needs approval is denied, and
	// elicitations are declined. The time that it takes is not counted against the call's timeout.
	Ask func(ctx context.Context, q *Question) (*Reply, error)
	// Approved is told that a person has approved of the call that q asked about, which is made when it returns nil; started
	// tells that it was started by OpStart. Nil: nobody needs to know.
	Approved func(ctx context.Context, q *Question, started bool) error
	// Pause is called before the execution waits for a person, and the function that it returns after; nil: nobody needs to
	// know.
	Pause func(ctx context.Context) (resume func())
}

// Record is a call as the audit has it.
type Record struct {
	// Name is "tools.SERVER.TOOL" or that of the function.
	Name string `json:"name"`
	// Args are the arguments, without secrets, cut to MaxRecordArgs bytes. What is cut is no JSON any more, and becomes a
	// JSON string.
	Args json.RawMessage `json:"args,omitempty"`
	// Outcome is "ok" or an error's code.
	Outcome string        `json:"outcome"`
	Wall    time.Duration `json:"-"`
	// Approved tells that a person was asked, and by which action it was answered; empty when nobody was.
	Approved string `json:"approved,omitempty"`
	// Bytes is the size of the answer.
	Bytes int `json:"bytes,omitempty"`
}

// MaxRecordArgs bounds the arguments that the audit keeps of a call, in bytes.
const MaxRecordArgs = 2 << 10

// MaxRecords bounds the calls that the audit keeps of an execution.
const MaxRecords = 1000
