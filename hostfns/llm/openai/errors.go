package openai

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"unicode/utf8"

	sdk "github.com/sashabaranov/go-openai"

	"github.com/mayfly-run/mayfly/hostfns"
)

// maxSaid bounds what of a server's message is passed on.
const maxSaid = 2 << 10

// failure is an error that a server sent.
type failure struct {
	status int
	code   string
	said   string // by the server, for people
	text   string // all of it in lower case, to look for words
}

// failureOf returns what a server sent, nil if err is another one.
func failureOf(err error, status int) *failure {
	var api *sdk.APIError
	var request *sdk.RequestError
	f := &failure{status: status}
	switch {
	case errors.As(err, &request): // it may have an APIError that could not be read inside
		f.status, f.said = request.HTTPStatusCode, cut(string(request.Body), 8<<10)
		f.text = f.said
	case errors.As(err, &api):
		f.code, f.said = api.Type, api.Message
		param := ""
		if c, ok := api.Code.(string); ok && c != "" {
			f.code = c
		}
		if api.Param != nil {
			param = *api.Param
		}
		if api.InnerError != nil && api.InnerError.Code != "" {
			param += " " + api.InnerError.Code
		}
		f.text = strings.Join([]string{f.code, api.Type, param, cut(f.said, 8<<10)}, " ")
		if api.HTTPStatusCode != 0 {
			f.status = api.HTTPStatusCode
		}
	default:
		return nil
	}
	f.text = strings.ToLower(f.text)
	return f
}

func (f *failure) has(words ...string) bool {
	for _, w := range words {
		if strings.Contains(f.text, w) {
			return true
		}
	}
	return false
}

const (
	hintKey = "whoever runs this has to check the API key of the model (apiKey of llm in the configuration), and that it may " +
		"use the model"
	hintLater = "try again later"
	hintURL   = "whoever runs this has to check the URL of the model server (baseURL of llm in the configuration; most end in " +
		"/v1), and that it runs"
)

// mapped makes of an error of the library one for programs. Messages have no address, no key and no headers' values.
func (m *Model) mapped(err error, x *exchange, key string) error {
	var e *hostfns.Error
	if f := failureOf(err, x.status); f != nil {
		f.said = m.scrub(f.said, key) // before it is cut: a part of a key is one, too
		e = f.mapped()
	} else if !errors.As(err, &e) {
		e = mapOther(err)
	}
	if e.RetryAfter == 0 && e.Retryable {
		e.RetryAfter = x.retryAfter
	}
	if e.Err == nil {
		e.Err = err
	}
	e.Message = cut(m.scrub(e.Message, key), 2*maxSaid)
	e.Err = errors.New(cut(m.scrub(e.Err.Error(), key), maxSaid))
	return e
}

func (f *failure) mapped() *hostfns.Error {
	said := cut(strings.TrimSpace(f.said), maxSaid)
	if said == "" {
		said = http.StatusText(f.status)
	}
	fail := func(code string, retryable bool, hint, format string, args ...any) *hostfns.Error {
		return &hostfns.Error{Code: code, Message: fmt.Sprintf(format, args...), Hint: hint, Retryable: retryable}
	}
	switch {
	case f.status == http.StatusUnauthorized || f.status == http.StatusForbidden:
		// Servers repeat the key here, in ways of their own.
		return fail(hostfns.CodeUnavailable, false, hintKey, "the model server refused the API key (HTTP %d)", f.status)
	case f.status == http.StatusTooManyRequests && f.has("insufficient_quota", "billing"):
		return fail(hostfns.CodeUnavailable, false, hintKey, "the account of the model has no quota left: %s", said)
	case f.status == http.StatusTooManyRequests || f.status < 400 && f.has("rate_limit", "rate limit"):
		return fail(hostfns.CodeRateLimit, !f.has("request too large"), "wait, or ask less at once",
			"the model server limits requests: %s", said)
	case f.status == http.StatusRequestEntityTooLarge || f.tooLong():
		return fail(hostfns.CodeContextTooLong, false, "ask about a part of it, or summarise the parts first (ask_llm_batch)",
			"prompt and context are too long for the model: %s", said)
	case f.has("content_filter", "content_policy", "content management policy", "responsibleaipolicy", "content policy"):
		return fail(hostfns.CodeRefused, false, "", "the model's provider refused the request: %s", said)
	case f.status == http.StatusNotFound && f.has("model"):
		return fail(hostfns.CodeRequest, false, "", "the model server has no such model: %s", said)
	case f.status == http.StatusNotFound || f.status == http.StatusMethodNotAllowed || f.status >= 300 && f.status < 400:
		return fail(hostfns.CodeUnavailable, false, hintURL, "there is no model server at the configured URL (HTTP %d)", f.status)
	case f.status == http.StatusRequestTimeout || f.status == http.StatusConflict || f.status == http.StatusTooEarly || f.status >= 500:
		return fail(hostfns.CodeUnavailable, true, hintLater, "the model server failed (HTTP %d): %s", f.status, said)
	case f.status >= 400:
		return fail(hostfns.CodeRequest, false, "", "the model server does not accept the request: %s", said)
	default: // in a stream
		return fail(hostfns.CodeServer, true, "", "the model server failed: %s", said)
	}
}

