package secrets

import (
	"fmt"
	"strings"
)

// pattern is a destination with * for anything.
type pattern string

// parsePattern brings a pattern to the form that destinations have.
func parsePattern(s string) (pattern, error) {
	bad := func(why string) (pattern, error) {
		return "", fmt.Errorf("destination %q: %s", clip(s), why)
	}
	if len(s) > 1024 {
		return bad("too long")
	}
	if s == "*" {
		return "*", nil
	}
	kind, rest, _ := strings.Cut(s, ":")
	switch kind {
	case "tool":
		if !strings.ContainsAny(rest, ".*") {
			return bad("say tool:SERVER.TOOL, or tool:SERVER.* for all tools of a server")
		}
		return pattern(s), nil
	case "http":
		host, port := splitPort(rest)
		if host == "" || port == "" || strings.ContainsAny(rest, "/@?# ") {
			return bad("say http:HOST or http:HOST:PORT, without a path")
		}
		return pattern("http:" + strings.ToLower(host) + ":" + port), nil
	}
	return bad("say tool:SERVER.TOOL, http:HOST:PORT, or * for all")
}

// splitPort splits HOST, HOST:PORT, [V6] or [V6]:PORT.
func splitPort(s string) (host, port string) {
	i := strings.LastIndexByte(s, ':')
	if i < 0 || i < strings.LastIndexByte(s, ']') {
		return s, "443"
	}
	return s[:i], s[i+1:]
}

func (s *secret) allows(destination string) bool {
	if rest, ok := strings.CutPrefix(destination, "http:"); ok {
		host, port := splitPort(rest)
		destination = "http:" + strings.TrimSuffix(strings.ToLower(host), ".") + ":" + port
	}
	for _, p := range s.allow {
		if p.match(destination) {
			return true
		}
	}
	return false
}

// match is linear for a pattern with one *, and at most the product of both lengths.
func (p pattern) match(s string) bool {
	pi, si := 0, 0
	star, again := -1, 0
	for si < len(s) {
		switch {
		case pi < len(p) && p[pi] == '*':
			star, again = pi, si
			pi++
		case pi < len(p) && p[pi] == s[si]:
			pi++
			si++
		case star >= 0:
			again++
			pi, si = star+1, again
		default:
			return false
		}
	}
	return strings.Trim(string(p[pi:]), "*") == ""
}
