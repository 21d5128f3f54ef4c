package egress

import (
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"testing"
)

func TestParseTarget(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"https://example.com", "https://example.com/"},
		{"HTTP://Example.COM:80/a?b#c", "http://example.com/a?b"},
		{"https://example.com?x=1", "https://example.com/?x=1"},
		{"https://example.com/?", "https://example.com/?"},
		{"https://example.com/a b?c d\"<>", "https://example.com/a%20b?c%20d%22%3C%3E"},
		{"https://example.com/ä?ö", "https://example.com/%C3%A4?%C3%B6"},
		{"https://example.com/a/./b/../c/", "https://example.com/a/c/"},
		{"https://example.com/a/b/..", "https://example.com/a/"},
		{"https://example.com/a/b/.", "https://example.com/a/b/"},
		{"https://example.com/../../a", "https://example.com/a"},
		{"https://example.com/%2E%2e/a", "https://example.com/a"},
		{"https://example.com/a%2Fb/%252e", "https://example.com/a%2Fb/%252e"},
		{"https://example.com//a//b", "https://example.com//a//b"},
		{"https://example.com/!$&'()*+,;=:@~", "https://example.com/!$&'()*+,;=:@~"},
		{"https://example.com/[]|^", "https://example.com/%5B%5D%7C%5E"},
		{"https://[::1]:8443/x", "https://[::1]:8443/x"},
		{"https://1.2.3.4/", "https://1.2.3.4/"},
		{"https://example.com:0443/", "https://example.com/"},
	} {
		to, err := parseTarget(tt.text)
		if err != nil {
			t.Errorf("%q: %v", tt.text, err)
			continue
		}
		if to.String() != tt.want {
			t.Errorf("%q becomes %q, want %q", tt.text, to, tt.want)
		}
	}
	for _, text := range []string{
		"", "example.com", "//example.com", "file:///etc/passwd", "https:example.com", "https://", "https:///x", "https://?x",
		"https://user@example.com", "https://user:pw@example.com/", "https://example.com@evil.test/", "https://a%40b/", "https://a b/",
		"https://example.com\\@evil.test/", "https://example.com\\.evil.test/", "https://example.com:80:80/", "https://example.com:x/",
		"https://example.com:-1/", "https://example.com:99999/", "https://exa\tmple.com/", "https://example.com/\r\nX: y",
		"https://example.com/\x7f", "https://example.com/%", "https://example.com/%4", "https://example.com/%4g", "https://[::1/",
		"https://[::1%25lo]/", "https://[1.2.3.4]/", "https://::1/", "https://127.1/", "https://0x7f000001/", "https://2130706433/",
		"https://0177.0.0.1/", "https://127.0.0.01/", "https://1.2.3/", "https://example.com../", "https://①②⑦.0.0.1/",
		"https://ⓔxample.com/", "https://example。com/", "https://{{secret:x}}/", " https://example.com/",
		"https://example.com/" + strings.Repeat("a", maxURL),
	} {
		if to, err := parseTarget(text); err == nil {
			t.Errorf("%q becomes %q, want an error", cut(text, 80), to)
		}
	}
}

// What goes over the wire is what was checked, whatever net/http does with it.
func FuzzTarget(f *testing.F) {
	for _, s := range []string{"https://example.com/a/../b?c#d", "http://[::1]:8080/%2e%2E/x", "https://a/%252f;/..;x/?%zz", "http://1.2.3.4"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		to, err := parseTarget(text)
		if err != nil {
			return
		}
		again, err := parseTarget(to.String())
		if err != nil || again.String() != to.String() || again.path != to.path {
			t.Fatalf("%q becomes %q, then %q: %v", text, to, again, err)
		}
		u, err := to.url()
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		var wire strings.Builder
		if err := (&http.Request{Method: "GET", URL: u, Host: u.Host, Header: http.Header{}}).Write(&wire); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		line, rest, _ := strings.Cut(wire.String(), "\r\n")
		want := to.path.raw
		if to.asked {
			want += "?" + to.query
		}
		if line != "GET "+want+" HTTP/1.1" || !strings.HasPrefix(rest, "Host: "+to.hostHeader()+"\r\n") {
			t.Fatalf("%q is checked as %q, and sent as %q", text, to, wire.String())
		}
		if parsed, err := url.Parse(to.String()); err != nil || parsed.Port() != "" && to.port == defaultPort(to.scheme) {
			t.Fatalf("%q: %v", to, err)
		}
		if strings.Contains(to.path.raw, "/../") || strings.HasSuffix(to.path.raw, "/..") {
			t.Fatalf("%q has dot segments", to)
		}
	})
}

