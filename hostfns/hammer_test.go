package hostfns

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestHammer does everything at once, and ends in the middle of it.
func TestHammer(t *testing.T) {
	p := NewTools("s")
	raw(p, "quick", func(_ context.Context, c *ToolCall) (*ToolResult, error) {
		c.Emit(Event{EventLog, json.RawMessage(`{}`)})
		return text("a result of more than ten bytes"), nil
	})
	raw(p, "slow", func(ctx context.Context, _ *ToolCall) (*ToolResult, error) {
		select {
		case <-time.After(time.Duration(rand.IntN(2000)) * time.Microsecond):
			return text("slow"), nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	})
	raw(p, "endless", func(ctx context.Context, _ *ToolCall) (*ToolResult, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	})
	raw(p, "panics", func(context.Context, *ToolCall) (*ToolResult, error) { panic("now") })
	raw(p, "asks", func(ctx context.Context, c *ToolCall) (*ToolResult, error) {
		if _, err := c.Ask(ctx, &Question{Message: "?"}); err != nil {
			return nil, err
		}
		return nil, nil
	})
	h := newHost(t, &Options{Providers: []Provider{p, adder()}, MaxInline: 10, MaxHandles: 1000,
		Policy: &Policy{MaxCalls: 5000, MaxParallel: 4, CallTimeout: 5 * time.Millisecond}})
	tools := []string{"quick", "slow", "endless", "panics", "asks", "none"}
	for range 5 {
		s := h.NewSession(nil)
		c := s.Begin(context.Background(), &ExecOptions{
			Emit:  func(Event) {},
			Pause: func(context.Context) func() { return func() {} },
			Ask: func(ctx context.Context, _ *Question) (*Reply, error) {
				select {
				case <-time.After(time.Millisecond):
					return &Reply{Action: ActionAccept}, nil
				case <-ctx.Done():
					return nil, ctx.Err()
				}
			},
		})
		var recorded atomic.Int64
		var all sync.WaitGroup
		for range 6 {
			all.Go(func() {
				for range 150 {
					queue := rand.IntN(3)
					var req []byte
					ctx, cancel := context.WithCancel(context.Background())
					switch tool := tools[rand.IntN(len(tools))]; rand.IntN(8) {
					case 0, 1, 2:
						req = request(OpStart, fnHead{FnTool, toolHead{"s", tool, nil}, &queue})
					case 3:
						req = request(OpCall, fnHead{Fn: FnTool, Args: toolHead{"s", tool, nil}})
						if rand.IntN(2) == 0 {
							time.AfterFunc(time.Duration(rand.IntN(1000))*time.Microsecond, cancel)
						}
					case 4:
						req = request(OpWait, fmt.Sprintf(`{"queue":%d,"timeout_ns":%d}`, queue, rand.IntN(1_000_000)))
					case 5:
						req = request(OpWake, fmt.Sprintf(`{"queue":%d}`, queue))
					case 6:
						req = request(OpCancel, fmt.Sprintf(`{"id":%d}`, rand.IntN(100)))
					case 7:
						req = request(OpCall, fnHead{Fn: FnRead, Args: map[string]int{"handle": rand.IntN(50)}})
					}
					_, _, is := Inspect(req)
					r := decode(t, c.Handle(ctx, req))
					if is && r.Message != errEnded.Error() {
						recorded.Add(1)
					}
					cancel()
				}
			})
		}
		time.AfterFunc(time.Duration(rand.IntN(40))*time.Millisecond, s.Close)
		all.Wait()
		s.Close()
		records, more := c.End()
		if n := len(records) + more; n != int(recorded.Load()) {
			t.Errorf("%d records, want %d", n, recorded.Load())
		}
		c.mu.Lock()
		if len(c.live) != 0 || c.running != 0 {
			t.Errorf("left over: %d calls, %d running", len(c.live), c.running)
		}
		c.mu.Unlock()
		s.handles.mu.Lock()
		if s.handles.total != 0 {
			t.Errorf("left over: %d bytes of handles", s.handles.total)
		}
		s.handles.mu.Unlock()
	}
}
