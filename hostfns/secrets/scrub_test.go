package secrets

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"
)

const token = `ghp_Zq3/+x"9&<ü>` + "\n~k'€\\😀!"

func set(t testing.TB, values ...string) *Set {
	t.Helper()
	var specs []Spec
	for i, v := range values {
		specs = append(specs, Spec{Name: string(rune('A' + i)), Value: v})
	}
	s, err := New(context.Background(), specs)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestScrubFindsEncodings(t *testing.T) {
	s := set(t, token)
	python := `ghp_Zq3/+x\"9&<\u00fc>\n~k'\u20ac\\\ud83d\ude00!` // json.dumps
	encodings := map[string]string{
		"raw":                token,
		"CRLF":               strings.ReplaceAll(token, "\n", "\r\n"),
		"hex":                hex.EncodeToString([]byte(token)),
		"HEX":                strings.ToUpper(hex.EncodeToString([]byte(token))),
		"query":              url.QueryEscape(token),
		"path":               url.PathEscape(token),
		"JSON, Python":       python,
		"JSON with \\/":      strings.ReplaceAll(python, "/", `\/`),
		"Go quoted":          strings.Trim(strconv.Quote(token), `"`),
		"Python repr":        `ghp_Zq3/+x"9&<ü>\n~k\'€\\😀!`,
		"HTML":               "ghp_Zq3/+x&quot;9&amp;&lt;ü&gt;\n~k&#x27;€\\😀!",
		"base64":             base64.StdEncoding.EncodeToString([]byte(token)),
		"base64, raw":        base64.RawStdEncoding.EncodeToString([]byte(token)),
		"base64url":          base64.URLEncoding.EncodeToString([]byte(token)),
		"base64url, raw":     base64.RawURLEncoding.EncodeToString([]byte(token)),
		"encodeURIComponent": "ghp_Zq3%2F%2Bx%229%26%3C%C3%BC%3E%0A~k'%E2%82%AC%5C%F0%9F%98%80!",
	}
	lower := []byte(url.QueryEscape(token))
	for i, c := range lower {
		if i >= 1 && lower[i-1] == '%' || i >= 2 && lower[i-2] == '%' {
			lower[i] = strings.ToLower(string(c))[0]
		}
	}
	encodings["query, lower"] = string(lower)
	encodings["percent, all"] = "%" + strings.Join(pairs(hex.EncodeToString([]byte(token))), "%")
	j, _ := json.Marshal(token)
	encodings["JSON, Go"] = string(j[1 : len(j)-1])
	jj, _ := json.Marshal(string(j))
	encodings["JSON in JSON"] = string(jj[3 : len(jj)-3])
	for name, e := range encodings {
		t.Run(name, func(t *testing.T) {
			for _, around := range []string{"%s", "<<%s>>", "a=%s&b=%[1]s"} {
				text := fmt.Sprintf(around, e)
				want := strings.ReplaceAll(text, e, "{{secret:A}}")
				if got := string(s.Scrub([]byte(text))); got != want {
					t.Errorf("Scrub(%q) = %q, want %q", text, got, want)
				}
				if name, found := s.Find([]byte(text)); name != "A" || !found {
					t.Errorf("Find = %q, %v", name, found)
				}
				masked := []byte(text)
				if !s.Mask(masked) || string(masked) != strings.ReplaceAll(text, e, strings.Repeat("*", len(e))) {
					t.Errorf("Mask: %q", masked)
				}
			}
		})
	}
}

func pairs(h string) (all []string) {
	for ; h != ""; h = h[2:] {
		all = append(all, h[:2])
	}
	return all
}

// TestScrubInsideBase64: wherever a value is in what is encoded, at most the bits that it shares with its neighbours
// are left.
func TestScrubInsideBase64(t *testing.T) {
	const value = "s3cr3t-value/with?bytes\xc3\xbf"
	s := set(t, value)
	for before := range 7 {
		for after := range 7 {
			for _, enc := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding, base64.RawStdEncoding, base64.RawURLEncoding} {
				text := enc.EncodeToString([]byte("user:@@"[:before] + value + "\n\n\n\n\n\n\n"[:after]))
				got := string(s.Scrub([]byte(text)))
				left := len(strings.Replace(got, "{{secret:A}}", "", 1))
				if most := (before+2)/3*4 + (after+2)/3*4 + 4; !strings.Contains(got, "{{secret:A}}") || left > most {
					t.Errorf("%d before, %d after: %q became %q", before, after, text, got)
				}
			}
		}
	}
}

