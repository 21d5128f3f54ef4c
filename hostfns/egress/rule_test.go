package egress

import (
	"errors"
	"strings"
	"testing"
)

func TestParseRule(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"api.example.com", "https://api.example.com/"},
		{"https://api.example.com", "https://api.example.com/"},
		{" API.Example.COM. ", "https://api.example.com/"},
		{"GET,POST https://api.example.com:8443/v1/", "GET,HEAD,POST https://api.example.com:8443/v1/"},
		{"post https://api.example.com/", "POST https://api.example.com/"},
		{"HEAD example.com", "HEAD https://example.com/"},
		{"head,get example.com", "https://example.com/"},
		{"* https://example.com", "* https://example.com/"},
		{"GET,* https://example.com", "* https://example.com/"},
		{"http://localhost:8080", "http://localhost:8080/"},
		{"http://127.0.0.1:8080,8081/x", "http://127.0.0.1:8080,8081/x"},
		{"http://example.com:80", "http://example.com/"},
		{"http://[::1]:8080", "http://[::1]:8080/"},
		{"http://[0:0::1]", "http://[::1]/"},
		{"http://[::ffff:10.0.0.1]", "http://10.0.0.1/"},
		{"*.example.com", "https://*.example.com/"},
		{"private *.corp.example", "private https://*.corp.example/"},
		{"private GET http://intranet", "private http://intranet/"},
		{"private http://localhost", "http://localhost/"},
		{"post private http://intranet", "private POST http://intranet/"},
		{"PROPFIND example.com", "PROPFIND https://example.com/"},
		{"private", "https://private/"},
		{"*", "https://*/"},
		{"example.com/a%20b", "https://example.com/a%20b"},
		{"example.com/a/../b", "https://example.com/b"},
		{"example.com/ü", "https://example.com/%C3%BC"},
	} {
		r, err := ParseRule(tt.text)
		if err != nil {
			t.Errorf("ParseRule(%q): %v", tt.text, err)
			continue
		}
		if got := r.String(); got != tt.want {
			t.Errorf("ParseRule(%q) = %q, want %q", tt.text, got, tt.want)
		}
	}
	for _, text := range []string{
		"", "  ", "GET", "POST/v1", "foo bar", "private private a b", "ftp://example.com", "https://", "https:///x", "a b c", "user@example.com", "https://user:pw@example.com",
		"example.com:0", "example.com:65536", "example.com:+80", "example.com:", "example.com:80,", "::1", "[::1", "[::1%eth0]",
		"fe80::1%eth0", "[127.0.0.1]", "127.1", "0x7f.1", "0177.0.0.1", "2130706433", "017700000001", "1.2.3.256", "1.2.3.4.5",
		"*.1.2.3.4", "**.example.com", "a.*.example.com", "exa mple.com x", "example..com", ".example.com", "münchen.de",
		"CONNECT example.com", "TRACE example.com", "GE(T example.com", "GET, example.com", "example.com/?q", "example.com/#f",
		"example.com/%2fx", "example.com/%252e%252e/", "example.com/%zz", "example.com/a\\b", "exam%70le.com", "example.com\x00",
		strings.Repeat("a", 64) + ".com", strings.Repeat("a.", 130) + "com", strings.Repeat("x", maxRule+1),
	} {
		if r, err := ParseRule(text); err == nil {
			t.Errorf("ParseRule(%q) = %q, want an error", text, r)
		} else if err != nil && !errors.Is(err, ErrRule) {
			t.Errorf("ParseRule(%q): %v is no ErrRule", text, err)
		}
	}
}

func TestRuleText(t *testing.T) {
	var r Rule
	if err := r.UnmarshalText([]byte("POST example.com/v1")); err != nil {
		t.Fatal(err)
	}
	if b, err := r.MarshalText(); err != nil || string(b) != "POST https://example.com/v1" {
		t.Errorf("MarshalText = %q, %v", b, err)
	}
	for _, r := range []Rule{{}, {Host: "a b"}, {Host: "a", Scheme: "gopher"}, {Host: "a", Ports: []uint16{0}}, {Host: "a", Path: "x"}} {
		if _, err := r.MarshalText(); !errors.Is(err, ErrRule) {
			t.Errorf("MarshalText of %+v: %v", r, err)
		}
		if _, err := New(&Options{Rules: []Rule{r}}); !errors.Is(err, ErrRule) {
			t.Errorf("New with %+v: %v", r, err)
		}
	}
}

