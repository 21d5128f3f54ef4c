package hostfns

import (
	"context"
	"regexp"
	"strings"
	"testing"
	"time"
)

func TestGlob(t *testing.T) {
	for _, c := range []struct {
		pattern, name string
		want          bool
	}{
		{"", "", true},
		{"", "a", false},
		{"*", "", true},
		{"*", "github.create_issue", true},
		{"github.*", "github.create_issue", true},
		{"github.*", "github.a.b", true},
		{"github.*", "github", false},
		{"github.*", "gitlab.create", false},
		{"*.delete_*", "fs.delete_file", true},
		{"*.delete_*", "fs.undelete_file", false},
		{"fs.read_?ile", "fs.read_file", true},
		{"fs.read_?ile", "fs.read_ile", false},
		{"fs.?", "fs.ö", true},
		{"fs.??", "fs.ö", false},
		{"a*b*c", "a_b_b_c", true},
		{"a*b*c", "a_c_b", false},
		{"[a]", "a", false},
		{"FS.*", "fs.read", false},
		{"**", "x", true},
		{"x**", "x", true},
		{"x?*", "x", false},
	} {
		if got := glob(c.pattern, c.name); got != c.want {
			t.Errorf("glob(%q, %q) = %v", c.pattern, c.name, got)
		}
	}
}

// TestGlobPrefix compares the short cuts with what they stand for, over all short patterns and names.
func TestGlobPrefix(t *testing.T) {
	const alphabet = "ab.*?"
	var patterns, rests []string
	for _, n := range []int{0, 1, 2, 3, 4} {
		words(alphabet, n, func(p string) { patterns = append(patterns, p) })
		words("ab.", n, func(p string) { rests = append(rests, p) })
	}
	for _, p := range patterns {
		re := regexp.MustCompile(`(?s)^` + strings.NewReplacer(`\*`, ".*", `\?`, ".").Replace(regexp.QuoteMeta(p)) + `$`)
		for _, prefix := range []string{"a.", "ab."} {
			some, all := false, true
			for _, r := range rests {
				is := glob(p, prefix+r)
				if is != re.MatchString(prefix+r) {
					t.Fatalf("glob(%q, %q) = %v", p, prefix+r, is)
				}
				some, all = some || is, all && is
			}
			if got := globSome(p, prefix); got != some {
				t.Errorf("globSome(%q, %q) = %v", p, prefix, got)
			}
			// It may miss some, but what it says has to hold.
			if got := globAll(p, prefix); got && !all || !got && all && strings.Trim(p, "*") == "" {
				t.Errorf("globAll(%q, %q) = %v", p, prefix, got)
			}
		}
	}
}

func words(alphabet string, n int, f func(string)) {
	if n == 0 {
		f("")
		return
	}
	words(alphabet, n-1, func(w string) {
		for _, c := range alphabet {
			f(w + string(c))
		}
	})
}

func TestMergeLimits(t *testing.T) {
	for _, c := range []struct {
		name     string
		policies []*Policy
		want     rules
	}{
		{"nothing", nil, rules{maxCalls: DefaultMaxCalls, maxBytes: DefaultMaxBytes, maxParallel: DefaultMaxParallel,
			retries: DefaultRetries, timeout: DefaultCallTimeout}},
		{"more than the default", []*Policy{nil, {MaxCalls: 5000, MaxBytes: 1 << 40, MaxParallel: 100, Retries: 9, CallTimeout: time.Hour}, {}},
			rules{maxCalls: 5000, maxBytes: 1 << 40, maxParallel: 100, retries: 9, timeout: time.Hour}},
		{"the smallest counts", []*Policy{{MaxCalls: 10, MaxBytes: 5, MaxParallel: 3, CallTimeout: 2, Retries: 4},
			{MaxCalls: 4, MaxBytes: 9, MaxParallel: 2, CallTimeout: 7, Retries: 3}},
			rules{maxCalls: 4, maxBytes: 5, maxParallel: 2, timeout: 2, retries: 3}},
		{"none at all", []*Policy{{MaxCalls: 10, Retries: 3}, {MaxCalls: -1, Retries: -1}},
			rules{maxCalls: 0, maxBytes: DefaultMaxBytes, maxParallel: DefaultMaxParallel, timeout: DefaultCallTimeout, retries: 0}},
		{"negative limits that have no meaning", []*Policy{{MaxBytes: -1, MaxParallel: -1, CallTimeout: -1}},
			rules{maxCalls: DefaultMaxCalls, maxBytes: DefaultMaxBytes, maxParallel: DefaultMaxParallel,
				retries: DefaultRetries, timeout: DefaultCallTimeout}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := merge(c.policies...)
			r.parts = nil
			if got := *r; got.maxCalls != c.want.maxCalls || got.maxBytes != c.want.maxBytes || got.maxParallel != c.want.maxParallel ||
				got.retries != c.want.retries || got.timeout != c.want.timeout {
				t.Errorf("merged to %+v, want %+v", got, c.want)
			}
		})
	}
}

