package httpapi

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"strings"

	"github.com/mayfly-run/mayfly/engine"
)

// ErrTooLarge says that a body is larger than the server reads.
var ErrTooLarge = errors.New("too large")

// ErrNoExecution says that there is no execution of this ID, or it has ended.
var ErrNoExecution = errors.New("no such execution")

var (
	errNoRoute = errors.New("no such route")
	// errStopping: the server is about to end. Nothing was done.
	errStopping = errors.New("the process that has the store is ending")
)

// maxMessage bounds what an error says, in bytes.
const maxMessage = 2000

const (
	codeInternal = "internal"
	codeRequest  = "invalid_request"
)

// codes is how errors travel: the first whose err matches is the code, and the client makes err of it again. Errors of
// what exists or not come before ErrRequest, which they may be wrapped in.
var codes = []struct {
	code   string
	status int
	err    error
}{
	{"no_session", http.StatusNotFound, engine.ErrNoSession},
	{"session_exists", http.StatusConflict, engine.ErrSessionExists},
	{"conflict", http.StatusConflict, engine.ErrConflict},
	{"no_step", http.StatusNotFound, engine.ErrNoStep},
	{"suspended", http.StatusConflict, engine.ErrSuspended},
	{"no_question", http.StatusNotFound, engine.ErrNoQuestion},
	{"no_execution", http.StatusNotFound, ErrNoExecution},
	{"invalid_archive", http.StatusUnprocessableEntity, engine.ErrArchive},
	{"no_route", http.StatusNotFound, errNoRoute},
	{"no_store", http.StatusNotImplemented, engine.ErrNoStore},
	{"store_full", http.StatusInsufficientStorage, engine.ErrStoreFull},
	{"store_damaged", http.StatusInternalServerError, engine.ErrStoreDamaged},
	{"too_many_sessions", http.StatusTooManyRequests, engine.ErrTooManySessions},
	{"busy", http.StatusTooManyRequests, engine.ErrBusy},
	{"stopping", http.StatusServiceUnavailable, errStopping},
	{"closed", http.StatusServiceUnavailable, engine.ErrClosed},
	{"unavailable", http.StatusNotImplemented, engine.ErrUnavailable},
	{"no_file", http.StatusNotFound, fs.ErrNotExist},
	{"file_exists", http.StatusConflict, fs.ErrExist},
	{"too_large", http.StatusRequestEntityTooLarge, ErrTooLarge},
	{"cancelled", 499, context.Canceled},
	{"timeout", http.StatusGatewayTimeout, context.DeadlineExceeded},
	{codeRequest, http.StatusBadRequest, engine.ErrRequest},
}

// Problem is an error as it travels.
type Problem struct {
	// Code is for programs, see the table in errors.go; "internal" stands for all that they cannot do anything about.
	Code    string `json:"code"`
	Message string `json:"message"`
	// Hint says what to do.
	Hint string `json:"hint,omitempty"`
	// Phase is that of the engine.Error.
	Phase string `json:"phase,omitempty"`
}

func (p *Problem) status() int {
	for _, c := range codes {
		if c.code == p.Code {
			return c.status
		}
	}
	return http.StatusInternalServerError
}

// describe makes a Problem of an error.
func describe(err error) *Problem {
	p := &Problem{Code: codeInternal, Message: err.Error()}
	var e *engine.Error
	if errors.As(err, &e) {
		p.Message, p.Hint, p.Phase = e.Err.Error(), e.Hint, e.Phase
	}
	if len(p.Message) > maxMessage { // it may have a name of the request in it
		p.Message = strings.ToValidUTF8(p.Message[:maxMessage/2], "") + " ... " +
			strings.ToValidUTF8(p.Message[len(p.Message)-maxMessage/2:], "")
	}
	if tooLarge(err) != nil {
		err = ErrTooLarge
	}
	for _, c := range codes {
		if errors.Is(err, c.err) {
			p.Code = c.code
			return p
		}
	}
	var path *fs.PathError
	if errors.As(err, &path) { // of the session's files: what was asked for cannot be done with them
		p.Code = codeRequest
	}
	return p
}

// err makes an error of a Problem again.
func (p *Problem) err() error {
	r := &remoteError{message: p.Message}
	for _, c := range codes {
		if c.code == p.Code {
			r.reason = c.err
		}
	}
	return &engine.Error{Err: r, Phase: p.Phase, Hint: p.Hint}
}

// remoteError is an error that happened in another process.
type remoteError struct {
	message string
	reason  error // a sentinel, or nil
}

func (r *remoteError) Error() string { return r.message }
func (r *remoteError) Unwrap() error { return r.reason }
