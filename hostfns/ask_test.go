package hostfns

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// person answers questions with replies, in order.
type person struct {
	mu      sync.Mutex
	replies []*Reply
	err     error
	asked   []*Question
	paused  int
	delay   time.Duration
}

func (p *person) ask(ctx context.Context, q *Question) (*Reply, error) {
	if p.delay > 0 {
		select {
		case <-time.After(p.delay):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = append(p.asked, q)
	if p.paused == 0 {
		return nil, errors.New("asked without a pause")
	}
	if len(p.replies) == 0 {
		return nil, p.err
	}
	r := p.replies[0]
	p.replies = p.replies[1:]
	return r, nil
}

func (p *person) pause(context.Context) func() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.paused++
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.paused--
	}
}

func (p *person) options() *ExecOptions {
	return &ExecOptions{Session: "session", Execution: "execution", Ask: p.ask, Pause: p.pause}
}

func TestApproval(t *testing.T) {
	accept, always := &Reply{Action: ActionAccept}, &Reply{Action: ActionAccept, Always: true}
	for _, tc := range []struct {
		name     string
		replies  []*Reply
		err      error
		calls    int // one after the other
		outcomes string
		asked    int
		approved string // of the last
	}{
		{"accepted", []*Reply{accept}, nil, 1, "ok", 1, ActionAccept},
		{"each time", []*Reply{accept, {Action: ActionDecline}, accept}, nil, 3, "ok denied ok", 3, ActionAccept},
		{"declined", []*Reply{{Action: ActionDecline, Reason: "not on my watch"}}, nil, 1, "denied", 1, ActionDecline},
		{"cancelled", []*Reply{{Action: ActionCancel}}, nil, 1, "denied", 1, ActionCancel},
		{"nonsense", []*Reply{{Action: "whatever"}}, nil, 1, "denied", 1, ActionCancel},
		{"no reply", []*Reply{nil}, nil, 1, "denied", 1, ActionDecline},
		{"always", []*Reply{always}, nil, 3, "ok ok ok", 1, ActionAccept},
		{"never", []*Reply{{Action: ActionDecline, Always: true}}, nil, 3, "denied denied denied", 1, ActionDecline},
		{"failed", nil, errors.New("the line is dead"), 1, "server_error", 1, ""},
		{"nobody in time", nil, context.DeadlineExceeded, 1, "timeout", 1, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			ran := 0
			p := NewTools("s")
			raw(p, "drop-db", func(context.Context, *ToolCall) (*ToolResult, error) {
				ran++
				return text("done"), nil
			})
			raw(p, "harmless", func(context.Context, *ToolCall) (*ToolResult, error) { return nil, nil })
			h := newHost(t, &Options{Providers: []Provider{p}, Policy: &Policy{Approve: []string{"s.drop_*"}}})
			who := &person{replies: tc.replies, err: tc.err}
			c := begin(t, h, who.options())
			callTool(t, c, "s", "harmless", nil)
			for range tc.calls {
				r := callTool(t, c, "s", "drop-db", map[string]any{"name": "prod"})
				if len(tc.replies) > 0 && tc.replies[0] != nil && !strings.Contains(r.Message, tc.replies[0].Reason) {
					t.Errorf("the reason is not in %q", r.Message)
				}
			}
			records, _ := c.End()
			if got := outcomes(records[1:]); got != tc.outcomes || len(who.asked) != tc.asked || records[tc.calls].Approved != tc.approved {
				t.Errorf("%s, asked %d times, %+v", got, len(who.asked), records)
			}
			if ran != strings.Count(tc.outcomes, "ok") {
				t.Errorf("the tool ran %d times", ran)
			}
			q := who.asked[0]
			if q.Kind != QuestionApproval || q.Session != "session" || q.Execution != "execution" || q.Server != "s" || q.Tool != "drop-db" ||
				string(q.Args) != `{"name":"prod"}` || q.Message == "" || q.Call != 1 || q.Asked.IsZero() {
				t.Errorf("question %+v", q)
			}
			if who.paused != 0 {
				t.Errorf("paused %d times too often", who.paused)
			}
		})
	}
}

// TestAlways: a reply for always is of one tool and one session, and does not answer what was asked already.
func TestAlways(t *testing.T) {
	p := NewTools("s")
	raw(p, "a", nil2)
	raw(p, "b", nil2)
	h := newHost(t, &Options{Providers: []Provider{p}, Policy: &Policy{Approve: []string{"*"}}})
	s := h.NewSession(nil)
	defer s.Close()
	who := &person{replies: []*Reply{{Action: ActionAccept, Always: true}}}
	c := s.Begin(context.Background(), who.options())
	if r := callTool(t, c, "s", "a", nil); r.code != answerOK {
		t.Fatal(r.Message)
	}
	c.End()
	c = s.Begin(context.Background(), who.options())
	if r := callTool(t, c, "s", "a", nil); r.code != answerOK {
		t.Errorf("the next execution: %s", r.Message)
	}
	if r := callTool(t, c, "s", "b", nil); r.Code != CodeDenied {
		t.Errorf("another tool: %+v", r)
	}
	if r := callTool(t, begin(t, h, who.options()), "s", "a", nil); r.Code != CodeDenied {
		t.Errorf("another session: %+v", r)
	}
}

