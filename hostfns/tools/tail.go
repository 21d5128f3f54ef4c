package tools

import (
	"bufio"
	"errors"
	"io"
	"strings"
	"sync"
)

// Bounds of what is kept of a server's standard error.
const (
	tailLines   = 20
	tailLine    = 1 << 10 // bytes of a line in errors
	maxLogLine  = 8 << 10 // bytes of a line that Options.Stderr is told
	tailInError = 4 << 10 // bytes in an error
)

// tail keeps the last lines that a server wrote to its standard error. It is safe for concurrent use.
type tail struct {
	mu    sync.Mutex
	lines []string
}

func (t *tail) add(line string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.lines) == tailLines {
		t.lines = append(t.lines[:0], t.lines[1:]...)
	}
	t.lines = append(t.lines, cut(line, tailLine))
}

// String returns the last lines.
func (t *tail) String() string {
	if t == nil {
		return ""
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	n, from := 0, len(t.lines)
	for from > 0 && n+len(t.lines[from-1]) < tailInError {
		from--
		n += len(t.lines[from]) + 1
	}
	return strings.Join(t.lines[from:], "\n")
}

// readLines calls f with each line of r until r ends; long lines are cut.
func readLines(r io.Reader, f func(line string)) {
	b := bufio.NewReaderSize(r, maxLogLine)
	for {
		line, err := b.ReadSlice('\n')
		text := strings.ToValidUTF8(strings.TrimRight(string(line), "\r\n"), "\ufffd")
		for errors.Is(err, bufio.ErrBufferFull) {
			_, err = b.ReadSlice('\n')
		}
		if text != "" {
			f(text)
		}
		if err != nil {
			return
		}
	}
}

// cut shortens a text to n bytes.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n-3], "") + "..."
}
