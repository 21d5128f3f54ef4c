package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mayfly-run/mayfly/engine"
	"github.com/mayfly-run/mayfly/hostfns/cas"
	"github.com/mayfly-run/mayfly/internal/httpapi"
)

func newReplay() *cobra.Command {
	c := &cobra.Command{
		Use:   "replay",
		Short: "Read the journals of durable sessions, compare steps, and check them",
		Long: `Each thing that is done to a durable session is a step, and each step is a record of
the session's journal: the code, what the program learned from outside, what came of
it, and hashes of the state afterwards. Steps count from 0, which made the session.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newReplayList(), newReplayShow(), newReplayDiff(), newReplayVerify())
	return c
}

// parseStep reads the number of a step, or "latest".
func parseStep(s string) (int, error) {
	if s == "latest" {
		return engine.Latest, nil
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("%q is not a step; write its number, or latest", s)
	}
	return n, nil
}

// stepArgument is parseStep for an argument.
func stepArgument(s string) (int, error) {
	n, err := parseStep(s)
	if err != nil {
		return 0, usageError("mayfly replay show NAME lists the steps", "%v", err)
	}
	return n, nil
}

// replayed is a journal in the list of them.
type replayed struct {
	Session string `json:"session"`
	// Steps is the number of its records, First and Last are the steps of the first and the last.
	Steps  int       `json:"steps"`
	First  int       `json:"first"`
	Last   int       `json:"last"`
	Active time.Time `json:"last_active"`
	// Record is the hash of the last record, and so stands for all of them.
	Record cas.Hash        `json:"record"`
	Parent *engine.StepRef `json:"parent,omitempty"`
}

func newReplayList() *cobra.Command {
	var asJSON bool
	return storeCommand(&cobra.Command{
		Use:   "list",
		Short: "List the journals",
		Long: `Lists the journals with their first and last steps, and the hash of the last record.
It covers all records before: where it is the same, so is the whole journal.`,
		Example: `  mayfly replay list
  mayfly replay list --json`,
		Args: cobra.NoArgs,
	}, &asJSON, func(ctx context.Context, s *sessions, _ []string) error {
		all, err := s.Sessions(ctx, nil)
		if err != nil {
			return err
		}
		list := []replayed{}
		for _, i := range all {
			first := 0
			if i.Parent != nil { // its journal begins at the step that it was forked from
				first = i.Parent.Step
			}
			list = append(list, replayed{i.ID, i.Step - first + 1, first, i.Step, i.Active, i.Record, i.Parent})
		}
		if asJSON {
			return writeJSON(os.Stdout, list)
		}
		if len(list) == 0 {
			s.sayEmpty()
			return nil
		}
		t := newTable(os.Stdout, "SESSION", "STEPS", "LAST ACTIVE", "LAST RECORD", "FORKED FROM")
		for _, r := range list {
			from := ""
			if r.Parent != nil {
				from = fmt.Sprintf("%s at step %d", r.Parent.Session, r.Parent.Step)
			}
			t.row(r.Session, fmt.Sprintf("%d-%d", r.First, r.Last), localTime(r.Active), fmt.Sprintf("%.16s", r.Record), from)
		}
		return t.flush()
	})
}

func newReplayShow() *cobra.Command {
	var asJSON, value bool
	c := storeCommand(&cobra.Command{
		Use:   "show NAME [STEP]",
		Short: "List the steps of a session, or show all of one",
		Example: `  mayfly replay show demo
  mayfly replay show demo 2
  mayfly replay show demo latest --json
  mayfly replay show demo 3 --value > big.json`,
		Args: cobra.RangeArgs(1, 2),
	}, &asJSON, func(ctx context.Context, s *sessions, args []string) error {
		switch {
		case value && len(args) == 1:
			return usageError("mayfly replay show "+args[0]+" STEP --value", "--value of no step")
		case len(args) == 1:
			return showSteps(ctx, s, args[0], asJSON)
		}
		n, err := stepArgument(args[1])
		if err != nil {
			return err
		}
		step, err := s.Step(ctx, args[0], n)
		if err != nil {
			return err
		}
		switch {
		case value:
			return showValue(ctx, s, step)
		case asJSON:
			return writeJSON(os.Stdout, step)
		}
		return showStep(os.Stdout, step)
	})
	c.Flags().BoolVar(&value, "value", false,
		"print the whole value of the step's last expression, however large, and nothing else")
	return c
}

func showSteps(ctx context.Context, s *sessions, name string, asJSON bool) error {
	all := []*httpapi.Step{}
	t := newTable(os.Stdout, "STEP", "KIND", "STATUS", "MS", "WHAT")
	for step, err := range s.Steps(ctx, name, 0) {
		switch {
		case err != nil:
			return err
		case asJSON:
			all = append(all, step)
		default:
			ms := "-"
			if step.Status != "" {
				ms = fmt.Sprintf("%.1f", step.WallMS)
			}
			t.row(strconv.Itoa(step.Step), string(step.Kind), dash(string(step.Status)), ms, short(whatOf(step), 80))
		}
	}
	if asJSON {
		return writeJSON(os.Stdout, all)
	}
	return t.flush()
}

// showValue prints a result as it is: JSON where it could be, else as the language prints it.
func showValue(ctx context.Context, s *sessions, step *httpapi.Step) error {
	r := step.Result
	switch {
	case r == nil || r.ResultRepr == "" && r.Result == nil:
		return usageError("", "step %d has no value", step.Step)
	case strings.HasPrefix(r.ResultRef, "value:"):
		v, err := s.Value(ctx, step.Session, r.ResultRef)
		if err != nil {
			return err
		}
		defer v.Close()
		_, err = io.Copy(os.Stdout, v)
		return err
	case r.ResultRef != "":
		return usageError("run code in the session, or in a fork of it at this step",
			"the value is that of a variable: %s", r.ResultRef)
	case r.Result != nil:
		_, err := os.Stdout.Write(r.Result)
		return err
	}
	_, err := io.WriteString(os.Stdout, r.ResultRepr)
	return err
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// whatOf tells in a line what a step did.
func whatOf(s *httpapi.Step) string {
	switch {
	case s.Kind == engine.RecordWait: // the code is told by the step that it became
		return s.Note
	case s.Code != "":
		return s.Code
	case s.Origin != nil && s.Origin.Session != s.Session:
		return fmt.Sprintf("from %s at step %d", s.Origin.Session, s.Origin.Step)
	case s.Origin != nil:
		return fmt.Sprintf("back to step %d", s.Origin.Step)
	}
	return s.Note
}

func showStep(w io.Writer, s *httpapi.Step) error {
	t := newTable(w)
	t.row("session", s.Session)
	t.row("step", strconv.Itoa(s.Step))
	t.row("kind", string(s.Kind))
	t.row("time", localTime(s.Time))
	if s.Origin != nil {
		t.row("origin", fmt.Sprintf("%s at step %d", s.Origin.Session, s.Origin.Step))
	}
	if s.Note != "" {
		t.row("note", s.Note)
	}
	if q := s.Question; q != nil {
		t.row("question", printable(q.ID)+": "+headline(q))
	}
	if r := s.Result; r != nil {
		ticks := count(int(min(r.Usage.CPUTicks, 1<<30)), "CPU tick")
		t.row("status", fmt.Sprintf("%s, exit code %d, %.1f ms, %s", r.Status, r.ExitCode, r.Usage.WallMS, ticks))
	}
	if len(s.Args) > 0 {
		t.row("arguments", fmt.Sprintf("%q", s.Args))
	}
	if s.State != nil {
		t.row("files", dash(s.State.Tree.String()))
		t.row("memory", dash(s.State.Memory.String()))
	}
	t.row("record", s.Hash.String())
	t.row("previous", dash(s.Previous.String()))
	if err := t.flush(); err != nil {
		return err
	}
	indented(w, "code", s.Code)
	r := s.Result
	if r == nil {
		return nil
	}
	indented(w, "stdout", r.Stdout)
	indented(w, "stderr", r.Stderr)
	value := r.ResultRepr
	if value != "" && r.ResultName != "" {
		value = r.ResultName + " = " + value
	}
	indented(w, "result", value)
	if r.Error != nil {
		text := r.Error.Traceback
		if text == "" {
			text = r.Error.Message
		}
		indented(w, "error", text)
	}
	for _, c := range r.HostCalls {
		text := fmt.Sprintf("%s(%s): %s, %.1f ms", c.Name, c.Args, c.Outcome, c.WallMS)
		if c.Approved != "" {
			text += ", a person said: " + c.Approved
		}
		indented(w, "host call", text)
	}
	if len(r.FilesChanged) == 0 {
		return nil
	}
	fmt.Fprintln(w, "files changed:")
	files := newTable(w)
	for _, f := range r.FilesChanged {
		files.row("    "+f.Op, bytesText(f.Size), f.Path)
	}
	return files.flush()
}
