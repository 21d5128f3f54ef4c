package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mayfly-run/mayfly/engine"
	"github.com/mayfly-run/mayfly/hostfns"
)

// suspendDir names the environment variable that makes a test process the one to be killed while it waits for an approval.
const suspendDir = "MAYFLY_TEST_SUSPEND_DIR"

// suspendTask is what such a process does: it runs code, or goes on with the step that waits, giving the first reply. The
// further replies are given as questions come up. At the next question after these it waits, to be killed.
type suspendTask struct {
	Code    string          `json:",omitempty"`
	Replies []hostfns.Reply `json:",omitempty"`
}

// suspendEvent is what the process tells: asked, hanging (in a tool), done or failed.
type suspendEvent struct {
	Event    string
	Question *hostfns.Question `json:",omitempty"`
	Result   *engine.Result    `json:",omitempty"`
	Text     string            `json:",omitempty"`
}

func (e *suspendEvent) tell() {
	b, err := json.Marshal(e)
	if err != nil {
		panic(err)
	}
	if _, err := os.Stdout.WriteString(killPrefix + string(b) + "\n"); err != nil {
		os.Exit(1)
	}
}

// suspendHost has tools that note each real call in a file: all processes count in the same one. hang never ends.
func suspendHost(dir string) (*hostfns.Host, error) {
	tools := hostfns.NewTools("t")
	schema := json.RawMessage(`{"type":"object","properties":{"x":{"type":"integer"}}}`)
	for _, name := range []string{"count", "danger", "hang"} {
		tools.Add(hostfns.Tool{Name: name, InputSchema: schema}, func(ctx context.Context, c *hostfns.ToolCall) (*hostfns.ToolResult, error) {
			var args struct{ X int64 }
			if err := json.Unmarshal(c.Args, &args); err != nil {
				return nil, err
			}
			n, err := noteCall(dir, fmt.Sprintf("%s %d", name, args.X))
			if err != nil {
				return nil, err
			}
			if name == "hang" {
				(&suspendEvent{Event: "hanging"}).tell()
				<-ctx.Done()
				return nil, ctx.Err()
			}
			text := fmt.Sprintf("%s is call %d", name, n)
			return &hostfns.ToolResult{Content: []hostfns.Block{{Type: hostfns.BlockText, Text: text}}}, nil
		})
	}
	return hostfns.New(&hostfns.Options{
		Providers: []hostfns.Provider{tools}, Policy: &hostfns.Policy{Approve: []string{"t.danger"}},
	})
}

// noteCall returns the number of calls with this one.
func noteCall(dir, call string) (int, error) {
	f, err := os.OpenFile(callsFile(dir), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	if _, err := f.WriteString(call + "\n"); err != nil {
		return 0, err
	}
	calls, err := notedCalls(dir)
	return len(calls), err
}

func callsFile(dir string) string { return filepath.Join(dir, "calls") }

func notedCalls(dir string) ([]string, error) {
	b, err := os.ReadFile(callsFile(dir))
	if err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	return strings.Fields(strings.ReplaceAll(strings.TrimSpace(string(b)), " ", ":")), nil
}

// suspendEngine opens the store in dir.
func suspendEngine(t *testing.T, dir string) *durable {
	t.Helper()
	host, err := suspendHost(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := host.Close(); err != nil {
			t.Error(err)
		}
	})
	d := &durable{t: t, dir: filepath.Join(dir, "store"), o: options()}
	d.o.Host, d.o.Questions = host, true
	d.open()
	t.Cleanup(d.close)
	return d
}

// TestSuspendChild is no test: it is what TestApprovalsSurviveKillNine kills.
func TestSuspendChild(t *testing.T) {
	dir := os.Getenv(suspendDir)
	if dir == "" {
		t.Skip("only runs as the child of TestApprovalsSurviveKillNine")
	}
	var task suspendTask
	if err := json.NewDecoder(os.Stdin).Decode(&task); err != nil {
		t.Fatal(err)
	}
	d := suspendEngine(t, dir)
	r, err := task.run(t.Context(), d)
	if err != nil {
		(&suspendEvent{Event: "failed", Text: err.Error()}).tell()
		return
	}
	(&suspendEvent{Event: "done", Result: r}).tell()
}

func (task *suspendTask) run(ctx context.Context, d *durable) (*engine.Result, error) {
	s, err := d.Open(ctx, "demo", nil)
	if err != nil {
		return nil, err
	}
	replies := task.Replies
	how := engine.Request{Code: task.Code, Timeout: time.Minute, OnEvent: func(e engine.Event) {
		q := &hostfns.Question{}
		if e.Kind != engine.EventKind(hostfns.EventQuestion) || json.Unmarshal(e.Data, q) != nil {
			return
		}
		if len(replies) == 0 {
			(&suspendEvent{Event: "asked", Question: q}).tell()
			return
		}
		reply := replies[0]
		replies = replies[1:]
		go func() {
			if err := d.Reply(ctx, q.ID, reply); err != nil {
				(&suspendEvent{Event: "failed", Text: err.Error()}).tell()
			}
		}()
	}}
	if task.Code != "" {
		return s.Exec(ctx, how)
	}
	open, err := d.Questions(ctx)
	switch {
	case err != nil:
		return nil, err
	case len(open) != 1 || !open[0].Suspended || open[0].Session != "demo":
		return nil, fmt.Errorf("the open questions are %+v", open)
	case len(replies) == 0: // this process only looks, and is killed when it has
		(&suspendEvent{Event: "asked", Question: &open[0].Question}).tell()
		select {}
	}
	reply := replies[0]
	replies = replies[1:]
	return s.Resume(ctx, open[0].ID, reply, how)
}