func (f *failure) tooLong() bool {
	return f.has("context_length_exceeded", "exceed_context_size", "maximum context length", "context length", "context window",
		"context size", "prompt is too long", "input is too long", "too many tokens", "string_above_max_length")
}

// mapOther maps errors that are not the server's words.
func mapOther(err error) *hostfns.Error {
	var (
		dns     *net.DNSError
		unknown x509.UnknownAuthorityError
		cert    *x509.CertificateInvalidError
		host    x509.HostnameError
		syntax  *json.SyntaxError
		kind    *json.UnmarshalTypeError
		netErr  net.Error
	)
	unavailable := func(retryable bool, why string) *hostfns.Error {
		return &hostfns.Error{
			Code: hostfns.CodeUnavailable, Message: "the model server cannot be reached: " + why, Hint: hintURL, Retryable: retryable,
		}
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return &hostfns.Error{Code: hostfns.CodeTimeout, Message: "the model took too long", Hint: "ask for less at once"}
	case errors.Is(err, errTooLarge):
		return hostfns.Errorf(hostfns.CodeTooLarge, "the model server's response is too large")
	case errors.Is(err, errRedirect):
		return unavailable(false, "it redirects to another URL")
	case errors.As(err, &dns):
		return unavailable(dns.IsTemporary, "its name is not known")
	case errors.Is(err, syscall.ECONNREFUSED):
		return unavailable(false, "connection refused")
	case errors.As(err, &unknown), errors.As(err, &cert), errors.As(err, &host):
		return unavailable(false, "its certificate is not valid")
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, net.ErrClosed):
		return &hostfns.Error{Code: hostfns.CodeUnavailable, Message: "the model server closed the connection", Hint: hintLater, Retryable: true}
	case errors.As(err, &syntax), errors.As(err, &kind), errors.Is(err, sdk.ErrTooManyEmptyStreamMessages):
		return hostfns.Errorf(hostfns.CodeServer, "the model server's answer makes no sense")
	case isLocal(err):
		return hostfns.Errorf(hostfns.CodeRequest, "the model cannot be asked this way: %s", cut(err.Error(), maxSaid))
	case errors.As(err, &netErr):
		return unavailable(true, "the connection failed")
	default:
		return hostfns.Errorf(hostfns.CodeServer, "the model server's answer makes no sense")
	}
}

// isLocal tells whether the library itself refused the request.
func isLocal(err error) bool {
	for _, e := range []error{
		sdk.ErrChatCompletionInvalidModel, sdk.ErrReasoningModelMaxTokensDeprecated, sdk.ErrReasoningModelLimitationsOther,
		sdk.ErrReasoningSamplingUnsupported, sdk.ErrReasoningModelLimitationsLogprobs,
	} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// scrub takes out what servers repeat of what they were sent.
func (m *Model) scrub(s, key string) string {
	const short = 6 // anything shorter is found in ordinary text
	if len(key) >= short {
		s = strings.ReplaceAll(s, key, "***")
	}
	for _, values := range m.o.Headers {
		for _, v := range values {
			if len(v) >= short {
				s = strings.ReplaceAll(s, v, "***")
			}
		}
	}
	return strings.ToValidUTF8(s, "\ufffd")
}

// cut returns at most n bytes of a text.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "..."
}
