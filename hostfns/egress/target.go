package egress

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// target is where a request goes, in canonical form: what is checked is what is sent.
type target struct {
	scheme  string
	host    string     // as canonicalHost returns it
	literal netip.Addr // valid if the host is an address
	port    uint16
	path    path
	query   string // as it is sent, without the question mark
	asked   bool   // there is a question mark
}

// path is a path with its dot segments resolved.
type path struct {
	raw     string // as it is sent
	decoded string
	// plain tells that there is only one way to read it: no encoded slashes, nothing that a second decoding would change into
	// one or into a dot segment, no backslashes, no parameters on dot segments, no control characters.
	plain bool
}

// maxURL bounds URLs, in bytes.
const maxURL = 16 << 10

// parseTarget parses a URL strictly. It is not url.Parse: that leaves open what servers and resolvers read differently.
func parseTarget(text string) (*target, error) {
	if len(text) > maxURL {
		return nil, fmt.Errorf("the URL is longer than %d bytes", maxURL)
	}
	for i := range len(text) {
		if c := text[i]; c < ' ' || c == 0x7f {
			return nil, errors.New("the URL has control characters")
		}
	}
	scheme, rest, ok := strings.Cut(text, "://")
	t := &target{scheme: strings.ToLower(scheme)}
	if !ok || t.scheme != "http" && t.scheme != "https" {
		return nil, errors.New("the URL has to begin with https:// or http://")
	}
	rest, _, _ = strings.Cut(rest, "#")
	rest, t.query, t.asked = strings.Cut(rest, "?")
	i := strings.IndexAny(rest, `/\`)
	if i < 0 {
		i = len(rest)
	}
	if err := t.authority(rest[:i]); err != nil {
		return nil, err
	}
	var err error
	if t.path, err = cleanPath(rest[i:]); err != nil {
		return nil, fmt.Errorf("the URL's path %w", err)
	}
	t.query = escape(t.query, queryByte)
	return t, nil
}

func (t *target) authority(text string) error {
	if strings.Contains(text, "@") {
		return errors.New("a URL must not have a user name or a password: use the Authorization header")
	}
	t.port = defaultPort(t.scheme)
	if i := strings.LastIndexByte(text, ':'); i >= 0 && !strings.HasSuffix(text, "]") {
		if port := text[i+1:]; port != "" {
			n, err := parsePort(port)
			if err != nil {
				return fmt.Errorf("in the URL, %w", err)
			}
			t.port = n
		}
		text = text[:i]
	}
	if strings.Contains(text, ":") && !strings.HasPrefix(text, "[") {
		return errors.New("an IPv6 address stands in brackets: [::1]")
	}
	var err error
	t.host, t.literal, err = canonicalHost(text)
	return err
}

// hostPort returns HOST:PORT, the port always.
func (t *target) hostPort() string { return bracket(t.host) + ":" + strconv.Itoa(int(t.port)) }

// hostHeader returns the host as it is sent.
func (t *target) hostHeader() string {
	if t.port == defaultPort(t.scheme) {
		return bracket(t.host)
	}
	return t.hostPort()
}

// url returns the URL to be sent; nothing in it is changed on the way.
func (t *target) url() (*url.URL, error) {
	u := &url.URL{
		Scheme: t.scheme, Host: t.hostHeader(), Path: t.path.decoded, RawPath: t.path.raw,
		RawQuery: t.query, ForceQuery: t.asked && t.query == "",
	}
	if u.EscapedPath() != t.path.raw {
		return nil, errors.New("the URL's path cannot be sent as it is")
	}
	return u, nil
}

func (t *target) String() string {
	s := t.scheme + "://" + t.hostHeader() + t.path.raw
	if t.asked {
		s += "?" + t.query
	}
	return s
}

// rule returns the smallest rule that allows a request, as a user would write it.
func (t *target) rule(method string) string {
	r := Rule{Scheme: t.scheme, Host: t.host, Ports: []uint16{t.port}, Methods: []string{method}}
	if method == "HEAD" {
		r.Methods = nil
	}
	return r.String()
}

// cleanPath resolves the dot segments of an escaped path, in whatever spelling, and escapes what has to be.
func cleanPath(raw string) (path, error) {
	p := path{plain: true}
	if raw == "" {
		raw = "/"
	}
	if raw[0] != '/' {
		return p, errors.New("has to begin with a slash")
	}
	var out []string
	segments := strings.Split(raw[1:], "/")
	for i, s := range segments {
		decoded, err := url.PathUnescape(s)
		if err != nil {
			return p, errors.New("has a % that is not followed by two hexadecimal digits")
		}
		dots := decoded == "." || decoded == ".."
		if decoded == ".." && len(out) > 0 {
			out = out[:len(out)-1]
		}
		if dots && i == len(segments)-1 {
			out = append(out, "") // what a path ends in is a directory then
		}
		if !dots {
			out = append(out, s)
			p.plain = p.plain && plainSegment(decoded)
		}
	}
	p.raw = escape("/"+strings.Join(out, "/"), pathByte)
	decoded, err := url.PathUnescape(p.raw)
	if err != nil {
		return p, err
	}
	p.decoded = decoded
	return p, nil
}

// plainSegment reports whether all servers take a decoded segment for the same.
func plainSegment(s string) bool {
	for range 4 { // more encodings than anybody decodes
		name, _, _ := strings.Cut(s, ";") // some servers drop parameters before they look at dots
		if name == "." || name == ".." || strings.ContainsAny(s, "/\\") {
			return false
		}
		for i := range len(s) {
			if s[i] < ' ' || s[i] == 0x7f {
				return false
			}
		}
		again, err := url.PathUnescape(s)
		if err != nil || again == s {
			// Overlong UTF-8 for dots and slashes is no UTF-8: nothing is plain that is none.
			return strings.ToValidUTF8(s, "") == s
		}
		s = again
	}
	return false
}

// escape percent-encodes the bytes that may not stand in a URL, and leaves what is encoded.
func escape(s string, ok func(byte) bool) string {
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		if c == '%' || ok(c) {
			b.WriteByte(c)
			continue
		}
		b.Write([]byte{'%', hex[c>>4], hex[c&15]})
	}
	return b.String()
}

func unreserved(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("-_.~", c) >= 0
}

func pathByte(c byte) bool  { return unreserved(c) || strings.IndexByte("/!$&'()*+,;=:@", c) >= 0 }
func queryByte(c byte) bool { return pathByte(c) || strings.IndexByte("?[]{}|^`", c) >= 0 }

// escapePath escapes a decoded path.
func escapePath(p string) string {
	return escape(strings.ReplaceAll(p, "%", "%25"), pathByte)
}
