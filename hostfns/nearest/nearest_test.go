package nearest

import (
	"slices"
	"strings"
	"testing"
)

func TestNames(t *testing.T) {
	known := []string{"create_issue", "createIssues", "list_issues", "a", "get-sum", "größe"}
	for _, c := range []struct {
		name string
		n    int
		want []string
	}{
		{"create_isue", 5, []string{"create_issue", "createIssues"}},
		{"CREATE-ISSUE", 1, []string{"create_issue"}},
		{"getSum", 1, []string{"get-sum"}},
		{"issues", 5, []string{"createIssues", "list_issues"}},
		{"groesse", 5, nil},
		{"grösse", 5, []string{"größe"}},
		{"b", 5, nil},
		{"A", 5, []string{"a"}},
		{"", 5, nil},
		{"something else", 5, nil},
		{strings.Repeat("x", 1<<20), 5, nil},
	} {
		if got := Names(c.name, known, c.n); !slices.Equal(got, c.want) {
			t.Errorf("%.20q: %q instead of %q", c.name, got, c.want)
		}
	}
	if Name("list_isues", known) != "list_issues" || Name("nothing", known) != "" || Name("x", nil) != "" {
		t.Error(Name("list_isues", known), Name("nothing", known))
	}
}

func FuzzDistance(f *testing.F) {
	f.Add("kitten", "sitting")
	f.Add("", "abc")
	f.Fuzz(func(t *testing.T, a, b string) {
		a, b = fold(a), fold(b)
		d := distance(a, b)
		if d != distance(b, a) || (d == 0) != (a == b) || d > 17 && d > max(len(a), len(b)) {
			t.Errorf("%q, %q: %d, %d", a, b, d, distance(b, a))
		}
	})
}
