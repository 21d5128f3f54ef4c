package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/term"
)

// table writes rows in columns, as wide as what is in them.
type table struct {
	w    io.Writer
	rows [][]string
	// width is that of a line; what does not fit is left out. Default: as wide as it comes.
	width int
}

func newTable(w io.Writer, head ...string) *table {
	t := &table{w: w}
	if len(head) > 0 {
		t.row(head...)
	}
	return t
}

func (t *table) row(cells ...string) {
	for i, c := range cells {
		cells[i] = printable(c)
	}
	t.rows = append(t.rows, cells)
}

// flush writes the table. There is nothing but a line's end after the last cell that is not empty.
func (t *table) flush() error {
	var widths []int
	for _, row := range t.rows {
		for i, c := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(c))
		}
	}
	w := bufio.NewWriter(t.w)
	for _, row := range t.rows {
		line := ""
		for i, c := range row {
			line += c + strings.Repeat(" ", widths[i]-utf8.RuneCountInString(c)+2)
		}
		line = strings.TrimRight(line, " ")
		if t.width > 3 {
			line = short(line, t.width)
		}
		fmt.Fprintln(w, line)
	}
	return w.Flush()
}

// say prints a line, which may have been told by another process.
func say(format string, args ...any) error {
	_, err := fmt.Println(printable(fmt.Sprintf(format, args...)))
	return err
}

// printable makes a text fit for a line of a terminal: what a program in a sandbox named or printed must not move the
// cursor, change colours or pretend to be more lines.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return unicode.ReplacementChar
		}
		return r
	}, s)
}

// printableLines is printable for text of several lines.
func printableLines(s string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && !unicode.IsPrint(r) {
			return unicode.ReplacementChar
		}
		return r
	}, s)
}

// indented writes text of several lines below a heading, unless there is none.
func indented(w io.Writer, heading, text string) {
	if text == "" {
		return
	}
	fmt.Fprintf(w, "%s:\n", heading)
	for line := range strings.Lines(printableLines(text)) {
		fmt.Fprintf(w, "    %s\n", strings.TrimSuffix(line, "\n"))
	}
}

// short cuts a text after n characters.
func short(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n-3]) + "..."
	}
	return s
}

func localTime(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.Local().Format("2006-01-02 15:04:05")
}

// bytesText is a number of bytes for people.
func bytesText(n int64) string {
	switch {
	case n < 1<<10:
		return fmt.Sprintf("%d B", n)
	case n < 1<<20:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	case n < 1<<30:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
}

func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

// terminalWidth is the number of characters in a line of a terminal; 0: it is none, or it does not tell.
func terminalWidth(f *os.File) int {
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return width
}

// count is "1 step", "2 steps".
func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
