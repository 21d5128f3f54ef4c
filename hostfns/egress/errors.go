package egress

import (
	"compress/flate"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/mayfly-run/mayfly/hostfns"
)

func bad(format string, args ...any) *hostfns.Error {
	return hostfns.Errorf(hostfns.CodeRequest, format, args...)
}

// denied says which rule is missing.
func (c *Client) denied(method string, t *target) *hostfns.Error {
	e := &hostfns.Error{Code: hostfns.CodeDenied, Hint: fmt.Sprintf("to allow it: --allow-http %q", t.rule(method))}
	e.Message = fmt.Sprintf("no rule allows %s %s", cut(method, 40), cut(t.scheme+"://"+t.hostHeader()+t.path.raw, 300))
	var here []string
	for i := range c.rules {
		r := &c.rules[i]
		if !r.allowsHost(t.host) || len(here) == 5 {
			continue
		}
		here = append(here, r.told())
		if p := t.path; !p.plain { // is it only the path's spelling?
			p.plain = true
			if r.allowsPath(&p) && r.Path != "/" {
				e.Message += " (servers may read this path in more ways than one)"
				break
			}
		}
	}
	if len(here) > 0 {
		e.Message += "; what is allowed of this host: " + strings.Join(here, "; ")
	}
	return e
}

// told is the rule as text, with its methods also when they are the default.
func (r Rule) told() string {
	text := r.String()
	if slices.Equal(r.Methods, []string{"GET", "HEAD"}) {
		private, rest := "", text
		if after, ok := strings.CutPrefix(text, "private "); ok {
			private, rest = "private ", after
		}
		return private + "GET " + rest
	}
	return text
}

// explain turns an error into what the guest is told: never an address of the host's network, nor a file or a secret.
func (s *sending) explain(ctx, inner context.Context, limit time.Duration, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if e := (*hostfns.Error)(nil); errors.As(err, &e) {
		return e
	}
	host := s.target.hostHeader()
	e := &hostfns.Error{Code: hostfns.CodeServer, Err: err}
	switch {
	case errors.Is(err, errPrivate):
		e.Code = hostfns.CodeDenied
		e.Message = fmt.Sprintf("%s has no public address, and others are not allowed", host)
		e.Hint = fmt.Sprintf("to allow it: --allow-http %q", s.privateRule())
	case inner.Err() != nil:
		e.Code = hostfns.CodeTimeout
		e.Message = fmt.Sprintf("%s %s took longer than %s", s.method, host, limit)
	case errors.Is(err, errTooLarge):
		e.Code = hostfns.CodeTooLarge
		e.Message = fmt.Sprintf("the response of %s has more than %d bytes", host, s.client.o.MaxResponse)
		e.Hint = "ask for less, for example by a Range header or the API's paging"
	case errors.Is(err, errResolve):
		e.Message, e.Retryable = "the name "+host+" cannot be resolved", true
	case errors.Is(err, errConnect):
		e.Message, e.Retryable = "no connection to "+host+connectReason(err), true
	default:
		e.Message = serverReason(host, err)
	}
	return e
}

func (s *sending) privateRule() string {
	t := s.target
	return Rule{Scheme: t.scheme, Host: t.host, Ports: []uint16{t.port}, Methods: []string{s.method}, AllowPrivate: true}.String()
}

func connectReason(err error) string {
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return ": it was refused"
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, syscall.ETIMEDOUT):
		return ": nobody answered"
	case errors.Is(err, syscall.ENETUNREACH), errors.Is(err, syscall.EHOSTUNREACH):
		return ": it cannot be reached"
	}
	return ""
}

func serverReason(host string, err error) string {
	var (
		authority x509.UnknownAuthorityError
		name      x509.HostnameError
		invalid   x509.CertificateInvalidError
		verify    *tls.CertificateVerificationError
		alert     tls.AlertError
		record    tls.RecordHeaderError
		late      net.Error
	)
	switch {
	case errors.As(err, &authority):
		return "the certificate of " + host + " is from an unknown authority"
	case errors.As(err, &name):
		return "the certificate of " + host + " is for another name"
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "the certificate of " + host + " has expired or is not valid yet"
	case errors.As(err, &invalid), errors.As(err, &verify):
		return "the certificate of " + host + " is not valid"
	case errors.As(err, &alert), errors.As(err, &record):
		return "no TLS connection to " + host
	case errors.Is(err, errEncoding):
		return "the response of " + host + " is damaged: it cannot be decompressed"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return host + " closed the connection before the response was complete"
	case errors.As(err, &late) && late.Timeout():
		return host + " did not answer in time"
	case strings.Contains(err.Error(), "headers exceeded"), strings.Contains(err.Error(), "larger than advertised limit"):
		return "the headers of " + host + "'s response are too large"
	}
	return host + " did not answer with a valid HTTP response"
}

func isCorrupt(err error) bool {
	var corrupt flate.CorruptInputError
	return errors.As(err, &corrupt)
}