func TestAllows(t *testing.T) {
	for _, tt := range []struct {
		rule, method, url string
		want              bool
	}{
		{"example.com", "GET", "https://example.com", true},
		{"example.com", "HEAD", "https://example.com/x?y", true},
		{"example.com", "POST", "https://example.com/", false},
		{"example.com", "GET", "http://example.com/", false},
		{"example.com", "GET", "http://example.com:443/", false},
		{"example.com", "GET", "https://example.com:443/", true},
		{"example.com", "GET", "https://example.com:/", true},
		{"example.com", "GET", "https://example.com:8443/", false},
		{"example.com", "GET", "HTTPS://EXAMPLE.com./", true},
		{"example.com", "GET", "https://a.example.com/", false},
		{"example.com", "GET", "https://badexample.com/", false},
		{"example.com", "GET", "https://example.com.evil.test/", false},
		{"*.example.com", "GET", "https://a.example.com/", true},
		{"*.example.com", "GET", "https://a.b.example.com/", true},
		{"*.example.com", "GET", "https://example.com/", false},
		{"*.example.com", "GET", "https://badexample.com/", false},
		{"*", "GET", "https://anything.test/", true},
		{"*", "GET", "http://anything.test/", false},
		{"https://[::1]", "GET", "https://[0:0:0::1]/", true},
		{"https://127.0.0.1", "GET", "https://[::ffff:127.0.0.1]/", true},
		{"https://127.0.0.1", "GET", "https://[::ffff:7f00:1]/", true},
		{"example.com:1,2", "GET", "https://example.com:2/", true},
		{"* example.com", "PROPFIND", "https://example.com/", true},
		{"example.com/v1", "GET", "https://example.com/v1", true},
		{"example.com/v1", "GET", "https://example.com/v1/x", true},
		{"example.com/v1", "GET", "https://example.com/v1?x=/../", true},
		{"example.com/v1", "GET", "https://example.com/v12", false},
		{"example.com/v1/", "GET", "https://example.com/v1", false},
		{"example.com/v1/", "GET", "https://example.com/v1/", true},
		{"example.com/v1/", "GET", "https://example.com/v1/./a/../b", true},
		{"example.com/v1/", "GET", "https://example.com/%76%31/b", true},
		{"example.com/v1/", "GET", "https://example.com/x/../v1/b", true},
		{"example.com/v1/", "GET", "https://example.com/v1/a%20b;c=d/ü", true},
		{"example.com/v1/", "GET", "https://example.com/v1/..", false},
		{"example.com/v1/", "GET", "https://example.com/v1/../admin", false},
		{"example.com/v1/", "GET", "https://example.com/v1/%2e%2E/admin", false},
		{"example.com/v1/", "GET", "https://example.com/v1/.%2e/admin", false},
		{"example.com/v1/", "GET", "https://example.com/v1/%2e%2e%2fadmin", false},
		{"example.com/v1/", "GET", "https://example.com/v1/..%2fadmin", false},
		{"example.com/v1/", "GET", "https://example.com/v1/%252e%252e/admin", false},
		{"example.com/v1/", "GET", "https://example.com/v1/%25252e%25252e/admin", false},
		{"example.com/v1/", "GET", "https://example.com/v1/..%252fadmin", false},
		{"example.com/v1/", "GET", "https://example.com/v1/..;/admin", false},
		{"example.com/v1/", "GET", "https://example.com/v1/..%3b/admin", false},
		{"example.com/v1/", "GET", "https://example.com/v1/..%5cadmin", false},
		{"example.com/v1/", "GET", `https://example.com/v1/..\admin`, false},
		{"example.com/v1/", "GET", "https://example.com/v1/%c0%ae%c0%ae/admin", false},
		{"example.com/v1/", "GET", "https://example.com/v1/a%00b", false},
		{"example.com/v1/", "GET", "https://example.com//v1/", false},
		{"example.com", "GET", "https://example.com/group%2fproject/%252e", true},
	} {
		r, err := ParseRule(tt.rule)
		if err != nil {
			t.Fatal(err)
		}
		to, err := parseTarget(tt.url)
		if err != nil {
			t.Errorf("%s: %v", tt.url, err)
			continue
		}
		if got := r.allows(tt.method, to); got != tt.want {
			t.Errorf("%q allows %s %s: %v", tt.rule, tt.method, tt.url, got)
		}
	}
}

func FuzzParseRule(f *testing.F) {
	for _, s := range []string{"example.com", "GET,POST https://a.b:1,2/v1/", "private * http://[::1]:8080", "*.a/%41/..", "x/%25"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := ParseRule(text)
		if err != nil {
			return
		}
		again, err := ParseRule(r.String())
		if err != nil {
			t.Fatalf("%q becomes %q: %v", text, r, err)
		}
		if again.String() != r.String() || again.AllowPrivate != r.AllowPrivate || again.Host != r.Host || again.Path != r.Path {
			t.Fatalf("%q becomes %+v, then %+v", text, r, again)
		}
	})
}
