package egress

import (
	"errors"
	"net/http"
	"net/textproto"
	"strconv"
	"strings"
)

// maxHeaders bounds the number of headers of a request.
const maxHeaders = 200

// overrides are headers by which servers take a request for one of another method: that one has to be allowed as well.
var overrides = []string{"X-Http-Method-Override", "X-Http-Method", "X-Method-Override"}

// refused are headers that are about the connection, which is the host's, or that make some servers see another URL.
var refused = map[string]bool{
	"Connection": true, "Keep-Alive": true, "Te": true, "Trailer": true, "Transfer-Encoding": true, "Upgrade": true,
	"Http2-Settings": true, "X-Original-Url": true, "X-Rewrite-Url": true,
}

// header returns the headers to be sent, without any secrets yet.
func (c *Client) header(a *args, method string, t *target, body int) (http.Header, error) {
	h := http.Header{}
	if len(a.Headers) > maxHeaders {
		return nil, bad("the request has %d headers, more than the %d allowed", len(a.Headers), maxHeaders)
	}
	size := 0
	for _, nv := range a.Headers {
		if size += len(nv[0]) + len(nv[1]); size > c.o.MaxHeader {
			return nil, bad("the request's headers have more than %d bytes", c.o.MaxHeader)
		}
		if !validToken(nv[0]) {
			return nil, bad("%q is no header's name", cut(nv[0], 60))
		}
		name := textproto.CanonicalMIMEHeaderKey(nv[0])
		value, ok := latin1(nv[1])
		if value = strings.Trim(value, " \t"); !ok || !validValue(value) {
			return nil, bad("the value of the header %s has characters that a header cannot have", cut(name, 60))
		}
		if refused[name] || strings.HasPrefix(name, "Proxy-") {
			return nil, bad("the header %s is not for guest code to set", cut(name, 60))
		}
		switch name {
		case "Host":
			if err := t.sameHost(value); err != nil {
				return nil, bad("%w", err)
			}
		case "Content-Length":
			if n, err := strconv.Atoi(value); err != nil || n != body {
				return nil, bad("Content-Length is %q, and the body has %d bytes", cut(value, 30), body)
			}
		case "Accept-Encoding", "Expect": // the host's business
		default:
			h[name] = append(h[name], value)
		}
	}
	if len(h["User-Agent"]) == 0 {
		h.Set("User-Agent", c.o.UserAgent)
	}
	if h.Get("Range") == "" && method != http.MethodHead {
		h.Set("Accept-Encoding", "gzip")
	}
	return h, nil
}

// sameHost checks a Host header, which may not send the request to somebody else behind the same address.
func (t *target) sameHost(header string) error {
	other := &target{scheme: t.scheme}
	if err := other.authority(header); err != nil || other.hostPort() != t.hostPort() {
		return errors.New("the Host header has to be that of the URL")
	}
	return nil
}

// latin1 returns the bytes that the characters of a header stand for.
func latin1(s string) (string, bool) {
	var b strings.Builder
	for _, r := range s {
		if r > 0xff {
			return "", false
		}
		b.WriteByte(byte(r))
	}
	return b.String(), true
}

// fromLatin1 returns the characters that stand for the bytes of a header. Control characters, which some servers get past
// parsers, become spaces: they must not become lines of their own in the guest.
func fromLatin1(s string) string {
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		if c < ' ' && c != '\t' || c == 0x7f {
			c = ' '
		}
		b.WriteRune(rune(c))
	}
	return b.String()
}

func validValue(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return true
}

func validToken(s string) bool {
	for i := range len(s) {
		c := s[i]
		if c <= ' ' || c >= 0x7f || strings.IndexByte(`"(),/:;<=>?@[\]{}`, c) >= 0 {
			return false
		}
	}
	return s != ""
}

// asciiUpper is strings.ToUpper without the characters of Unicode whose upper case is ASCII.
func asciiUpper(s string) string {
	b := []byte(s)
	for i, c := range b {
		if 'a' <= c && c <= 'z' {
			b[i] = c - 'a' + 'A'
		}
	}
	return string(b)
}
