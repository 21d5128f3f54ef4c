package schema

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestPythonNames(t *testing.T) {
	for _, test := range []struct{ in, want string }{
		{"get-sum", "get_sum"},
		{"createIssue", "createIssue"},
		{"read_text_file", "read_text_file"},
		{"a.b/c d", "a_b_c_d"},
		{"a -- b", "a_b"},
		{"", "tool"},
		{"🚀", "tool"},
		{"🚀 launch", "launch"},
		{"class", "class_"},
		{"None", "None_"},
		{"match", "match_"},
		{"list", "list_"},
		{"2fa", "_2fa"},
		{"__init__", "init"},
		{"__all__", "all"},
		{"_private", "private"},
		{"x'); import os #", "x_import_os"},
		{"\"\"\"\nimport os", "import_os"},
		{"\xed\xa0\x80\xff", "tool"},
		{"größe", "größe"},
		{"搜索", "搜索"},
		{"ﬁle", "le"},     // a ligature, which Python reads as "fi"
		{"ℌello", "ello"}, // a letter that Python reads as H
		{strings.Repeat("a", 1000), strings.Repeat("a", 63)},
	} {
		if got := PythonNames([]string{test.in}); got[0] != test.want {
			t.Errorf("%q: got %q, want %q", test.in, got[0], test.want)
		}
	}
}

func TestPythonNamesCollide(t *testing.T) {
	in := []string{"get.sum", "get-sum", "get_sum", "get_sum_2", "get sum"}
	want := map[string]string{"get_sum": "get_sum", "get_sum_2": "get_sum_2", "get sum": "get_sum_3", "get-sum": "get_sum_4",
		"get.sum": "get_sum_5"}
	for range 2 {
		for i, name := range PythonNames(in) {
			if name != want[in[i]] {
				t.Errorf("%q: got %q, want %q", in[i], name, want[in[i]])
			}
		}
		// Their order makes no difference.
		slices.Reverse(in)
	}
	if got := PythonNames([]string{"a", "a", "a"}); !slices.Equal(got, []string{"a", "a_2", "a_3"}) {
		t.Errorf("got %q", got)
	}
}

func TestPythonModules(t *testing.T) {
	got := PythonModules([]string{"search", "describe", "servers", "ToolError", "my-server", "everything", ""})
	want := []string{"search_", "describe_", "servers_", "ToolError_", "my_server", "everything", "server"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestPythonParams(t *testing.T) {
	got := pythonParams([]string{"type", "from", "list", "max-results", "_meta", "self"})
	want := []string{"type", "from_", "list", "max_results", "meta", "self"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestManyNames has to be quick: it would take minutes if each name was looked for from the beginning.
func TestManyNames(t *testing.T) {
	in := make([]string, 20_000)
	for i := range in {
		in[i] = strings.Repeat("-", i%7) + "same name"
	}
	checkNames(t, in, PythonNames(in))
}

// TestIdentifierRunes holds our list of letters against CPython's.
func TestIdentifierRunes(t *testing.T) {
	var all strings.Builder
	all.WriteByte('a')
	for r := rune(0); r <= utf8.MaxRune; r++ {
		if identifierRune(r) {
			all.WriteRune(r)
		}
	}
	// All in a row, and the other way round: none may combine with another.
	runes := []rune(all.String())
	ask(t, "name", string(runes))
	slices.Reverse(runes)
	ask(t, "name", "a"+string(runes))
}

func checkNames(t testing.TB, in, out []string) {
	t.Helper()
	if len(in) != len(out) {
		t.Fatalf("%d names for %d", len(out), len(in))
	}
	seen := map[string]bool{}
	for i, name := range out {
		if seen[name] || name == "" || len(name) > maxName || pythonKeywords[name] || strings.HasPrefix(name, "__") {
			t.Fatalf("%q became %q", in[i], name)
		}
		seen[name] = true
		for j, r := range name {
			if !identifierRune(r) || j == 0 && r >= '0' && r <= '9' {
				t.Fatalf("%q became %q", in[i], name)
			}
		}
	}
}

func FuzzPythonNames(f *testing.F) {
	f.Add("get-sum|get_sum|get.sum")
	f.Add("class|__init__||None|2fa|🚀|\xff|ª|搜索")
	f.Add(strings.Repeat("a", 70) + "|" + strings.Repeat("a", 71))
	f.Fuzz(func(t *testing.T, joined string) {
		in := strings.Split(joined, "|")
		for _, out := range [][]string{PythonNames(in), PythonModules(in), pythonParams(in)} {
			checkNames(t, in, out)
		}
		for _, name := range PythonModules(in) {
			if toolsNames[name] {
				t.Fatal(name)
			}
		}
	})
}

func ExamplePythonNames() {
	fmt.Println(PythonNames([]string{"get-sum", "createIssue", "class", "get.sum"}))
	// Output: [get_sum createIssue class_ get_sum_2]
}
