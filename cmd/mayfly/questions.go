package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/mayfly-run/mayfly/engine"
	"github.com/mayfly-run/mayfly/hostfns"
	"github.com/mayfly-run/mayfly/internal/httpapi"
)

func newQuestions() *cobra.Command {
	c := &cobra.Command{
		Use:   "questions",
		Short: "Answer what programs wait for: approvals of tool calls, and what tool servers ask",
		Long: `A program in a session waits when it calls a tool that --approve or the configuration
wants approved, or when a tool server asks for something. With --on-question wait, or
in the sessions of mayfly serve, the question stays open until it is answered here.

There is no limit to that: the time does not count for --timeout and --call-timeout. A
question about an approval is also there when the process that ran the program has
ended, however it did: it is suspended then, and the program goes on from there with
the reply. Ctrl-C ends the program and its question, and so does mayfly rewind.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newQuestionsList(), newQuestionsReply())
	return c
}

func newQuestionsList() *cobra.Command {
	var asJSON bool
	return storeCommand(&cobra.Command{
		Use:   "list",
		Short: "List the questions that are open, the oldest first",
		Example: `  mayfly questions list
  mayfly questions list --json`,
		Args: cobra.NoArgs,
	}, &asJSON, func(ctx context.Context, s *sessions, _ []string) error {
		all, err := s.Questions(ctx)
		if err != nil {
			return err
		}
		if asJSON {
			if all == nil {
				all = []engine.OpenQuestion{}
			}
			return writeJSON(os.Stdout, all)
		}
		if len(all) == 0 {
			fmt.Fprintln(os.Stderr, "nothing waits for a reply")
			return nil
		}
		t := newTable(os.Stdout, "ID", "SESSION", "ASKED", "STATE", "KIND", "QUESTION")
		for _, q := range all {
			state := "waiting"
			if q.Suspended {
				state = "suspended"
			}
			t.row(q.ID, q.Session, localTime(q.Asked), state, q.Kind, headline(&q.Question))
		}
		return t.flush()
	})
}

// replyFlags are what mayfly questions reply says.
type replyFlags struct {
	accept, decline, cancel, always bool
	reason, content                 string
}

func newQuestionsReply() *cobra.Command {
	var f replyFlags
	var hf hostFlags
	var asJSON bool
	var c *cobra.Command
	c = storeCommand(&cobra.Command{
		Use:   "reply ID [--accept | --decline | --cancel]",
		Short: "Answer a question",
		Long: `Answers a question; the program that waits goes on. Without --accept, --decline or
--cancel, the question is shown at the terminal, and asked there.

When the process that ran the program has ended, or the command that waited for it (the
question is suspended), the step goes on here: what it called before is not called
again, its output is shown, and its exit code is that of this command. Name the tool
servers that it uses with --tools, unless the configuration does.`,
		Example: `  mayfly questions reply qu_1 --accept
  mayfly questions reply qu_1 --decline --reason 'not on a Friday'
  mayfly questions reply qu_2 --accept --content '{"name": "demo"}'
  mayfly questions reply qu_1`,
		Args: cobra.ExactArgs(1),
	}, &asJSON, func(ctx context.Context, s *sessions, args []string) error {
		q, err := findQuestion(ctx, s, args[0])
		if err != nil {
			return err
		}
		var offer *offer
		if q.Suspended {
			if offer, err = hf.offer(c, true); err != nil {
				return err
			}
		}
		r, err := f.reply(ctx, &q.Question)
		if err != nil {
			return err
		}
		if q.Suspended {
			p := &printer{stop: func() {}, quiet: asJSON, verbose: hf.verbose}
			asker := hf.answer(c, p, s.Reply)
			res, err := s.Resume(ctx, q.Session, q.ID, *r, &httpapi.Exec{
				Request:    engine.Request{OnEvent: p.event, NoQuestions: hf.onQuestion == questionsDeny},
				HostConfig: offer.config, HostIfNone: offer.ifNone, OnNote: printNote,
			})
			asker.close()
			return (&runFlags{json: asJSON, hasCode: true}).outcome(p, res, err)
		}
		if err := s.Reply(ctx, q.ID, *r); err != nil {
			return err
		}
		if asJSON {
			return writeJSON(os.Stdout, map[string]string{"id": q.ID, "action": r.Action})
		}
		return say("%s: %s", q.ID, r.Action)
	})
	fl := c.Flags()
	fl.BoolVar(&f.accept, "accept", false, "allow the call, or give what was asked for")
	fl.BoolVar(&f.decline, "decline", false, "do not")
	fl.BoolVar(&f.cancel, "cancel", false, "leave it undecided, which the program is told")
	fl.BoolVar(&f.always, "always", false, "with --accept or --decline: for all further calls of the same tool in the session")
	fl.StringVar(&f.reason, "reason", "", "with --decline or --cancel: a `TEXT` for the program")
	fl.StringVar(&f.content, "content", "", "with --accept: what a tool server asked for, as a `JSON` object")
	addOfferFlags(c, &hf)
	addQuestionFlags(c, &hf)
	return c
}

func findQuestion(ctx context.Context, s *sessions, id string) (*engine.OpenQuestion, error) {
	all, err := s.Questions(ctx)
	if err != nil {
		return nil, err
	}
	for i := range all {
		if all[i].ID == id {
			return &all[i], nil
		}
	}
	return nil, usageError("mayfly questions list shows those that are open", "no question %q is open", id)
}

// reply is what the flags say, or a person at the terminal.
func (f *replyFlags) reply(ctx context.Context, q *hostfns.Question) (*hostfns.Reply, error) {
	r := &hostfns.Reply{Always: f.always, Reason: f.reason}
	switch {
	case f.accept && f.decline || f.accept && f.cancel || f.decline && f.cancel:
		return nil, usageError("say one of them", "more than one of --accept, --decline and --cancel")
	case f.accept:
		r.Action = hostfns.ActionAccept
	case f.decline:
		r.Action = hostfns.ActionDecline
	case f.cancel:
		r.Action = hostfns.ActionCancel
	default:
		t, err := openTerminalLines()
		if err != nil {
			return nil, usageError("say --accept, --decline or --cancel", "there is no terminal to ask at")
		}
		defer t.close()
		return t.ask(ctx, q)
	}
	if f.content == "" {
		return r, nil
	}
	var object map[string]json.RawMessage
	if !f.accept || json.Unmarshal([]byte(f.content), &object) != nil {
		return nil, usageError(`write for example --accept --content '{"name": "demo"}'`, "--content is a JSON object, with --accept")
	}
	r.Content = json.RawMessage(f.content)
	return r, nil
}
