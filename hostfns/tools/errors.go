package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mayfly-run/mayfly/hostfns"
	"github.com/mayfly-run/mayfly/hostfns/secrets"
)

var (
	errClosed    = errors.New("the tool servers are closed")
	errDied      = errors.New("the server ended")
	errOtherHost = errors.New("the server redirects to another host")
	errTimeout   = errors.New("the call took longer than the server's configuration allows")
	errStart     = errors.New("it did not answer in time")
	errIdle      = errors.New("it was not used for a while")
	errDropped   = errors.New("its connection broke")
)

// Bounds of what is told of a server's errors, in bytes.
const (
	maxErrorText = 8 << 10
	maxErrorData = 64 << 10
)

// unknown is the error about a server that is not configured.
func unknown(server string) *hostfns.Error {
	e := hostfns.Errorf(hostfns.CodeUnavailable, "there is no tool server %.100q", server)
	e.Server = server
	return e
}

func closedError(server string) *hostfns.Error {
	return &hostfns.Error{Code: hostfns.CodeUnavailable, Server: server, Message: errClosed.Error(), Err: errClosed}
}

// isContext tells whether an error is only that nobody waits any more.
func isContext(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// startError is the error of a start that failed. It ends the program, if there is one.
func (s *server) startError(err error, p *process) *hostfns.Error {
	e := &hostfns.Error{
		Code: hostfns.CodeServer, Server: s.name, Err: err,
		Message: fmt.Sprintf("the tool server %s does not start: %s", s.name, cut(plain(err), maxErrorText)),
	}
	switch {
	case p != nil:
		e.Message += said(p)
		p.kill()
	case hasStatus(err, http.StatusUnauthorized), hasStatus(err, http.StatusForbidden):
		e.Hint = authHint
	case s.conf.Transport == TransportHTTP && (hasStatus(err, http.StatusNotFound) || hasStatus(err, http.StatusMethodNotAllowed)):
		e.Hint = `look at the url; if the server has the older transport only, add "type": "sse" to its configuration`
	case s.conf.Transport == TransportSSE && slices.ContainsFunc(notSSE, func(status int) bool { return hasStatus(err, status) }):
		e.Hint = `look at the url; if the server has the newer transport, its "type" is "streamable-http"`
	case errors.Is(err, secrets.ErrUnknown):
		e.Hint = "whoever runs this has to give it: --secret NAME=env:VARIABLE, or secrets in the configuration"
	}
	return e
}

// notSSE are what a server of the newer transport says to a client of the older one.
var notSSE = []int{http.StatusBadRequest, http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotAcceptable}

const authHint = "give the server's credentials in its headers in the configuration"

// hasStatus tells whether an error of the SDK is one of HTTP; it has the text of the status only.
func hasStatus(err error, status int) bool {
	return strings.HasSuffix(err.Error(), ": "+http.StatusText(status))
}

// said tells how a program ended, if it did, and what it wrote last.
func said(p *process) string {
	text := ""
	select {
	case <-p.exited:
		<-p.done // which takes a moment
		text = " (" + p.end() + ")"
	default:
	}
	if last := p.tail.String(); last != "" {
		text += "; it wrote:\n" + last
	}
	return text
}

// answer returns the error that a server answered with; nil: it is another one. The SDK has errors of its own that look alike.
func answer(err error) *jsonrpc.Error {
	e := (*jsonrpc.Error)(nil)
	if errors.As(err, &e) && !slices.Contains(sdkCodes, e.Code) {
		return e
	}
	return nil
}

var brokenWords = []string{"failed to reconnect", "terminated without response", "transport connection broken"}

// broke tells whether a connection over the network ended. The SDK has texts for it only.
func broke(err error) bool {
	text := err.Error()
	return errors.Is(err, errDropped) || errors.Is(err, io.EOF) || strings.HasSuffix(text, "EOF") ||
		strings.HasSuffix(text, "connection reset by peer") || slices.ContainsFunc(brokenWords, func(words string) bool {
		return strings.Contains(text, words)
	})
}

// bounded shortens what is too long, in place.
func bounded(e *jsonrpc.Error) *jsonrpc.Error {
	if e == nil {
		return nil
	}
	if len(e.Data) > maxErrorData || !json.Valid(e.Data) {
		e.Data = nil
	}
	e.Message = cut(strings.ToValidUTF8(e.Message, "\ufffd"), maxErrorText)
	return e
}

// sdkCodes are those of the SDK's own errors: the connection closes, and a transport rejects a message.
var sdkCodes = []int64{-32003, -32004, -32005}

// plain is an error's text, without what the SDK puts before it.
func plain(err error) string {
	if e := answer(err); e != nil {
		return fmt.Sprintf("%s (code %d)", e.Message, e.Code)
	}
	if errors.Is(err, errDied) {
		return errDied.Error()
	}
	return sdkWords.Replace(err.Error())
}

// sdkWords are the SDK's words for what it was doing, which say nothing to those who do not know MCP.
var sdkWords = strings.NewReplacer("rejected by transport: ", "", `calling "initialize": `, "", `sending "initialize": `, "",
	`calling "tools/list": `, "", `sending "tools/list": `, "", `calling "tools/call": `, "", `sending "tools/call": `, "")

// callError is the error of a call that failed, except for those that say that the server has no such tool.
func (s *session) callError(err error, o *outcome) *hostfns.Error {
	e := &hostfns.Error{Code: hostfns.CodeServer, Err: err, Message: cut(plain(err), maxErrorText)}
	switch {
	case o.tooLarge:
		e.Code = hostfns.CodeTooLarge
		e.Message = fmt.Sprintf("the result is larger than the allowed %d bytes", s.in.max)
		e.Hint = "ask the tool for less"
		return e
	case o.err != nil:
		if e.Data = o.err.Data; o.err.Code == jsonrpc.CodeInvalidParams {
			e.Code = hostfns.CodeInvalidArguments
		}
		return e
	case o.status == http.StatusTooManyRequests:
		e.Code, e.RetryAfter, e.Retryable = hostfns.CodeRateLimit, o.after, true
		e.Message = "the server has too many requests; try again later"
		return e
	case o.status >= 500:
		e.RetryAfter = o.after
	case o.status == http.StatusUnauthorized, o.status == http.StatusForbidden:
		e.Hint = authHint
	}
	switch {
	case !o.sent:
		e.Retryable = true
		e.Message = "the call was not sent: " + e.Message
	case errors.Is(err, errDied), errors.Is(err, mcp.ErrConnectionClosed):
		e.Message = "the server ended during the call, which may have had effects"
	case s.p == nil && broke(err):
		e.Message = "the connection to the server broke during the call, which may have had effects"
	}
	if s.p != nil {
		e.Message += said(s.p)
	}
	return e
}
