package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/mayfly-run/mayfly/engine"
	"github.com/mayfly-run/mayfly/hostfns"
)

// What to do with questions of an execution: --on-question.
const (
	questionsAsk  = "ask"  // at the terminal; without one they are denied
	questionsWait = "wait" // they stay open for mayfly questions
	questionsDeny = "deny"
)

// asker has the questions of executions answered: by a person at the terminal, one after the other. It is safe for concurrent
// use.
type asker struct {
	mode  string
	reply func(ctx context.Context, id string, r hostfns.Reply) error
	// open returns the terminal.
	open func() (*terminalLines, error)
	// hold is called while something is asked; the function that it returns ends that.
	hold func() (release func())

	ctx  context.Context
	stop context.CancelFunc
	work sync.WaitGroup

	mu       sync.Mutex
	queue    []*hostfns.Question
	busy     bool               // a goroutine goes through the queue
	current  string             // the ID of what is asked
	settled  context.CancelFunc // somebody else has replied to it
	terminal *terminalLines
}

func newAsker(ctx context.Context, mode string, reply func(context.Context, string, hostfns.Reply) error) *asker {
	// A signal ends the program, and with it its questions; a reply that is under way may still be sent.
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	return &asker{
		mode: mode, reply: reply, open: openTerminalLines, hold: func() func() { return func() {} }, ctx: ctx, stop: stop,
	}
}

// event takes the events of executions that are about questions.
func (a *asker) event(ev engine.Event) {
	switch hostfns.EventKind(ev.Kind) {
	case hostfns.EventQuestion:
		q := &hostfns.Question{}
		if json.Unmarshal(ev.Data, q) == nil && q.ID != "" {
			a.add(q)
		}
	case hostfns.EventReplied:
		var r struct {
			ID string `json:"id"`
		}
		if json.Unmarshal(ev.Data, &r) == nil {
			a.drop(r.ID)
		}
	}
}

func (a *asker) add(q *hostfns.Question) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.queue = append(a.queue, q)
	if !a.busy {
		a.busy = true
		a.work.Go(a.run)
	}
}

// drop forgets a question that is answered.
func (a *asker) drop(id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for i, q := range a.queue {
		if q.ID == id {
			a.queue = append(a.queue[:i], a.queue[i+1:]...)
			return
		}
	}
	if a.current == id && a.settled != nil {
		a.settled()
	}
}

// close ends what is asked, and waits for that.
func (a *asker) close() {
	a.stop()
	a.work.Wait()
	if a.terminal != nil {
		a.terminal.close()
	}
}

// run goes through the queue until it is empty.
func (a *asker) run() {
	for {
		a.mu.Lock()
		if len(a.queue) == 0 || a.ctx.Err() != nil {
			a.busy = false
			a.mu.Unlock()
			return
		}
		q := a.queue[0]
		a.queue = a.queue[1:]
		ctx, settled := context.WithCancel(a.ctx)
		a.current, a.settled = q.ID, settled
		a.mu.Unlock()

		if err := a.answer(ctx, q); err != nil && ctx.Err() == nil {
			fmt.Fprintln(os.Stderr, "mayfly: reply to a question:", printable(err.Error()))
		}

		a.mu.Lock()
		a.current, a.settled = "", nil
		a.mu.Unlock()
		settled()
	}
}

// answer gets a reply to q and sends it. ctx ends when the question is settled in another way.
func (a *asker) answer(ctx context.Context, q *hostfns.Question) error {
	r := &hostfns.Reply{Action: hostfns.ActionDecline}
	if a.mode == questionsWait {
		fmt.Fprintf(os.Stderr, "mayfly: waiting for a reply: %s\n  hint: mayfly questions reply %s --accept, or --decline\n",
			headline(q), printable(q.ID))
		return nil
	}
	if a.terminal == nil {
		t, err := a.open()
		if err != nil {
			fmt.Fprintf(os.Stderr, "mayfly: denied, since there is no terminal to ask at: %s\n  hint: %s\n", headline(q),
				"with --session and --on-question wait it stays open for: mayfly questions")
			r.Action, r.Reason = hostfns.ActionCancel, "it needs the approval of a person, and there is no terminal to ask at"
			return a.send(ctx, q, r)
		}
		a.terminal = t
	}
	release := a.hold()
	r, err := a.terminal.ask(ctx, q)
	release()
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return errors.Join(err, a.send(ctx, q, &hostfns.Reply{Action: hostfns.ActionCancel, Reason: "it could not be asked"}))
	}
	return a.send(ctx, q, r)
}

func (a *asker) send(ctx context.Context, q *hostfns.Question, r *hostfns.Reply) error {
	return a.reply(ctx, q.ID, *r)
}

// headline is a question in one line.
func headline(q *hostfns.Question) string {
	what := q.Server
	if q.Tool != "" {
		what += "." + q.Tool
	}
	if q.Kind == hostfns.QuestionApproval {
		return printable(short(what+" "+string(q.Args[:min(len(q.Args), 1000)]), 200))
	}
	return printable(short(what+" asks: "+q.Message, 200))
}
