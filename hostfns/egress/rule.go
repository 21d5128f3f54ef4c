package egress

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Rule allows requests. ParseRule makes one from text.
type Rule struct {
	// Scheme is "https" or "http". Default: https.
	Scheme string
	// Host is a name, an IP address, "*.example.com" for all names below example.com, but not itself, or "*" for every host.
	Host string
	// Ports are those allowed. Default: the scheme's, 443 or 80.
	Ports []uint16
	// Methods are those allowed; GET allows HEAD as well. Default: GET, HEAD. "*" is every one.
	Methods []string
	// Path is a prefix of the decoded path: "/v1" allows /v1 and what is below, "/v1/" only what is below. Default: "/".
	// Under a longer prefix, paths that servers read differently (encoded slashes, double encodings) are refused.
	Path string
	// AllowPrivate allows the host to have an address that is not public: of this machine or of the host's own network. It
	// is implied by a literal address and by "localhost".
	AllowPrivate bool
}

// ErrRule is wrapped by the errors about rules.
var ErrRule = errors.New("invalid HTTP rule")

// maxRule bounds the text of a rule, in bytes.
const maxRule = 4 << 10

// ParseRule parses "[private] [METHOD,...] [SCHEME://]HOST[:PORT,...][/PATH]", as in
//
//	api.example.com                                 GET and HEAD by https
//	GET,POST https://api.example.com:8443/v1/       one API of it
//	http://localhost:8080                           a server of this machine
//	private * https://*.corp.example                any method; addresses need not be public
func ParseRule(text string) (Rule, error) {
	r, err := parseRule(text)
	if err != nil {
		return Rule{}, fmt.Errorf("%w %q: %w", ErrRule, cut(text, 200), err)
	}
	return r, nil
}

func parseRule(text string) (Rule, error) {
	var r Rule
	if len(text) > maxRule {
		return r, errors.New("it is too long")
	}
	words := strings.Fields(text)
	for i := 0; i < 2 && i+1 < len(words); i++ {
		if words[i] == "private" {
			r.AllowPrivate, words = true, slices.Delete(words, i, i+1)
			break
		}
	}
	if len(words) == 2 {
		r.Methods, words = strings.Split(words[0], ","), words[1:]
		for _, m := range r.Methods {
			if up := strings.ToUpper(m); m != up && !slices.Contains(knownMethods, up) {
				return r, fmt.Errorf("%q is no method; * stands for every one", cut(m, 40))
			}
		}
	}
	if len(words) != 1 {
		return r, errors.New(`it should be like "GET,POST https://api.example.com/v1/"`)
	}
	rest := words[0]
	if scheme, after, ok := strings.Cut(rest, "://"); ok {
		r.Scheme, rest = scheme, after
	}
	if i := strings.IndexByte(rest, '/'); i >= 0 {
		p, err := rulePath(rest[i:])
		if err != nil {
			return r, err
		}
		r.Path, rest = p, rest[:i]
	}
	if strings.Contains(rest, "@") {
		return r, errors.New("it has a user name; programs send their credentials in headers")
	}
	host, ports, err := cutPorts(rest)
	if err != nil {
		return r, err
	}
	if r.Scheme == "" && slices.Contains(knownMethods, host) {
		return r, fmt.Errorf("after the method %s a host is missing", host)
	}
	r.Host, r.Ports = host, ports
	return r.normal()
}

// knownMethods are no names of hosts in the text of a rule, and may be written in small letters.
var knownMethods = []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}

// cutPorts takes the ports from the end of HOST[:PORT,...].
func cutPorts(text string) (host string, ports []uint16, err error) {
	i := strings.LastIndexByte(text, ':')
	if i < 0 || strings.HasSuffix(text, "]") {
		return text, nil, nil
	}
	if strings.Contains(text[:i], ":") && !strings.HasSuffix(text[:i], "]") {
		return "", nil, errors.New("an IPv6 address stands in brackets: [::1]")
	}
	for p := range strings.SplitSeq(text[i+1:], ",") {
		n, err := parsePort(p)
		if err != nil {
			return "", nil, err
		}
		ports = append(ports, n)
	}
	return text[:i], ports, nil
}

func parsePort(text string) (uint16, error) {
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil || n == 0 || text[0] == '+' {
		return 0, fmt.Errorf("%q is no port", cut(text, 20))
	}
	return uint16(n), nil
}

// normal returns the rule in canonical form, with all defaults filled in.
func (r Rule) normal() (Rule, error) {
	r.Scheme = strings.ToLower(r.Scheme)
	switch r.Scheme {
	case "":
		r.Scheme = "https"
	case "https", "http":
	default:
		return r, fmt.Errorf("%w: the scheme has to be https or http, not %q", ErrRule, cut(r.Scheme, 20))
	}
	if err := r.normalHost(); err != nil {
		return r, fmt.Errorf("%w: %w", ErrRule, err)
	}
	if len(r.Ports) == 0 {
		r.Ports = []uint16{defaultPort(r.Scheme)}
	}
	r.Ports = slices.Compact(slices.Sorted(slices.Values(r.Ports)))
	if r.Ports[0] == 0 {
		return r, fmt.Errorf("%w: 0 is no port", ErrRule)
	}
	if err := r.normalMethods(); err != nil {
		return r, fmt.Errorf("%w: %w", ErrRule, err)
	}
	if r.Path == "" {
		r.Path = "/"
	}
	p, err := rulePath(escapePath(r.Path))
	if err != nil {
		return r, fmt.Errorf("%w: %w", ErrRule, err)
	}
	r.Path = p
	return r, nil
}