func TestScrubOverlaps(t *testing.T) {
	for _, c := range []struct {
		values     []string
		text, want string
	}{
		{[]string{"abcdef", "abcdefgh"}, "xabcdefghx abcdef", "x{{secret:B}}x {{secret:A}}"},
		{[]string{"bcdefg", "abcdefgh"}, "abcdefgh, abcdefg", "{{secret:B}}, a{{secret:A}}"},
		{[]string{"abcdef", "defghi"}, "abcdefghi abcdef defghi", "{{secret:A}} {{secret:A}} {{secret:B}}"},
		{[]string{"abcdef", "defghijk"}, "abcdefghijk", "{{secret:B}}"},
		{[]string{"abcdef", "ghijkl", "efghijklm"}, "abcdefghijklm.", "{{secret:C}}."},
		{[]string{"abcdef", "ghijkl"}, "abcdefghijkl", "{{secret:A}}{{secret:B}}"},
		{[]string{"aaaaaa"}, "baaaaaaaaaaaaaaab", "b{{secret:A}}b"},
		{[]string{"abcabcd"}, "abcabcabcd", "abc{{secret:A}}"},
		{[]string{"samesame", "samesame"}, "samesame", "{{secret:A}}"},
		{[]string{"{secret", "line\nline"}, "{secretline\nline", "{{secret:A}}{{secret:B}}"},
	} {
		if strings.HasPrefix(c.values[0], "{secret") {
			c.values[0], c.text = "}secret", "}"+c.text[1:] // what is part of a placeholder is refused
		}
		s := set(t, c.values...)
		if got := string(s.Scrub([]byte(c.text))); got != c.want {
			t.Errorf("%q: %q became %q, want %q", c.values, c.text, got, c.want)
		}
		checkStream(t, s, []byte(c.text))
	}
}

