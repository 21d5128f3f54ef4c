package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mayfly-run/mayfly/engine"
)

func newSessions() *cobra.Command {
	c := &cobra.Command{
		Use:   "sessions",
		Short: "List, look into and remove durable sessions",
		Long: `Durable sessions keep their variables and files from one run to the next:
mayfly run --session NAME. They live in a store, a directory that one process at a
time has open; the commands here work with that process when there is one.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newSessionsList(), newSessionsShow(), newSessionsFiles(), newSessionsGet(), newSessionsPut(),
		newSessionsVars(), newSessionsRemove(), newSessionsReap())
	return c
}

// makesStore annotates a command that makes a store when there is none.
const makesStore = "makes-store"

// storeCommand is a command that does one thing with a store.
func storeCommand(
	c *cobra.Command, asJSON *bool, f func(ctx context.Context, s *sessions, args []string) error,
) *cobra.Command {
	sf := storeFlags{reading: c.Annotations[makesStore] == ""}
	addStoreFlag(c, &sf)
	if asJSON != nil {
		c.Flags().BoolVar(asJSON, "json", false, "print JSON")
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		return withSessions(c, &sf, func(ctx context.Context, s *sessions) error { return f(ctx, s, args) })
	}
	return c
}

func newSessionsList() *cobra.Command {
	var asJSON bool
	var labels []string
	c := storeCommand(&cobra.Command{
		Use:   "list",
		Short: "List the sessions",
		Example: `  mayfly sessions list
  mayfly sessions list --label project=demo --json`,
		Args: cobra.NoArgs,
	}, &asJSON, func(ctx context.Context, s *sessions, _ []string) error {
		filter := &engine.SessionFilter{Labels: map[string]string{}}
		for _, l := range labels {
			k, v, ok := strings.Cut(l, "=")
			if !ok || k == "" {
				return usageError("write --label KEY=VALUE", "--label %q is not a key and its value", l)
			}
			filter.Labels[k] = v
		}
		all, err := s.Sessions(ctx, filter)
		if err != nil {
			return err
		}
		list, err := withQuestions(ctx, s, all)
		if err != nil {
			return err
		}
		if asJSON {
			return writeJSON(os.Stdout, list)
		}
		if len(list) == 0 {
			s.sayEmpty()
			return nil
		}
		t := newTable(os.Stdout, "NAME", "STEP", "LAST ACTIVE", "EXPIRES", "STATE", "LABELS")
		for _, i := range list {
			t.row(i.ID, fmt.Sprint(i.Step), localTime(i.Active), localTime(i.Expires), stateOf(&i), labelText(i.Labels))
		}
		return t.flush()
	})
	c.Flags().StringArrayVar(&labels, "label", nil, "list those with the label `KEY=VALUE` only; may be repeated")
	return c
}

// listedSession is a session with the questions that code in it waits for the reply to.
type listedSession struct {
	engine.SessionInfo
	// Questions are their IDs, the oldest first.
	Questions []string `json:"questions,omitempty"`
}

func withQuestions(ctx context.Context, s *sessions, all []engine.SessionInfo) ([]listedSession, error) {
	list := make([]listedSession, 0, len(all))
	if len(all) == 0 {
		return list, nil
	}
	open, err := s.Questions(ctx)
	if err != nil {
		return nil, err
	}
	by := map[string][]string{}
	for _, q := range open {
		by[q.Session] = append(by[q.Session], q.ID)
	}
	for _, i := range all {
		list = append(list, listedSession{i, by[i.ID]})
	}
	return list, nil
}

func stateOf(i *listedSession) string {
	switch {
	case len(i.Questions) > 0 && i.Running:
		return "waiting"
	case len(i.Questions) > 0: // its process has ended
		return "suspended"
	case i.Running:
		return "running"
	case i.Open:
		return "open"
	}
	return "stored"
}

func labelText(labels map[string]string) string {
	var all []string
	for k, v := range labels {
		all = append(all, k+"="+v)
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

func newSessionsShow() *cobra.Command {
	var asJSON bool
	return storeCommand(&cobra.Command{
		Use:   "show NAME",
		Short: "Describe a session",
		Example: `  mayfly sessions show demo
  mayfly sessions show demo --json`,
		Args: cobra.ExactArgs(1),
	}, &asJSON, func(ctx context.Context, s *sessions, args []string) error {
		i, err := s.Session(ctx, args[0])
		if err != nil {
			return err
		}
		list, err := withQuestions(ctx, s, []engine.SessionInfo{*i})
		if err != nil {
			return err
		}
		if asJSON {
			return writeJSON(os.Stdout, list[0])
		}
		return showSession(&list[0])
	})
}

func showSession(i *listedSession) error {
	t := newTable(os.Stdout)
	t.row("name", i.ID)
	t.row("language", i.Language)
	t.row("state", stateOf(i))
	for _, q := range i.Questions {
		t.row("question", q+"; mayfly questions reply "+q)
	}
	t.row("last step", fmt.Sprint(i.Step))
	t.row("created", localTime(i.Created))
	t.row("last active", localTime(i.Active))
	t.row("expires", localTime(i.Expires))
	if i.Parent != nil {
		t.row("forked from", fmt.Sprintf("%s at step %d", i.Parent.Session, i.Parent.Step))
	}
	if len(i.Labels) > 0 {
		t.row("labels", labelText(i.Labels))
	}
	if i.Tenant != "" {
		t.row("tenant", i.Tenant)
	}
	t.row("snapshots", policyText(i.Snapshots)+fmt.Sprintf("; the last one is of step %d", i.Snapshot))
	sb := i.Sandbox
	t.row("limits", fmt.Sprintf("memory %s, files %s in %d, threads %d",
		bytesText(sb.Memory), bytesText(sb.Workspace), sb.Files, sb.Threads))
	for _, m := range sb.Mounts {
		mode := "read-only"
		if m.Writable {
			mode = "writable"
		}
		t.row("mount", fmt.Sprintf("%s at %s, %s", m.Host, m.Guest, mode))
	}
	if sb.Policy != nil {
		if b, err := json.Marshal(sb.Policy); err == nil {
			t.row("policy", string(b))
		}
	}
	t.row("last record", i.Record.String())
	return t.flush()
}

func policyText(p engine.SnapshotPolicy) string {
	s := "after every step"
	switch {
	case p.Every < 0:
		s = "off"
	case p.Every > 1:
		s = fmt.Sprintf("every %d steps", p.Every)
	}
	if p.Keep > 0 {
		s += fmt.Sprintf(", the latest %d steps are kept", p.Keep)
	}
	return s
}

func newSessionsVars() *cobra.Command {
	var asJSON bool
	step := stepValue(engine.Latest)
	c := storeCommand(&cobra.Command{
		Use:   "vars NAME",
		Short: "Show the variables of a session",
		Example: `  mayfly sessions vars demo
  mayfly sessions vars demo --step 3 --json`,
		Args: cobra.ExactArgs(1),
	}, &asJSON, func(ctx context.Context, s *sessions, args []string) error {
		vars, err := s.Variables(ctx, args[0], int(step))
		if err != nil {
			return err
		}
		if asJSON {
			return writeJSON(os.Stdout, vars)
		}
		t := newTable(os.Stdout, "NAME", "TYPE", "VALUE")
		for _, v := range vars {
			t.row(v.Name, v.Type, short(v.Repr, 100))
		}
		return t.flush()
	})
	c.Flags().Var(&step, "step", "as they were after this step")
	return c
}

func newSessionsRemove() *cobra.Command {
	var asJSON bool
	return storeCommand(&cobra.Command{
		Use:     "rm NAME...",
		Short:   "Remove sessions with their files, snapshots and journals",
		Long:    `Removes sessions for good. One that is open is closed; what runs in it is cancelled.`,
		Example: `  mayfly sessions rm demo demo2`,
		Args:    cobra.MinimumNArgs(1),
	}, &asJSON, func(ctx context.Context, s *sessions, args []string) error {
		removed := []string{}
		var last error
		for _, name := range args {
			err := s.Remove(ctx, name)
			if err == nil {
				removed = append(removed, name)
				continue
			}
			if last != nil {
				engineError(last).tell()
			}
			last = err
		}
		if asJSON {
			if err := writeJSON(os.Stdout, removed); err != nil {
				return err
			}
		}
		return last
	})
}

func newSessionsReap() *cobra.Command {
	var asJSON bool
	return storeCommand(&cobra.Command{
		Use:   "reap",
		Short: "Remove the sessions that have expired",
		Long: `Removes the sessions whose --idle-ttl or --max-age is over. A process that has the
store open does this once a minute by itself.`,
		Example: `  mayfly sessions reap`,
		Args:    cobra.NoArgs,
	}, &asJSON, func(ctx context.Context, s *sessions, _ []string) error {
		names, err := s.Reap(ctx)
		if err != nil {
			return err
		}
		if asJSON {
			return writeJSON(os.Stdout, names)
		}
		for _, n := range names {
			if err := say("%s", n); err != nil {
				return err
			}
		}
		return nil
	})
}

// stepValue is a flag that names a step.
type stepValue int

func (s *stepValue) Set(text string) error {
	n, err := parseStep(text)
	*s = stepValue(n)
	return err
}

func (s *stepValue) String() string {
	if *s == engine.Latest {
		return "latest"
	}
	return fmt.Sprint(int(*s))
}

// Type is the name of the value in help texts.
func (*stepValue) Type() string { return "STEP" }

// printNote tells on stderr what a person should know about a session that was opened.
func printNote(note string) { fmt.Fprintln(os.Stderr, "mayfly: note:", printable(note)) }
