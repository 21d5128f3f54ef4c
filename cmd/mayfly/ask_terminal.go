package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/mayfly-run/mayfly/hostfns"
)

// terminalLines is the terminal of this process, whatever its standard streams are: standard input belongs to the program.
type terminalLines struct {
	in, out *os.File
	want    chan struct{}
	lines   chan terminalLine
	pending bool // a line was asked for that nobody took yet
}

type terminalLine struct {
	text string
	err  error
}

const maxTerminalLine = 64 << 10

var errNoTerminal = errors.New("no terminal")

func openTerminalLines() (*terminalLines, error) {
	in, out, err := openDevice()
	if err != nil {
		return nil, errNoTerminal
	}
	t := &terminalLines{in: in, out: out, want: make(chan struct{}, 1), lines: make(chan terminalLine, 1)}
	go t.read()
	return t, nil
}

// read reads a line whenever one is wanted. On systems where a terminal's read cannot be interrupted it stays until the
// process ends.
func (t *terminalLines) read() {
	one := make([]byte, 1)
	for range t.want {
		var line []byte
		for {
			_, err := t.in.Read(one)
			if err != nil {
				if len(line) > 0 && errors.Is(err, io.EOF) {
					err = nil
				}
				t.lines <- terminalLine{string(line), err}
				break
			}
			if one[0] == '\n' {
				t.lines <- terminalLine{strings.TrimSuffix(string(line), "\r"), nil}
				break
			}
			if len(line) < maxTerminalLine {
				line = append(line, one[0])
			}
		}
	}
}

func (t *terminalLines) close() {
	close(t.want)
	_ = t.in.SetReadDeadline(time.Unix(1, 0))
	_ = t.in.Close()
	if t.out != t.in {
		_ = t.out.Close()
	}
}

// line asks for a line. What was typed before does not count: nobody can have meant this question.
func (t *terminalLines) line(ctx context.Context, prompt string) (string, error) {
	flushTyped(t.in)
	if _, err := io.WriteString(t.out, prompt); err != nil {
		return "", err
	}
	if !t.pending {
		t.pending = true
		t.want <- struct{}{}
	}
	select {
	case l := <-t.lines:
		t.pending = false
		return l.text, l.err
	case <-ctx.Done():
		fmt.Fprintln(t.out, "\nmayfly: it is settled already")
		return "", ctx.Err()
	}
}

// plain undoes what a program may have done to the terminal to make a question unreadable: a control string that has no end
// yet (cancelled, and ended for terminals that only know that), colours, a scroll region, a line that is not ended.
const plain = "\x18\x1b\\\x1b[0m\x1b[!p\r\n"

// ask puts a question to the person at the terminal.
func (t *terminalLines) ask(ctx context.Context, q *hostfns.Question) (*hostfns.Reply, error) {
	if _, err := io.WriteString(t.out, plain); err != nil {
		return nil, err
	}
	if q.Kind == hostfns.QuestionElicitation {
		return t.elicit(ctx, q)
	}
	return t.approve(ctx, q)
}

func (t *terminalLines) approve(ctx context.Context, q *hostfns.Question) (*hostfns.Reply, error) {
	fmt.Fprintf(t.out, "mayfly: the program wants to call %s\n", printable(short(q.Server+"."+q.Tool, 200)))
	text, whole := argumentText(q.Args, 20, 400)
	io.WriteString(t.out, text)
	choices := "allow it? [y]es, [n]o, [a]lways for this tool"
	if !whole {
		choices += ", [s]how all of the arguments"
	}
	for {
		answer, err := t.line(ctx, choices+": ")
		switch {
		case errors.Is(err, io.EOF):
			fmt.Fprintln(t.out)
			return &hostfns.Reply{Action: hostfns.ActionDecline}, nil
		case err != nil:
			return nil, err
		}
		switch strings.ToLower(strings.TrimSpace(answer)) {
		case "y", "yes":
			return &hostfns.Reply{Action: hostfns.ActionAccept}, nil
		case "a", "always":
			return &hostfns.Reply{Action: hostfns.ActionAccept, Always: true}, nil
		case "n", "no":
			return &hostfns.Reply{Action: hostfns.ActionDecline}, nil
		case "s", "show":
			all, _ := argumentText(q.Args, -1, -1)
			io.WriteString(t.out, all)
		}
	}
}

// argumentText lays out arguments in lines, at most so many of at most so many characters; whole tells that it is all.
// Negative numbers are no limits.
func argumentText(args json.RawMessage, lines, width int) (text string, whole bool) {
	var b bytes.Buffer
	if json.Indent(&b, args, "  ", "  ") != nil {
		b.Reset()
		b.Write(args)
	}
	whole = true
	var out strings.Builder
	n := 0
	for line := range strings.Lines(b.String()) {
		if n == lines {
			fmt.Fprintf(&out, "  ... %d lines in all\n", strings.Count(b.String(), "\n")+1)
			return out.String(), false
		}
		n++
		line = strings.TrimSuffix(line, "\n")
		if size := utf8.RuneCountInString(line); width > 0 && size > width {
			whole = false
			line = short(line[:min(len(line), utf8.UTFMax*width)], width) + fmt.Sprintf(" (%d characters)", size)
		}
		line = printable(line)
		if n == 1 {
			line = "  " + line
		}
		out.WriteString(line + "\n")
	}
	return out.String(), whole
}