// A header is refused, or is one line with the value as it was given.
func FuzzHeader(f *testing.F) {
	for _, s := range [][2]string{{"X-A", "b"}, {"host", "example.com:443"}, {"Proxy-X", ""}, {"A\r\nB", "c"}, {"A", "ü\t\x80"}, {"content-length", "0"}} {
		f.Add(s[0], s[1])
	}
	c, err := New(nil)
	if err != nil {
		f.Fatal(err)
	}
	to, err := parseTarget("https://example.com/")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, name, value string) {
		h, err := c.header(&args{Headers: [][2]string{{name, value}}}, "GET", to, 0)
		if err != nil {
			return
		}
		var wire strings.Builder
		if err := h.Write(&wire); err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(wire.String(), "\n"); n > 3 || n != strings.Count(wire.String(), "\r") {
			t.Fatalf("%q: %q is sent as %q", name, value, wire.String())
		}
	})
}

func TestMayConnect(t *testing.T) {
	public := []string{"8.8.8.8", "1.1.1.1", "172.15.0.1", "172.32.0.1", "100.63.0.1", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808"}
	inner := []string{
		"10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "100.64.0.1", "127.0.0.1", "127.255.0.1", "169.254.1.1", "198.18.0.1",
		"192.0.2.1", "::1", "fc00::1", "fd12::1", "fe80::1", "fec0::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::127.0.0.1",
		"64:ff9b::7f00:1", "64:ff9b::a00:1", "64:ff9b:1::808:808", "2002:7f00:1::", "2001:0:1::1", "2001:db8::1", "240.0.0.1",
		"255.255.255.255", "100::1", "5f00::1", "4000::1",
	}
	never := []string{
		"224.0.0.1", "ff02::1", "0.0.0.0", "::", "169.254.169.254", "169.254.170.2", "100.100.100.200", "192.0.0.192", "168.63.129.16",
		"fd00:ec2::254", "fd20:ce::254", "::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe",
	}
	check := func(host string, addrs []string, private, want bool) {
		t.Helper()
		for _, a := range addrs {
			if got := mayConnect(host, netip.MustParseAddr(a), private); got != want {
				t.Errorf("mayConnect(%q, %s, %v) = %v", host, a, private, got)
			}
		}
	}
	for _, host := range []string{"example.com", "localhost"} {
		check(host, public, false, true)
		check(host, inner, false, false)
		check(host, never, false, false)
	}
	check("intranet", public, true, true)
	check("intranet", inner, true, true)
	check("intranet", never, true, false)
	check("localhost", []string{"127.0.0.1", "::1", "127.9.9.9"}, true, true)
	check("localhost", []string{"10.0.0.1", "192.168.0.1", "169.254.169.254", "fe80::1"}, true, false)
	check("10.0.0.1", []string{"10.0.0.1", "::ffff:10.0.0.1"}, true, true)
	check("10.0.0.1", []string{"10.0.0.2", "8.8.8.8"}, true, false)
	check("10.0.0.1", []string{"10.0.0.1"}, false, false)
	check("169.254.169.254", []string{"169.254.169.254"}, true, true)
	if mayConnect("example.com", netip.Addr{}, true) {
		t.Error("an address that is none is allowed")
	}
}
