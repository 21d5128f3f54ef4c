package secrets

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

func TestSources(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "a file")
	write := func(name, text string) string {
		t.Helper()
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	write("a file", "from-file\r\n")
	t.Setenv("SECRET_VAR", "from-env\n")
	specs := []Spec{
		{Name: "E", Source: "env:SECRET_VAR"},
		{Name: "F", Source: "file:" + file},
		{Name: "V", Value: "from-value\n"},
	}
	want := map[string]string{"E": "from-env\n", "F": "from-file", "V": "from-value\n"}
	if runtime.GOOS != "windows" {
		specs = append(specs, Spec{Name: "C", Source: `cmd:printf '%s\n\n' "two words"`},
			Spec{Name: "L", Source: "file:" + write("long", strings.Repeat("x", MaxValue)+"\n")})
		want["C"], want["L"] = "two words\n", strings.Repeat("x", MaxValue)
	}
	s, err := New(t.Context(), specs)
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Names()) != len(want) || !slices.IsSorted(s.Names()) {
		t.Errorf("Names: %q", s.Names())
	}
	for name, v := range want {
		if got, err := s.Expand("${secret:" + name + "}"); err != nil || got != v {
			t.Errorf("%s: %.100q, %v", name, got, err)
		}
	}
}

func TestBadSpecs(t *testing.T) {
	const value = "hunter2-hunter2"
	dir := t.TempDir()
	write := func(text string) string {
		t.Helper()
		f, err := os.CreateTemp(dir, "")
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := f.WriteString(text); err != nil {
			t.Fatal(err)
		}
		return "file:" + f.Name()
	}
	t.Setenv("SECRET_EMPTY", "")
	cases := []struct {
		spec Spec
		want string
	}{
		{Spec{Name: "A"}, "secret A: it needs either"},
		{Spec{Name: "A", Source: "env:X", Value: value}, "either"},
		{Spec{Name: "1A", Value: value}, "a letter or _ first"},
		{Spec{Name: value + "=", Value: value}, "a letter or _ first"},
		{Spec{Name: "A", Source: value}, "env:VARIABLE"},
		{Spec{Name: "A", Source: "env:"}, "env:VARIABLE"},
		{Spec{Name: "A", Source: "value:" + value}, "env:VARIABLE"},
		{Spec{Name: "A", Source: "env:SECRET_UNSET"}, "no variable SECRET_UNSET"},
		{Spec{Name: "A", Source: "env:SECRET_EMPTY"}, "secret A: its value is empty"},
		{Spec{Name: "A", Value: "hunte"}, "shorter than 6 bytes"},
		{Spec{Name: "A", Value: strings.Repeat(value, 10000)}, "longer than 65536 bytes"},
		{Spec{Name: "A", Source: write(strings.Repeat("x", MaxValue+1))}, "longer than"},
		{Spec{Name: "A", Source: "file:" + dir}, "not a regular file"},
		{Spec{Name: "A", Source: "file:" + filepath.Join(dir, "none")}, "none"},
		{Spec{Name: "A", Value: value + "\xff"}, "not UTF-8"},
		{Spec{Name: "A", Value: "secret"}, "part of a placeholder"},
		{Spec{Name: "hunter2_hunter2", Value: "hunter2_"}, "part of a placeholder"},
		{Spec{Name: "A", Value: value + "{{secret:B}}"}, "has a placeholder"},
		{Spec{Name: "A", Value: value, Allow: []string{"github"}}, "tool:SERVER.TOOL"},
		{Spec{Name: "A", Value: value, Allow: []string{"tool:github"}}, "tool:SERVER.*"},
		{Spec{Name: "A", Value: value, Allow: []string{"http:a.b/c"}}, "without a path"},
		{Spec{Name: "A", Value: value, Allow: []string{"http:"}}, "http:HOST"},
		{Spec{Name: "A", Source: "cmd:  "}, "command line is empty"},
		{Spec{Name: "A", Source: "cmd:echo '" + value}, "quote"},
		{Spec{Name: "A", Source: "cmd:no-such-program-anywhere " + value}, "could not be run"},
	}
	if runtime.GOOS != "windows" {
		cases = append(cases, []struct {
			spec Spec
			want string
		}{
			{Spec{Name: "A", Source: "cmd:sh -c 'echo " + value + " >&2; echo " + value + "; exit 3'"}, "exit status 3"},
			{Spec{Name: "A", Source: "cmd:yes " + value}, "prints too much"},
			{Spec{Name: "A", Source: "cmd:true " + value}, "is empty"},
			{Spec{Name: "A", Source: "file:/dev/zero"}, "not a regular file"},
		}...)
	}
	for _, c := range cases {
		s, err := New(t.Context(), []Spec{{Name: "GOOD", Value: "good-value"}, c.spec})
		if s != nil || err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %q", c.spec, err, c.want)
			continue
		}
		if strings.Contains(err.Error(), "hunter2-") || strings.Contains(err.Error(), "hunte ") {
			t.Errorf("%v: the error has the value: %v", c.spec, err)
		}
	}
	_, err := New(t.Context(), []Spec{{Name: "A", Value: value}, {Name: "A", Value: value}, {Name: "B", Value: "x"}, {Name: "1"}})
	if err == nil || strings.Count(err.Error(), "\n") != 1 {
		t.Errorf("all that is wrong: %v", err)
	}
	var many []Spec
	for i := range MaxTotal/MaxValue + 1 {
		many = append(many, Spec{Name: fmt.Sprint("S", i), Value: strings.Repeat("x", MaxValue)})
	}
	if _, err := New(t.Context(), many); err == nil || !strings.Contains(err.Error(), "together") {
		t.Errorf("too many: %v", err)
	}
}

