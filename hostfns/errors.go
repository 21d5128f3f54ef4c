package hostfns

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Codes of errors that guest code can branch on. In Python they are ToolError.code, LLMError.code and so on.
const (
	CodeUnavailable      = "unavailable"       // there is no such function, server or model here
	CodeUnknownTool      = "unknown_tool"      // the server has no such tool
	CodeInvalidArguments = "invalid_arguments" // the message says which, what was expected, and the signature
	CodeDenied           = "denied"            // policy, or a person, refused
	CodeBudget           = "budget"            // a limit of calls, bytes, tokens ... is reached
	CodeTimeout          = "timeout"           // the call took longer than it may
	CodeCancelled        = "cancelled"
	CodeServer           = "server_error"   // the server failed, died or talks nonsense
	CodeToolFailed       = "tool_failed"    // the tool ran and reported a failure
	CodeInvalidResult    = "invalid_result" // the result does not match the tool's output schema, or is no result
	CodeTooLarge         = "too_large"
	CodeRequest          = "bad_request" // the guest's request makes no sense
	CodeRateLimit        = "rate_limit"
	CodeContextTooLong   = "context_too_long"
	CodeRefused          = "refused"        // the model would not answer
	CodeInvalidOutput    = "invalid_output" // the model's output does not match the schema
	CodeHandle           = "handle"         // the handle is not known any more
	CodeLost             = "lost"           // the call was begun, and what came of it is not known
)

// Error is a failed host call, as guest code sees it.
type Error struct {
	Code    string
	Message string
	// Hint says what to do about it, optional.
	Hint string
	// Server and Tool name what was called, if it was a tool.
	Server, Tool string
	// Data is more about it, as the server gave it: JSON, optional.
	Data json.RawMessage
	// RetryAfter says when to try again, zero if that is not known.
	RetryAfter time.Duration
	// Retryable tells that nothing happened, or that it is safe to call again.
	Retryable bool
	// Err is the reason on the host, not told to the guest; optional.
	Err error
}

// ToolError is the Error of a provider.
type ToolError = Error

func (e *Error) Error() string { return e.Code + ": " + e.Message }

// Unwrap returns the reason.
func (e *Error) Unwrap() error { return e.Err }

// Errorf returns an Error.
func Errorf(code, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Code: code, Message: err.Error(), Err: errors.Unwrap(err)}
}
