package hostfns

import (
	"context"
	"testing"
	"time"
)

// TestProcesses: copies of the guest have queues of their own, and share the budget.
func TestProcesses(t *testing.T) {
	tools := NewTools("t")
	AddTool(tools, Tool{Name: "echo"}, func(_ context.Context, in struct {
		Text string `json:"text"`
	}) (string, error) {
		return in.Text, nil
	})
	h, err := New(&Options{Providers: []Provider{tools}, Policy: &Policy{MaxCalls: 3}})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	s := h.NewSession(nil)
	defer s.Close()
	c := s.Begin(t.Context(), nil)
	defer c.End()
	start := func(text string) []byte {
		head := `{"fn":"tools.call","queue":1,"args":{"server":"t","tool":"echo","args":{"text":"` + text + `"}}}`
		return endFrame(OpStart, head)
	}
	wait := endFrame(OpWait, `{"queue":1,"timeout_ns":-1}`)
	one, two := c.Process(), c.Process()
	for _, p := range []struct {
		text   string
		handle func(context.Context, []byte) []byte
	}{{"main", c.Handle}, {"one", one}, {"two", two}} {
		if id := frameID(p.handle(t.Context(), start(p.text))); id == 0 {
			t.Fatalf("%s: not started", p.text)
		}
	}
	for want, handle := range map[string]func(context.Context, []byte) []byte{"two": two, "one": one, "main": c.Handle} {
		_, _, answer, err := parseFrame(handle(t.Context(), wait))
		if err != nil {
			t.Fatal(err)
		}
		if _, _, body, err := parseFrame(answer); err != nil || string(body) != want && string(body) != `"`+want+`"` {
			t.Errorf("%q instead of %q, %v", body, want, err)
		}
	}
	if answer := one(t.Context(), start("more")); Outcome(answer) != CodeBudget {
		t.Errorf("beyond the budget of all together: %s", Outcome(answer))
	}
	// A wake-up is for the process that it is of.
	done := make(chan int, 1)
	go func() { done <- frameID(one(context.Background(), wait)) }()
	two(t.Context(), endFrame(OpWake, `{"queue":1}`))
	select {
	case id := <-done:
		t.Errorf("another process's wake-up ended the wait: %d", id)
	case <-time.After(10 * time.Millisecond):
	}
	one(t.Context(), endFrame(OpWake, `{"queue":1}`))
	if id := <-done; id != 0 {
		t.Errorf("woken with call %d", id)
	}
}

// TestOwnTime: functions that bound their own time are not bound by the policy.
func TestOwnTime(t *testing.T) {
	wait := func(ctx context.Context, _ *FunctionCall) (*Value, error) {
		_, limited := ctx.Deadline()
		select {
		case <-ctx.Done():
			limited = true
		case <-time.After(30 * time.Millisecond):
		}
		if limited {
			return nil, ctx.Err()
		}
		return &Value{Kind: ValueNone}, nil
	}
	h, err := New(&Options{
		Functions: map[string]Function{"own": wait, "other": wait}, OwnTime: []string{"own"},
		Policy: &Policy{CallTimeout: time.Millisecond},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	s := h.NewSession(nil)
	defer s.Close()
	c := s.Begin(t.Context(), nil)
	defer c.End()
	for fn, want := range map[string]string{"own": outcomeOK, "other": CodeTimeout} {
		if got := Outcome(c.Handle(t.Context(), endFrame(OpCall, `{"fn":"`+fn+`"}`))); got != want {
			t.Errorf("%s: %s instead of %s", fn, got, want)
		}
	}
}

// endFrame is a whole request.
func endFrame(op uint32, head string) []byte {
	b := newFrame(op, len(head))
	return endHead(append(b, head...))
}