func TestRules(t *testing.T) {
	yes, no := true, false
	reads, writes := &Annotations{ReadOnly: &yes}, &Annotations{ReadOnly: &no}
	n := toolNames("my-server", "my_server", "create-issue", "create_issue")
	for _, c := range []struct {
		name     string
		policies []*Policy
		a        *Annotations
		allowed  bool
		server   bool
		approve  bool
	}{
		{"nothing said", nil, writes, true, true, false},
		{"original names", []*Policy{{Allow: []string{"my-server.create-issue"}}}, writes, true, true, false},
		{"Python names", []*Policy{{Allow: []string{"my_server.create_issue"}}}, writes, true, true, false},
		{"names of both kinds", []*Policy{{Allow: []string{"my-server.create_issue"}}}, writes, true, true, false},
		{"the server", []*Policy{{Allow: []string{"my-server"}}}, writes, true, true, false},
		{"the module", []*Policy{{Allow: []string{"my_server"}}}, writes, true, true, false},
		{"another tool", []*Policy{{Allow: []string{"my-server.x", "other.*"}}}, writes, false, true, false},
		{"another server", []*Policy{{Allow: []string{"other.*"}}}, writes, false, false, false},
		{"nothing", []*Policy{{Allow: []string{}}}, reads, false, false, false},
		{"everybody has to allow", []*Policy{{Allow: []string{"*"}}, {Allow: []string{"other.*"}}}, writes, false, false, false},
		{"deny wins", []*Policy{{Allow: []string{"*"}, Deny: []string{"*.create*"}}}, writes, false, true, false},
		{"deny by the Python name", []*Policy{{Deny: []string{"my_server.create_issue"}}}, writes, false, true, false},
		{"deny the server", []*Policy{{Deny: []string{"my-server"}}}, writes, false, false, false},
		{"deny all of it", []*Policy{{Deny: []string{"my_server.*"}}}, writes, false, false, false},
		{"one of several denies", []*Policy{{}, {Deny: []string{"*"}}}, writes, false, false, false},
		{"read-only, a reader", []*Policy{{ReadOnly: true}}, reads, true, true, false},
		{"read-only, a writer", []*Policy{{ReadOnly: true}}, writes, false, true, false},
		{"read-only, it does not say", []*Policy{{ReadOnly: true}}, &Annotations{}, false, true, false},
		{"approve", []*Policy{{}, {Approve: []string{"*.create_*"}}}, writes, true, true, true},
		{"approve others", []*Policy{{Approve: []string{"other.*"}}}, writes, true, true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := merge(c.policies...)
			if got, why := r.allows(&n, c.a); got != c.allowed || got != (why == "") {
				t.Errorf("allowed: %v (%s)", got, why)
			}
			if got := r.server(n.server, n.module); got != c.server {
				t.Errorf("server allowed: %v", got)
			}
			if got := r.approve(&n); got != c.approve {
				t.Errorf("approve: %v", got)
			}
			if !c.server && c.allowed {
				t.Error("the table is wrong: a tool of a denied server")
			}
		})
	}
}

func TestRulesFunctions(t *testing.T) {
	for _, c := range []struct {
		policies []*Policy
		name     string
		want     bool
	}{
		{nil, "llm.ask", true},
		{[]*Policy{{Functions: []string{"llm.*"}}}, "llm.ask", true},
		{[]*Policy{{Functions: []string{"llm.*"}}}, "http.request", false},
		{[]*Policy{{Functions: []string{"*"}}, {Functions: []string{}}}, "llm.ask", false},
	} {
		if got := merge(c.policies...).function(c.name); got != c.want {
			t.Errorf("%v: %s allowed: %v", c.policies, c.name, got)
		}
	}
}

// TestPolicyIsCopied: who made a policy may change it afterwards without any effect.
func TestPolicyIsCopied(t *testing.T) {
	p := &Policy{Deny: []string{"a.*"}}
	h := newHost(t, &Options{Providers: []Provider{shop("a")}, Policy: p})
	s := h.NewSession(p)
	defer s.Close()
	p.Deny[0], p.MaxCalls = "b.*", -1
	for _, policy := range []*Policy{nil, {MaxCalls: 100}} {
		c := s.Begin(context.Background(), &ExecOptions{Policy: policy})
		if r := callTool(t, c, "a", "class", nil); r.Code != CodeDenied {
			t.Errorf("a change of the policy took effect: %+v", r)
		}
		c.End()
	}
}