func TestCommandEndsWithContext(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs a shell")
	}
	fifo := filepath.Join(t.TempDir(), "started")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := New(ctx, []Spec{{Name: "A", Source: "cmd:sh -c 'mkfifo " + fifo + "; cat " + fifo + "; exec sleep 100'"}})
		done <- err
	}()
	for {
		if f, err := os.OpenFile(fifo, os.O_WRONLY, 0); err == nil { // waits until the command reads
			f.Close()
			break
		}
		select {
		case err := <-done:
			t.Fatalf("the command ended: %v", err)
		default:
			runtime.Gosched()
		}
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
}

func TestSplitWords(t *testing.T) {
	for line, want := range map[string][]string{
		"a  b\tc\n":           {"a", "b", "c"},
		`a "" ''`:             {"a", "", ""},
		`a'b c'"d e"f\ g`:     {"ab cd ef g"},
		`"a\"b\\c\d" '\n' $X`: {`a"b\c\d`, `\n`, "$X"},
		`a \'`:                {"a", "'"},
		"a;b|c >d":            {"a;b|c", ">d"},
	} {
		if got, err := splitWords(line); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %q, %v", line, got, err)
		}
	}
	for _, line := range []string{"", " ", `a "`, `a 'b`, `a \`, `"" a`, `"\`} {
		if got, err := splitWords(line); err == nil {
			t.Errorf("%q: %q", line, got)
		}
	}
}

func TestParse(t *testing.T) {
	if sp, err := ParseSpec("TOKEN=env:X=Y"); err != nil || sp.Name != "TOKEN" || sp.Source != "env:X=Y" {
		t.Errorf("%v, %v", sp, err)
	}
	for _, s := range []string{"", "hunter2-x", "A=hunter2-x", "A=", "hunter2-x=env:A", "A=env:", "=env:A"} {
		if sp, err := ParseSpec(s); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: %v, %v", s, sp, err)
		}
	}
	specs, err := ParseConfig(json.RawMessage(`{"B": "env:B", "A": {"from": "file:a", "allow": ["tool:github.*", "http:api.github.com"]}}`))
	if err != nil || len(specs) != 2 || specs[0].Name != "A" || specs[0].Source != "file:a" || len(specs[0].Allow) != 2 ||
		specs[1].Name != "B" || specs[1].Source != "env:B" {
		t.Errorf("%v, %v", specs, err)
	}
	for _, c := range []string{"", "null", "{}"} {
		if specs, err := ParseConfig(json.RawMessage(c)); err != nil || len(specs) != 0 {
			t.Errorf("%q: %v, %v", c, specs, err)
		}
	}
	for _, c := range []string{`[]`, `"hunter2-x"`, `{"A": "hunter2-x"}`, `{"A": {"value": "hunter2-x"}}`, `{"A": {"from": 123456}}`,
		`{"A": {}}`, `{"A": {"from": "env:A", "allow": "hunter2-x"}}`, `{"A": {"from": "env:A", "allow": ["x"]}}`,
		`{"hunter2-x": "env:A"}`, `{"A": 123456}`, `{"A": ""}`, `{"hunter2-x`} {
		if specs, err := ParseConfig(json.RawMessage(c)); err == nil || strings.Contains(err.Error(), "hunter2") ||
			strings.Contains(err.Error(), "123456") {
			t.Errorf("%s: %v, %v", c, specs, err)
		}
	}
}

