package egress

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/url"
	"strings"

	"github.com/mayfly-run/mayfly/hostfns"
	"github.com/mayfly-run/mayfly/hostfns/secrets"
)

// placeholder is how the placeholders of secrets begin.
const placeholder = "{{secret:"

// reveal puts secrets in the place of their placeholders. The target's rules were checked before: nothing that a secret
// holds can change where the request goes.
func (s *sending) reveal() error {
	set, destination := s.client.o.Secrets, "http:"+s.target.hostPort()
	if set == nil {
		return nil
	}
	r := revealer{reveal: func(text string) (string, error) { return set.Reveal(text, destination) }}
	if strings.Contains(s.target.path.decoded, placeholder) {
		return bad("a secret can stand in a header, in the query or in the body, but not in the path of a URL")
	}
	s.target.query = r.form(s.target.query)
	for name, values := range s.header {
		for i, v := range values {
			values[i] = s.headerSecret(&r, name, v)
			if r.err == nil && !validValue(values[i]) {
				return bad("the secret in the header %s has characters that a header cannot have", cut(name, 60))
			}
		}
	}
	if err := s.bodySecrets(&r, func() ([]byte, error) { return set.RevealJSON(json.RawMessage(s.body), destination) }); err != nil {
		r.fail(err)
	}
	if r.err != nil {
		e := &hostfns.Error{Code: hostfns.CodeDenied, Message: r.err.Error(), Err: r.err}
		if errors.Is(r.err, secrets.ErrDestination) {
			e.Hint = "whoever starts the sandbox says where a secret may go: --allow-secret NAME=" + destination
		}
		return e
	}
	return nil
}

// headerSecret reveals the secrets of a header's value, also those in the encoded pair of Basic authentication.
func (s *sending) headerSecret(r *revealer, name, value string) string {
	if scheme, pair, ok := strings.Cut(value, " "); ok && name == "Authorization" && strings.EqualFold(scheme, "Basic") {
		plain, err := base64.StdEncoding.DecodeString(strings.TrimSpace(pair))
		if err != nil || !bytes.Contains(plain, []byte(placeholder)) {
			return value
		}
		sent := base64.StdEncoding.EncodeToString([]byte(r.text(string(plain))))
		s.spelled = append(s.spelled, [2]string{sent, pair})
		return scheme + " " + sent
	}
	return r.text(value)
}

func (s *sending) bodySecrets(r *revealer, asJSON func() ([]byte, error)) (err error) {
	if kind, _, _ := mime.ParseMediaType(s.header.Get("Content-Type")); kind == "application/x-www-form-urlencoded" {
		if hasEncoded(string(s.body)) {
			s.body = []byte(r.form(string(s.body)))
		}
		return nil
	}
	if !bytes.Contains(s.body, []byte(placeholder)) {
		return nil
	}
	if json.Valid(s.body) {
		s.body, err = asJSON()
		return err
	}
	s.body = []byte(r.text(string(s.body)))
	return nil
}

// revealer keeps the first error.
type revealer struct {
	reveal func(string) (string, error)
	err    error
}

func (r *revealer) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

func (r *revealer) text(text string) string {
	if !strings.Contains(text, placeholder) {
		return text
	}
	out, err := r.reveal(text)
	if err != nil {
		r.fail(fmt.Errorf("a secret cannot be sent: %w", err))
		return ""
	}
	return out
}

// form reveals the secrets of a query or a form, in which placeholders may be percent-encoded.
func (r *revealer) form(text string) string {
	if !hasEncoded(text) {
		return text
	}
	var b strings.Builder
	for i, field := range strings.Split(text, "&") {
		if i > 0 {
			b.WriteByte('&')
		}
		for j, part := range strings.SplitN(field, "=", 2) {
			if j > 0 {
				b.WriteByte('=')
			}
			plain, err := url.QueryUnescape(part)
			if err != nil || !strings.Contains(plain, placeholder) {
				b.WriteString(part)
				continue
			}
			b.WriteString(url.QueryEscape(r.text(plain)))
		}
	}
	return b.String()
}

// hasEncoded reports whether there may be a placeholder in a query or a form.
func hasEncoded(text string) bool { return strings.Contains(text, "secret") }
