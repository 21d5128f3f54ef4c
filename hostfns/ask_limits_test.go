package hostfns

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestElicitationsAreBounded: a server cannot keep a person busy, or fill the host's memory, with questions.
func TestElicitationsAreBounded(t *testing.T) {
	p := NewTools("s")
	raw(p, "nags", func(ctx context.Context, c *ToolCall) (*ToolResult, error) {
		replies := make(chan string, 100)
		for range 100 {
			go func() {
				r, err := c.Ask(ctx, &Question{Message: "well?"})
				if err != nil {
					replies <- err.Error()
				} else {
					replies <- r.Action
				}
			}()
		}
		n := map[string]int{}
		for range 100 {
			n[<-replies]++
		}
		return text(fmt.Sprint(n)), nil
	})
	h := newHost(t, &Options{Providers: []Provider{p}})
	who := &person{}
	for range 100 {
		who.replies = append(who.replies, &Reply{Action: ActionAccept})
	}
	c := begin(t, h, who.options())
	want := fmt.Sprint(map[string]int{ActionAccept: maxElicitations, ActionDecline: 100 - maxElicitations})
	for range 2 { // the next call has as many
		if r := callTool(t, c, "s", "nags", nil); string(r.body) != want {
			t.Errorf("%s %s, want %s", r.Message, r.body, want)
		}
	}
	if len(who.asked) != 2*maxElicitations {
		t.Errorf("asked %d times", len(who.asked))
	}
}

// TestApprovalOfLargeArguments: what nobody can look at is not asked, and not called.
func TestApprovalOfLargeArguments(t *testing.T) {
	p := NewTools("s")
	ran := 0
	raw(p, "a", func(context.Context, *ToolCall) (*ToolResult, error) {
		ran++
		return nil, nil
	})
	h := newHost(t, &Options{Providers: []Provider{p}, Policy: &Policy{Approve: []string{"*"}}})
	who := &person{replies: []*Reply{{Action: ActionAccept}, {Action: ActionAccept}}}
	c := begin(t, h, who.options())
	for n, code := range map[int]string{maxApproval - 100: "", maxApproval: CodeTooLarge} {
		if r := callTool(t, c, "s", "a", map[string]any{"x": strings.Repeat("x", n)}); r.Code != code {
			t.Errorf("%d bytes: %+v", n, r)
		}
	}
	if len(who.asked) != 1 || ran != 1 {
		t.Errorf("asked %d times, ran %d times", len(who.asked), ran)
	}
}

// TestApproved: it is told before the tool is called, not for replies that hold always, and can refuse.
func TestApproved(t *testing.T) {
	p := NewTools("s")
	var log []string
	raw(p, "a", func(context.Context, *ToolCall) (*ToolResult, error) {
		log = append(log, "called")
		return nil, nil
	})
	h := newHost(t, &Options{Providers: []Provider{p}, Policy: &Policy{Approve: []string{"*"}}})
	who := &person{replies: []*Reply{
		{Action: ActionDecline}, {Action: ActionAccept}, {Action: ActionAccept}, {Action: ActionAccept, Always: true},
	}}
	o := who.options()
	var fail error
	o.Approved = func(_ context.Context, q *Question, started bool) error {
		log = append(log, fmt.Sprint("approved ", q.Call, started))
		return fail
	}
	c := begin(t, h, o)
	callTool(t, c, "s", "a", nil)
	callTool(t, c, "s", "a", nil)
	fail = errors.New("no space")
	if r := callTool(t, c, "s", "a", nil); r.Code != CodeServer {
		t.Errorf("%+v", r)
	}
	fail = nil
	start(t, c, 0, FnTool, toolHead{"s", "a", nil})
	wait(t, c, 0, -1)
	callTool(t, c, "s", "a", nil)
	if got := strings.Join(log, ", "); got != "approved 1 false, called, approved 2 false, approved 3 true, called, called" {
		t.Error(got)
	}
}

// TestUnderwayWhileAsked: what waits for an approval was not called, but a call whose server asks something was, and must
// not be made again.
func TestUnderwayWhileAsked(t *testing.T) {
	p := NewTools("s")
	raw(p, "approve", nil2)
	raw(p, "asks", func(ctx context.Context, c *ToolCall) (*ToolResult, error) {
		_, err := c.Ask(ctx, &Question{Message: "?"})
		return nil, err
	})
	h := newHost(t, &Options{Providers: []Provider{p}, Policy: &Policy{Approve: []string{"s.approve"}}})
	asked := make(chan *Question, 2)
	c := begin(t, h, &ExecOptions{Ask: func(ctx context.Context, q *Question) (*Reply, error) {
		asked <- q
		<-ctx.Done()
		return nil, ctx.Err()
	}})
	start(t, c, 0, FnTool, toolHead{"s", "approve", nil})
	asking := start(t, c, 0, FnTool, toolHead{"s", "asks", nil}).ID
	for range 2 {
		select {
		case <-asked:
		case <-time.After(time.Minute):
			t.Fatal("nothing was asked")
		}
	}
	if u := c.Underway(); len(u.Done) > 0 || fmt.Sprint(u.Running) != fmt.Sprint([]int{asking}) {
		t.Errorf("%+v, want %d", u, asking)
	}
}

// TestHiddenServersAreNotHinted: an error about a name tells of no servers that the session's policy hides.
func TestHiddenServersAreNotHinted(t *testing.T) {
	visible, hidden := NewTools("files"), NewTools("payroll")
	raw(visible, "a", nil2)
	raw(hidden, "a", nil2)
	h := newHost(t, &Options{Providers: []Provider{visible, hidden}})
	s := h.NewSession(&Policy{Deny: []string{"payroll"}})
	defer s.Close()
	c := s.Begin(context.Background(), nil)
	defer c.End()
	for _, fn := range []string{FnModule, FnSpec, FnSearch, FnDescribe} {
		for _, name := range []string{"payrol", "payroll", "payroll.a", "x"} {
			r := do(t, c, fn, map[string]any{"server": name, "query": "a"})
			// What the program said itself is repeated.
			if all := strings.ReplaceAll(r.Message, "payroll", ""); strings.Contains(all+r.Hint, "payrol") && name != "payrol" ||
				strings.Contains(r.Hint, "payrol") || r.code == answerOK {
				t.Errorf("%s of %s: %+v", fn, name, r)
			}
		}
	}
	if r := callTool(t, c, "payrol", "a", nil); strings.Contains(r.Hint, "payroll") {
		t.Errorf("%+v", r)
	}
}
