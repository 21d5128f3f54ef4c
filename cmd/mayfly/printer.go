package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/mayfly-run/mayfly/engine"
	"github.com/mayfly-run/mayfly/hostfns"
)

// printer writes what a program prints to the standard streams and keeps the first failure of that. When nobody reads them
// any more it stops the program.
type printer struct {
	quiet   bool // output is not shown
	verbose bool // what tool servers tell is shown
	// asker answers questions; nil: nobody does.
	asker *asker

	mu   sync.Mutex
	stop func()
	err  error
	held bool           // while something is asked at the terminal
	kept []engine.Event // the output meanwhile, which is bounded by what a program may write
}

// begin says how the program that runs now is stopped. What is left of the one before may still be written.
func (p *printer) begin(stop func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stop = stop
}

func (p *printer) event(ev engine.Event) {
	switch ev.Kind {
	case engine.EventStdout, engine.EventStderr:
		if !p.quiet {
			p.output(ev)
		}
	default:
		if p.asker != nil {
			p.asker.event(ev)
		}
		if p.verbose {
			tellEvent(ev)
		}
	}
}

func (p *printer) output(ev engine.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.held {
		p.kept = append(p.kept, engine.Event{Kind: ev.Kind, Data: bytes.Clone(ev.Data)})
		return
	}
	p.write(ev)
}

func (p *printer) write(ev engine.Event) {
	w := os.Stdout
	if ev.Kind == engine.EventStderr {
		w = os.Stderr
	}
	if _, err := w.Write(ev.Data); err != nil && p.err == nil {
		p.err = err
		if brokenPipe(err) {
			p.stop()
		}
	}
}

// hold keeps output back while a question is at the terminal, so that a program cannot paint over it. The function that it
// returns ends that.
func (p *printer) hold() (release func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.held = isTerminal(os.Stdout) || isTerminal(os.Stderr)
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.held = false
		for _, ev := range p.kept {
			p.write(ev)
		}
		p.kept = nil
	}
}

// failure returns the first failure of writing.
func (p *printer) failure() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}

// tellEvent tells of a host call on stderr.
func tellEvent(ev engine.Event) {
	var e struct {
		Server   string          `json:"server"`
		Tool     string          `json:"tool"`
		Progress json.Number     `json:"progress"`
		Total    json.Number     `json:"total"`
		Message  string          `json:"message"`
		Level    string          `json:"level"`
		Logger   string          `json:"logger"`
		Data     json.RawMessage `json:"data"`
		Delta    string          `json:"delta"`
	}
	if json.Unmarshal(ev.Data, &e) != nil {
		return
	}
	switch hostfns.EventKind(ev.Kind) {
	case hostfns.EventProgress:
		text := e.Progress.String()
		if e.Total != "" {
			text += "/" + e.Total.String()
		}
		fmt.Fprintln(os.Stderr, printable(short(fmt.Sprintf("mayfly: %s.%s: %s %s", e.Server, e.Tool, text, e.Message), 500)))
	case hostfns.EventLog:
		data := string(e.Data)
		var text string
		if json.Unmarshal(e.Data, &text) == nil {
			data = text
		}
		fmt.Fprintln(os.Stderr, printable(short(fmt.Sprintf("mayfly: %s: %s: %s", e.Server, e.Level, data), 2000)))
	case hostfns.EventModel:
		io.WriteString(os.Stderr, printableLines(e.Delta))
	}
}

// report tells on the terminal what the output has not told.
func (p *printer) report(r *engine.Result, showValue bool) {
	switch e := r.Error; {
	case e == nil:
	case e.Traceback != "":
		io.WriteString(os.Stderr, e.Traceback)
	case e.Kind != "exit":
		fmt.Fprintln(os.Stderr, "mayfly:", e.Message)
	}
	if r.Error != nil && r.Error.Hint != "" {
		fmt.Fprintln(os.Stderr, "  hint:", r.Error.Hint)
	}
	const dropped = "mayfly: %d bytes of %s beyond the limit were dropped (--max-output)\n"
	if n := r.Truncated.Stdout; n > 0 {
		fmt.Fprintf(os.Stderr, dropped, n, "stdout")
	}
	if n := r.Truncated.Stderr; n > 0 {
		fmt.Fprintf(os.Stderr, dropped, n, "stderr")
	}
	if showValue && r.ResultRepr != "" && r.ResultName == "" && r.ResultRepr != "None" {
		p.event(engine.Event{Kind: engine.EventStdout, Data: []byte(r.ResultRepr + "\n")})
	}
}
