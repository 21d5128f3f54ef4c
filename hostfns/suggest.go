package hostfns

import (
	"strings"

	"github.com/mayfly-run/mayfly/hostfns/nearest"
)

func compare(a, b string) int { return strings.Compare(a, b) }

// hintNames tells which names there are, those first that are like the one asked for.
func hintNames(what, name string, known []string) string {
	const most = 5
	if len(known) == 0 {
		return "there are no " + what + " here"
	}
	if close := nearest.Names(name, known, most); len(close) > 0 {
		return "did you mean " + strings.Join(close, ", ") + "?"
	}
	if len(known) > 2*most {
		return "there are " + itoa(len(known)) + " " + what + "; search them"
	}
	return what + " are: " + strings.Join(known, ", ")
}