func TestReveal(t *testing.T) {
	s, err := New(t.Context(), []Spec{
		{Name: "GH", Value: `gh"tok\en`, Allow: []string{"tool:github.*", "http:api.github.com", "http:*.Example.com:8080"}},
		{Name: "NONE", Value: "nothing-allowed"},
		{Name: "ANY", Value: "any-destination", Allow: []string{"*"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		text, destination, want string
		err                     error
	}{
		{"Bearer {{secret:GH}}", "tool:github.create_issue", `Bearer gh"tok\en`, nil},
		{"{{secret:GH}}{{secret:ANY}}", "http:api.github.com:443", `gh"tok\enany-destination`, nil},
		{"{{secret:GH}}", "http:API.GitHub.com.:443", `gh"tok\en`, nil},
		{"{{secret:GH}}", "http:api.github.com", `gh"tok\en`, nil},
		{"{{secret:GH}}", "http:a.b.example.com:8080", `gh"tok\en`, nil},
		{"{{secret:GH}}", "http:a.b.example.com:443", "", ErrDestination},
		{"{{secret:GH}}", "http:example.com:8080", "", ErrDestination},
		{"{{secret:GH}}", "http:api.github.com:80", "", ErrDestination},
		{"{{secret:GH}}", "http:api.github.com.evil.com:443", "", ErrDestination},
		{"{{secret:GH}}", "tool:gitlab.x", "", ErrDestination},
		{"{{secret:GH}}", "tool:http:api.github.com:443", "", ErrDestination},
		{"{{secret:GH}}", "", "", ErrDestination},
		{"{{secret:NONE}}", "tool:github.x", "", ErrDestination},
		{"{{secret:ANY}}", "http:[::1]:80", "any-destination", nil},
		{"{{secret:OTHER}}", "tool:github.x", "", ErrUnknown},
		{"{{secret:}} {{secret:a b}} {{secret: {{secret:GH}}", "tool:github.x", `{{secret:}} {{secret:a b}} {{secret: gh"tok\en`, nil},
		{"{{secret:{{secret:ANY}}}}", "tool:github.x", "{{secret:any-destination}}", nil},
		{"no placeholder", "tool:gitlab.x", "no placeholder", nil},
	} {
		got, err := s.Reveal(c.text, c.destination)
		if got != c.want || !errors.Is(err, c.err) {
			t.Errorf("Reveal(%q, %q) = %q, %v", c.text, c.destination, got, err)
		}
		text, _ := json.Marshal(c.text)
		raw, err := s.RevealJSON(text, c.destination)
		if !errors.Is(err, c.err) {
			t.Errorf("RevealJSON(%q, %q) = %q, %v", c.text, c.destination, raw, err)
		} else if err == nil {
			if json.Unmarshal(raw, &got) != nil || got != c.want {
				t.Errorf("RevealJSON(%q, %q) = %s", c.text, c.destination, raw)
			}
		}
	}
	if p, err := s.Placeholder("GH"); err != nil || p != "{{secret:GH}}" {
		t.Errorf("%q, %v", p, err)
	}
	if got, err := s.Expand("a ${secret:NONE} ${VAR} ${secret:GH"); err != nil || got != "a nothing-allowed ${VAR} ${secret:GH" {
		t.Errorf("%q, %v", got, err)
	}
}

func TestRevealJSON(t *testing.T) {
	s, err := New(t.Context(), []Spec{{Name: "A", Value: "q\"\n<é", Allow: []string{"*"}}})
	if err != nil {
		t.Fatal(err)
	}
	for in, want := range map[string]string{
		`{ "{{secret:A}}" : "{{secret:A}}", "n": 12345678901234567890123 }`: `{ "{{secret:A}}" : "q\"\n<é", "n": 12345678901234567890123 }`,
		`["\ud800\\{{secret:A}}\"", 1E400, {}]`:                             `["\ud800\\q\"\n<é\"", 1E400, {}]`,
		`"\u007b{secret:A}} "`:                                              `"\u007b{secret:A}} "`,
		`["\"", "{{secret:A}}\\"]`:                                          `["\"", "q\"\n<é\\"]`,
		`"{{secret:A}}"`:                                                    `"q\"\n<é"`,
	} {
		if got, err := s.RevealJSON(json.RawMessage(in), "tool:a.b"); err != nil || string(got) != want {
			t.Errorf("%s: %s, %v", in, got, err)
		}
	}
	for _, in := range []string{`"{{secret:A}}`, `"{{secret:A}}\`, `{{secret:A}}`, `["{{secret:A}}"`} {
		if got, err := s.RevealJSON(json.RawMessage(in), "tool:a.b"); err == nil {
			t.Errorf("%s: %s", in, got)
		}
	}
}

func FuzzRevealJSON(f *testing.F) {
	f.Add([]byte(`{"a": ["{{secret:A}}", "\"{{secret:A}}\\"], "{{secret:A}}": 1}`))
	f.Add([]byte(`"\ud800{{secret:A}}`))
	s, err := New(context.Background(), []Spec{{Name: "A", Value: "q\"\\\n<é", Allow: []string{"*"}}})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		out, err := s.RevealJSON(in, "tool:a.b")
		if err != nil {
			return
		}
		if json.Valid(in) && !json.Valid(out) {
			t.Fatalf("%q became %q", in, out)
		}
		var a, b any
		if json.Unmarshal(in, &a) == nil && json.Unmarshal(out, &b) == nil && bytes.Equal(in, out) != fmtEqual(a, b) {
			t.Fatalf("%q became %q", in, out)
		}
	})
}

func fmtEqual(a, b any) bool { return fmt.Sprintf("%#v", a) == fmt.Sprintf("%#v", b) }

func FuzzParseConfig(f *testing.F) {
	f.Add([]byte(`{"A": {"from": "env:X", "allow": ["tool:a.*"]}, "B": "cmd:x y"}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		specs, err := ParseConfig(in)
		if err != nil {
			return
		}
		for _, sp := range specs {
			if _, err := sp.check(); err != nil {
				t.Fatalf("%v: %v", sp, err)
			}
			_, _ = splitWords(sp.Source)
		}
	})
}

// TestNothingShowsValues prints everything in every way.
func TestNothingShowsValues(t *testing.T) {
	const value = "p4ssw0rd-p4ssw0rd"
	sp := Spec{Name: "A", Value: value}
	s, err := New(t.Context(), []Spec{sp})
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	w := s.Writer(&out)
	for _, v := range []any{s, *s, sp, &sp, []Spec{sp}, []*Set{s}, map[string]Spec{"a": sp}, struct {
		S *Set
		P Spec
	}{s, sp}, struct{ s *Set }{s}, &struct{ s Set }{*s}} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%T", "%t", "%08b"} {
			fmt.Fprintf(&out, verb+"\n", v)
		}
		if b, err := json.Marshal(v); err == nil {
			out.Write(b)
		}
		for _, h := range []slog.Handler{slog.NewTextHandler(&out, nil), slog.NewJSONHandler(&out, nil)} {
			slog.New(h).Info("secrets", "v", v, slog.Group("g", "v", v))
		}
	}
	_ = w.Flush()
	for _, e := range encodings(value) {
		if strings.Contains(out.String(), e) {
			t.Fatalf("%q is in %s", e, &out)
		}
	}
	if !strings.Contains(out.String(), "secrets.Set(A)") || !strings.Contains(out.String(), "secret A from (value)") {
		t.Errorf("names are missing: %s", &out)
	}
}