// rulePath decodes the escaped path of a rule.
func rulePath(raw string) (string, error) {
	if strings.ContainsAny(raw, "?#") {
		return "", errors.New("the path is a prefix, without a query")
	}
	p, err := cleanPath(raw)
	if err != nil {
		return "", fmt.Errorf("the path %w", err)
	}
	if !p.plain {
		return "", fmt.Errorf("the path %q can be read in several ways", cut(raw, 200))
	}
	return p.decoded, nil
}

func (r *Rule) normalHost() error {
	if r.Host == "*" {
		return nil
	}
	name, below := strings.CutPrefix(r.Host, "*.")
	host, literal, err := canonicalHost(name)
	switch {
	case err != nil:
		return err
	case below && literal.IsValid():
		return fmt.Errorf("no address is below %s", host)
	case below:
		r.Host = "*." + host
		return nil
	}
	r.Host = host
	r.AllowPrivate = r.AllowPrivate || literal.IsValid() || host == "localhost"
	return nil
}

func (r *Rule) normalMethods() error {
	var methods []string
	for _, m := range r.Methods {
		m = strings.ToUpper(m)
		if m == "*" {
			r.Methods = []string{"*"}
			return nil
		}
		if err := checkMethod(m); err != nil {
			return err
		}
		methods = append(methods, m)
	}
	if len(methods) == 0 || slices.Contains(methods, "GET") {
		methods = append(methods, "GET", "HEAD")
	}
	slices.Sort(methods)
	r.Methods = slices.Compact(methods)
	return nil
}

// checkMethod refuses what is no method, and those that are about the connection rather than a resource.
func checkMethod(m string) error {
	if !validToken(m) || len(m) > 32 {
		return fmt.Errorf("%q is no method", cut(m, 40))
	}
	if m == "CONNECT" || m == "TRACE" {
		return fmt.Errorf("the method %s is not supported", m)
	}
	return nil
}

// String returns the rule as ParseRule reads it.
func (r Rule) String() string {
	n, err := r.normal()
	if err != nil {
		return fmt.Sprintf("invalid rule for %q", cut(r.Host, 100))
	}
	var b strings.Builder
	if _, literal, err := canonicalHost(n.Host); n.AllowPrivate && (err != nil || !literal.IsValid() && n.Host != "localhost") {
		b.WriteString("private ")
	}
	if m := strings.Join(n.Methods, ","); m != "GET,HEAD" {
		b.WriteString(m + " ")
	}
	b.WriteString(n.Scheme + "://" + bracket(n.Host))
	if len(n.Ports) != 1 || n.Ports[0] != defaultPort(n.Scheme) {
		for i, p := range n.Ports {
			b.WriteByte(":,"[min(i, 1)])
			b.WriteString(strconv.Itoa(int(p)))
		}
	}
	return b.String() + escapePath(n.Path)
}

// MarshalText implements encoding.TextMarshaler.
func (r Rule) MarshalText() ([]byte, error) {
	if _, err := r.normal(); err != nil {
		return nil, err
	}
	return []byte(r.String()), nil
}

// UnmarshalText implements encoding.TextUnmarshaler by ParseRule.
func (r *Rule) UnmarshalText(text []byte) (err error) {
	*r, err = ParseRule(string(text))
	return err
}

// allows reports whether a canonical rule allows a request.
func (r *Rule) allows(method string, t *target) bool {
	return r.Scheme == t.scheme && slices.Contains(r.Ports, t.port) && r.allowsHost(t.host) &&
		(r.Methods[0] == "*" || slices.Contains(r.Methods, method)) && r.allowsPath(&t.path)
}

func (r *Rule) allowsHost(host string) bool {
	if r.Host == "*" {
		return true
	}
	if suffix, ok := strings.CutPrefix(r.Host, "*"); ok {
		return len(host) > len(suffix) && strings.HasSuffix(host, suffix)
	}
	return r.Host == host
}

func (r *Rule) allowsPath(p *path) bool {
	if r.Path == "/" {
		return true
	}
	if !p.plain || !strings.HasPrefix(p.decoded, r.Path) {
		return false
	}
	return strings.HasSuffix(r.Path, "/") || len(p.decoded) == len(r.Path) || p.decoded[len(r.Path)] == '/'
}

func defaultPort(scheme string) uint16 {
	if scheme == "http" {
		return 80
	}
	return 443
}

func cut(s string, n int) string {
	if len(s) > n {
		return s[:n] + "..."
	}
	return s
}
