package engine_test

import (
	"bufio"
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/mayfly-run/mayfly/engine/store"
)

// checkStore looks through a store that nobody has open, for errors.
func checkStore(t testing.TB, dir string) {
	t.Helper()
	r, err := store.Check(t.Context(), dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range r.Findings {
		// That something was being written when the process ended is to be expected.
		if f.Level == store.Error {
			t.Errorf("%v", f)
		}
	}
}

// readLines calls f for each line and returns all of them.
func readLines(r io.Reader, f func(line string)) (lines []string) {
	s := bufio.NewScanner(r)
	for s.Scan() {
		line := strings.TrimSpace(s.Text())
		lines = append(lines, line)
		f(line)
	}
	return lines
}

func readerOf(b []byte) io.Reader { return bytes.NewReader(b) }
