package hostfns

import (
	"cmp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// rules are several policies merged. They do not change.
type rules struct {
	// parts each have to allow a call.
	parts []*Policy

	maxCalls, maxParallel, retries int
	maxBytes                       int64
	timeout                        time.Duration
}

// merge makes rules of policies, nil ones aside. It copies them.
func merge(policies ...*Policy) *rules {
	r := &rules{}
	for _, p := range policies {
		if p == nil {
			continue
		}
		c := *p
		c.Allow, c.Deny = cloneStrings(p.Allow), cloneStrings(p.Deny)
		c.Approve, c.Functions = cloneStrings(p.Approve), cloneStrings(p.Functions)
		r.parts = append(r.parts, &c)
		r.maxCalls = smaller(r.maxCalls, p.MaxCalls)
		r.maxBytes = smaller(r.maxBytes, max(0, p.MaxBytes))
		r.maxParallel = smaller(r.maxParallel, max(0, p.MaxParallel))
		r.timeout = smaller(r.timeout, max(0, p.CallTimeout))
		r.retries = smaller(r.retries, p.Retries)
	}
	// A negative number means none, zero that nobody said anything.
	r.maxCalls = max(0, cmp.Or(r.maxCalls, DefaultMaxCalls))
	r.retries = max(0, cmp.Or(r.retries, DefaultRetries))
	r.maxBytes = cmp.Or(r.maxBytes, DefaultMaxBytes)
	r.maxParallel = cmp.Or(r.maxParallel, DefaultMaxParallel)
	r.timeout = cmp.Or(r.timeout, DefaultCallTimeout)
	return r
}

// and returns rules with one more policy, which may be nil.
func (r *rules) and(p *Policy) *rules {
	if p == nil {
		return r
	}
	return merge(append(slices.Clone(r.parts), p)...)
}

// smaller returns the smaller of two limits, of which zero is none.
func smaller[T int | int64 | time.Duration](a, b T) T {
	if a == 0 || b == 0 {
		return a + b
	}
	return min(a, b)
}

// cloneStrings keeps nil and empty apart: an empty list allows nothing.
func cloneStrings(s []string) []string {
	if s == nil {
		return nil
	}
	return append([]string{}, s...)
}

// names are the spellings of a tool that patterns are matched against.
type names struct {
	server, module string
	full           []string
}

func toolNames(server, module, tool, python string) names {
	n := names{server: server, module: module, full: []string{server + "." + tool}}
	if module == server && python == tool {
		return n
	}
	n.full = append(n.full, module+"."+python)
	if module != server && python != tool {
		n.full = append(n.full, server+"."+python, module+"."+tool)
	}
	return n
}

func (n *names) match(patterns []string) bool {
	for _, p := range patterns {
		if glob(p, n.server) || glob(p, n.module) {
			return true
		}
		for _, f := range n.full {
			if glob(p, f) {
				return true
			}
		}
	}
	return false
}

// allows tells whether a tool may be seen and called, and why not.
func (r *rules) allows(n *names, a *Annotations) (bool, string) {
	for _, p := range r.parts {
		switch {
		case n.match(p.Deny):
			return false, "policy denies it"
		case p.Allow != nil && !n.match(p.Allow):
			return false, "policy does not allow it"
		case p.ReadOnly && (a.ReadOnly == nil || !*a.ReadOnly):
			return false, "only tools that are marked read-only may be called"
		}
	}
	return true, ""
}

// approve tells whether a person has to approve calls of a tool.
func (r *rules) approve(n *names) bool {
	for _, p := range r.parts {
		if n.match(p.Approve) {
			return true
		}
	}
	return false
}

// server tells whether any tool of a server may be allowed, whatever tools it has. It spares starting servers in vain.
func (r *rules) server(name, module string) bool {
	for _, p := range r.parts {
		for _, d := range p.Deny {
			if glob(d, name) || glob(d, module) || globAll(d, name+".") || globAll(d, module+".") {
				return false
			}
		}
		if p.Allow == nil {
			continue
		}
		some := false
		for _, a := range p.Allow {
			some = some || glob(a, name) || glob(a, module) || globSome(a, name+".") || globSome(a, module+".")
		}
		if !some {
			return false
		}
	}
	return true
}

// function tells whether a host function may be called.
func (r *rules) function(name string) bool {
	for _, p := range r.parts {
		if p.Functions == nil {
			continue
		}
		some := false
		for _, f := range p.Functions {
			some = some || glob(f, name)
		}
		if !some {
			return false
		}
	}
	return true
}

// glob matches a name with a pattern of * and ?. It takes time of the lengths' product at most.
func glob(pattern, name string) bool {
	p, back, from := 0, -1, 0
	for n := 0; n < len(name); {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			back, from = p, n
			p++
		case p < len(pattern) && pattern[p] == '?':
			p++
			_, size := utf8.DecodeRuneInString(name[n:])
			n += size
		case p < len(pattern) && pattern[p] == name[n]:
			p++
			n++
		case back >= 0: // the last * takes one more
			from++
			p, n = back+1, from
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}

// globSome tells whether a pattern matches any name that begins with prefix.
func globSome(pattern, prefix string) bool {
	for i := 0; i < len(pattern); i++ {
		if pattern[i] == '*' && glob(pattern[:i+1], prefix) {
			return true
		}
	}
	// Without a * that takes the end of the prefix, some beginning of the pattern has to match all of it.
	for i := 0; i <= len(pattern); i++ {
		if glob(pattern[:i], prefix) {
			return true
		}
	}
	return false
}

// globAll tells whether a pattern matches every name that begins with prefix. It may miss some that are written oddly.
func globAll(pattern, prefix string) bool {
	return strings.HasSuffix(pattern, "*") && glob(pattern, prefix)
}