func TestNobodyToAsk(t *testing.T) {
	p := NewTools("s")
	raw(p, "a", nil2)
	c := begin(t, newHost(t, &Options{Providers: []Provider{p}, Policy: &Policy{Approve: []string{"s"}}}), nil)
	if r := callTool(t, c, "s", "a", nil); r.Code != CodeDenied || r.Hint == "" {
		t.Errorf("%+v", r)
	}
	records, _ := c.End()
	if records[0].Approved != "" {
		t.Errorf("%+v", records)
	}
}

// TestConcurrentQuestions: calls of the same tool are asked for one by one, at the same time.
func TestConcurrentQuestions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewTools("s")
		raw(p, "a", nil2)
		h := newHost(t, &Options{Providers: []Provider{p}, Policy: &Policy{Approve: []string{"*"}, CallTimeout: time.Second}})
		who := &person{delay: time.Hour, replies: []*Reply{{Action: ActionAccept}, {Action: ActionAccept}, {Action: ActionAccept}}}
		c := begin(t, h, who.options())
		for range 3 {
			start(t, c, 0, FnTool, toolHead{"s", "a", nil})
		}
		began := time.Now()
		for range 3 {
			if _, r := wait(t, c, 0, -1); r.code != answerOK {
				t.Error(r.Message)
			}
		}
		if len(who.asked) != 3 || time.Since(began) != time.Hour {
			t.Errorf("asked %d times in %v", len(who.asked), time.Since(began))
		}
		seen := map[int]bool{}
		for _, q := range who.asked {
			seen[q.Call] = true
		}
		if len(seen) != 3 {
			t.Errorf("numbers of calls: %v", seen)
		}
	})
}

// TestTimeoutStandsStill: a call has its whole time besides that of the person.
func TestTimeoutStandsStill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewTools("s")
		raw(p, "slow", func(ctx context.Context, c *ToolCall) (*ToolResult, error) {
			for range 2 {
				time.Sleep(400 * time.Millisecond)
				if _, err := c.Ask(ctx, &Question{Message: "?"}); err != nil {
					return nil, err
				}
			}
			<-ctx.Done()
			return nil, ctx.Err()
		})
		h := newHost(t, &Options{Providers: []Provider{p}, Policy: &Policy{Approve: []string{"*"}, CallTimeout: time.Second}})
		who := &person{delay: time.Minute, replies: []*Reply{{Action: ActionAccept}, {Action: ActionAccept}, {Action: ActionAccept}}}
		c := begin(t, h, who.options())
		began := time.Now()
		if r := callTool(t, c, "s", "slow", nil); r.Code != CodeTimeout || time.Since(began) != 3*time.Minute+time.Second {
			t.Errorf("%+v after %v", r, time.Since(began))
		}
		// A person who does not answer keeps nobody after the end.
		start(t, c, 0, FnTool, toolHead{"s", "slow", nil})
		synctest.Wait()
		began = time.Now()
		records, _ := c.End()
		if got := outcomes(records); got != "timeout cancelled" || time.Since(began) != 0 {
			t.Errorf("%s after %v", got, time.Since(began))
		}
	})
}

func TestElicitation(t *testing.T) {
	p := NewTools("s")
	raw(p, "asks", func(ctx context.Context, c *ToolCall) (*ToolResult, error) {
		r, err := c.Ask(ctx, &Question{
			Kind: QuestionApproval, Session: "forged", Server: "forged", Message: "Who?", URL: "https://example.com/",
			Args: json.RawMessage(`{"forged":true}`), Schema: json.RawMessage(`{"type":"object"}`),
		})
		if err != nil {
			return nil, err
		}
		return text(r.Action + " " + string(r.Content)), nil
	})
	raw(p, "odd", func(ctx context.Context, c *ToolCall) (*ToolResult, error) {
		r, err := c.Ask(ctx, &Question{Message: "a\xff", Schema: json.RawMessage(`{`)})
		if err != nil {
			return nil, err
		}
		return text(r.Action), nil
	})
	raw(p, "floods", func(ctx context.Context, c *ToolCall) (*ToolResult, error) {
		r, err := c.Ask(ctx, &Question{Message: strings.Repeat("x", maxElicitation+1)})
		if err != nil {
			return nil, err
		}
		return text(r.Action), nil
	})
	h := newHost(t, &Options{Providers: []Provider{p}})
	who := &person{replies: []*Reply{{Action: ActionAccept, Content: json.RawMessage(`{"name":"Ada"}`)}, {Action: ActionDecline}}}
	c := begin(t, h, who.options())
	if r := callTool(t, c, "s", "asks", nil); string(r.body) != `accept {"name":"Ada"}` {
		t.Errorf("%s %q", r.Message, r.body)
	}
	q := who.asked[0]
	if q.Kind != QuestionElicitation || q.Session != "session" || q.Server != "s" || q.Tool != "asks" || q.Args != nil ||
		q.Message != "Who?" || string(q.Schema) != `{"type":"object"}` || q.URL != "https://example.com/" {
		t.Errorf("question %+v", q)
	}
	if r := callTool(t, c, "s", "odd", nil); string(r.body) != ActionDecline || who.asked[1].Message != "a\ufffd" || who.asked[1].Schema != nil {
		t.Errorf("%+v", r)
	}
	if r := callTool(t, c, "s", "floods", nil); string(r.body) != ActionDecline || len(who.asked) != 2 {
		t.Errorf("%+v", r)
	}
	if r := callTool(t, begin(t, h, nil), "s", "asks", nil); string(r.body) != ActionDecline+" " {
		t.Errorf("nobody to ask: %q", r.body)
	}
	records, _ := c.End()
	if records[0].Approved != "" {
		t.Errorf("an elicitation is no approval: %+v", records[0])
	}
}