func TestNothingToScrub(t *testing.T) {
	var none *Set
	empty, err := New(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	text := []byte("{{secret:A}} text")
	for _, s := range []*Set{none, empty, {}} {
		if got := s.Scrub(text); &got[0] != &text[0] {
			t.Error("Scrub copied")
		}
		if _, found := s.Find(text); found || s.Mask(text) || s.Names() != nil {
			t.Error("found something")
		}
		if r := bytes.NewReader(text); s.Reader(r) != io.Reader(r) {
			t.Error("Reader is another")
		}
		var b bytes.Buffer
		w := s.Writer(&b)
		if n, err := w.Write(text); n != len(text) || err != nil || w.Flush() != nil || b.String() != string(text) {
			t.Errorf("Writer: %d, %v, %q", n, err, &b)
		}
		if got, err := s.Reveal("{{secret:A}}", "tool:a.b"); err != nil || got != "{{secret:A}}" {
			t.Errorf("Reveal: %q, %v", got, err)
		}
		if got, err := s.RevealJSON([]byte(`"{{secret:A}}"`), "tool:a.b"); err != nil || string(got) != `"{{secret:A}}"` {
			t.Errorf("RevealJSON: %s, %v", got, err)
		}
		if _, err := s.Expand("${secret:A}"); !errors.Is(err, ErrUnknown) {
			t.Errorf("Expand: %v", err)
		}
		if _, err := s.Placeholder("A"); !errors.Is(err, ErrUnknown) {
			t.Errorf("Placeholder: %v", err)
		}
		if s.String() != "secrets.Set()" {
			t.Error(s.String())
		}
	}
	some := set(t, "abcdef")
	if got := some.Scrub(text); &got[0] != &text[0] {
		t.Error("Scrub copied what has no secrets")
	}
}

// checkStream compares the streams with the whole, for every split in two and for single bytes.
func checkStream(t *testing.T, s *Set, text []byte) {
	t.Helper()
	want := string(s.Scrub(text))
	for i := range len(text) + 1 {
		var b bytes.Buffer
		w := s.Writer(&b)
		for _, p := range [][]byte{text[:i], nil, text[i:]} {
			if n, err := w.Write(p); n != len(p) || err != nil {
				t.Fatalf("Write = %d, %v", n, err)
			}
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		if b.String() != want {
			t.Fatalf("split at %d: %q, want %q", i, &b, want)
		}
	}
	for _, r := range []io.Reader{bytes.NewReader(text), iotest.OneByteReader(bytes.NewReader(text)), iotest.DataErrReader(bytes.NewReader(text))} {
		if got, err := io.ReadAll(s.Reader(r)); err != nil || string(got) != want {
			t.Fatalf("Reader: %q, %v, want %q", got, err, want)
		}
	}
}

func TestWriterHoldsBack(t *testing.T) {
	s := set(t, "abcabcd")
	var b bytes.Buffer
	w := s.Writer(&b)
	for _, step := range []struct{ write, sum string }{
		{"xab", "x"},
		{"cab", "x"},
		{"cab", "xabc"},
		{"cd", "xabc{{secret:A}}"}, // nothing longer begins like it
		{"abcabc", "xabc{{secret:A}}"},
		{"-", "xabc{{secret:A}}abcabc-"},
	} {
		if _, err := io.WriteString(w, step.write); err != nil {
			t.Fatal(err)
		}
		if b.String() != step.sum {
			t.Fatalf("after %q: %q, want %q", step.write, &b, step.sum)
		}
	}
	_, _ = io.WriteString(w, "abcabc")
	if w.Flush() != nil || !strings.HasSuffix(b.String(), "-abcabc") {
		t.Fatalf("after Flush: %q", &b)
	}
	if _, _ = io.WriteString(w, "d"); !strings.HasSuffix(b.String(), "-abcabcd") {
		t.Fatalf("Flush did not begin anew: %q", &b)
	}
}

// TestWriterKeepsLittle: a run of overlapping matches of any length is one placeholder, and is not kept.
func TestWriterKeepsLittle(t *testing.T) {
	s := set(t, strings.Repeat("a", 100))
	var b bytes.Buffer
	w := s.Writer(&b)
	p := bytes.Repeat([]byte("a"), 1000)
	for range 1000 {
		if _, err := w.Write(p); err != nil {
			t.Fatal(err)
		}
		if len(w.s.held) > 100 || len(w.s.found) > 1 {
			t.Fatalf("%d bytes and %d regions are kept", len(w.s.held), len(w.s.found))
		}
	}
	if err := w.Flush(); err != nil || b.String() != "{{secret:A}}" {
		t.Fatalf("%.100q, %v", &b, err)
	}
}

type badWriter struct{ n int }

func (w *badWriter) Write(p []byte) (int, error) {
	n := min(w.n, len(p))
	w.n -= n
	if n < len(p) {
		return n, errors.New("full")
	}
	return n, nil
}

type shortWriter struct{}

func (shortWriter) Write(p []byte) (int, error) { return len(p) / 2, nil }

func TestWriterErrors(t *testing.T) {
	s := set(t, "abcdef")
	w := s.Writer(&badWriter{5})
	if n, err := io.WriteString(w, "1234567"); n != 5 || err == nil {
		t.Errorf("Write = %d, %v", n, err)
	}
	if n, err := io.WriteString(w, "1"); n != 0 || err == nil || w.Flush() == nil {
		t.Errorf("Write after an error = %d, %v", n, err)
	}
	w = s.Writer(shortWriter{})
	if n, err := io.WriteString(w, "1234"); n != 2 || !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("short: %d, %v", n, err)
	}
	w = s.Writer(&badWriter{5})
	if n, err := io.WriteString(w, "abcdef"); n != 0 || err == nil {
		t.Errorf("Write = %d, %v", n, err)
	}
	w = s.Writer(&badWriter{0})
	if n, err := io.WriteString(w, "abc"); n != 3 || err != nil {
		t.Errorf("what is held back: %d, %v", n, err)
	}
	if w.Flush() == nil {
		t.Error("Flush lost an error")
	}
}

func TestReaderErrors(t *testing.T) {
	s := set(t, "abcdef")
	bad := errors.New("bad")
	got, err := io.ReadAll(s.Reader(io.MultiReader(strings.NewReader("xabcdefabc"), iotest.ErrReader(bad))))
	if !errors.Is(err, bad) || string(got) != "x{{secret:A}}abc" {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := io.ReadAll(s.Reader(silent{})); !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("%v", err)
	}
	if err := iotest.TestReader(s.Reader(strings.NewReader("1abcdef2abcde3")), []byte("1{{secret:A}}2abcde3")); err != nil {
		t.Error(err)
	}
}

type silent struct{}

func (silent) Read([]byte) (int, error) { return 0, nil }

func FuzzScrub(f *testing.F) {
	f.Add([]byte("abcdefghi abcdef"), "abcdef", "defghi", uint8(3))
	f.Add([]byte("aaaaaaaaaaaaaaaa"), "aaaaaa", "aaaaaaaaab", uint8(7))
	f.Add([]byte("x\"\\n\n%0A YWJjZGVmZw=="), "ab\ncd\"", "abcdefg", uint8(1))
	f.Add([]byte("ghijklmabcdefghijklm"), "ghijkl", "efghijklm", uint8(9))
	f.Fuzz(func(t *testing.T, text []byte, v1, v2 string, split uint8) {
		s, err := New(context.Background(), []Spec{{Name: "A", Value: v1}, {Name: "B", Value: v2}})
		if err != nil {
			t.Skip()
		}
		out := s.Scrub(text)
		for _, v := range []string{v1, v2} {
			// A brace at its edge may be that of a placeholder.
			if bytes.Contains(out, []byte(v)) && v[0] != '}' && v[len(v)-1] != '{' {
				t.Fatalf("%q is in %q", v, out)
			}
		}
		masked := bytes.Clone(text)
		if s.Mask(masked) != !bytes.Equal(out, text) && !bytes.Contains(text, []byte("{{secret:")) {
			t.Fatal("Mask and Scrub differ")
		}
		if _, found := s.Find(text); found != (len(s.regions(text)) > 0) {
			t.Fatal("Find and Scrub differ")
		}
		var b bytes.Buffer
		w := s.Writer(&b)
		for p := text; len(p) > 0; {
			n := min(len(p), int(split)%16+1)
			if m, err := w.Write(p[:n]); m != n || err != nil {
				t.Fatal(m, err)
			}
			p = p[n:]
			split = split*5 + 1
		}
		if err := w.Flush(); err != nil || !bytes.Equal(b.Bytes(), out) {
			t.Fatalf("in pieces %q, whole %q", &b, out)
		}
		if got, err := io.ReadAll(s.Reader(bytes.NewReader(text))); err != nil || !bytes.Equal(got, out) {
			t.Fatalf("read %q, whole %q", got, out)
		}
	})
}

// FuzzAutomaton compares with the obvious way to find all matches.
func FuzzAutomaton(f *testing.F) {
	f.Add([]byte("aabbaabbaabbab"), "aabbaa", "abbaabb", "bbaabb")
	f.Fuzz(func(t *testing.T, text []byte, v1, v2, v3 string) {
		s, err := New(context.Background(), []Spec{{Name: "A", Value: v1}, {Name: "B", Value: v2}, {Name: "C", Value: v3}})
		if err != nil || len(text) > 1<<12 {
			t.Skip()
		}
		covered := make([]bool, len(text))
		for _, v := range []string{v1, v2, v3} {
			for _, e := range encodings(v) {
				for i := range text {
					if bytes.HasPrefix(text[i:], []byte(e)) {
						for k := range len(e) {
							covered[i+k] = true
						}
					}
				}
			}
		}
		got := make([]bool, len(text))
		for _, r := range s.regions(text) {
			for i := r.start; i < r.end; i++ {
				got[i] = true
			}
		}
		for i := range text {
			if covered[i] != got[i] {
				t.Fatalf("byte %d: covered %v, found %v", i, covered[i], got[i])
			}
		}
	})
}

func BenchmarkScrubNothing(b *testing.B) {
	var values []string
	for i := range 10 {
		values = append(values, fmt.Sprintf("ghp_%dZq3xLkfjW8s0aQmN2bVc7T%d", i, i*i))
	}
	s := set(b, values...)
	lines := strings.Repeat("2026-01-02 12:13:14 INFO request_id=8f14e45fceea167a path=/api/v1/items {\"name\": \"value\"}\n", 1<<14)
	for name, text := range map[string][]byte{"text": []byte(lines), "zeros": make([]byte, 1<<20), "base64": []byte(base64.StdEncoding.EncodeToString([]byte(lines)))} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				s.Scrub(text)
			}
		})
	}
	b.Run("writer", func(b *testing.B) {
		w := s.Writer(io.Discard)
		b.SetBytes(int64(len(lines)))
		for b.Loop() {
			for p := []byte(lines); len(p) > 0; p = p[min(len(p), 4096):] {
				_, _ = w.Write(p[:min(len(p), 4096)])
			}
		}
	})
}
