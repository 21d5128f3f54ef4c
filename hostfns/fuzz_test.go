package hostfns

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"log/slog"
	"testing"

	"github.com/mayfly-run/mayfly/hostfns/secrets"
)

// FuzzHandle sends frames that are cut out of the input, each with a length of two bytes before it, to an execution with tools
// behind it.
func FuzzHandle(f *testing.F) {
	frames := func(all ...[]byte) (out []byte) {
		for _, b := range all {
			out = append(binary.LittleEndian.AppendUint16(out, uint16(len(b))), b...)
		}
		return out
	}
	add := `"tools.call","args":{"server":"math","tool":"add","args":{"a":1,"b":2}}`
	f.Add(frames(request(OpCall, `{"fn":`+add+`}`)))
	f.Add(frames(request(OpStart, `{"queue":1,"fn":`+add+`}`), request(OpWait, `{"queue":1}`), request(OpCancel, `{"id":1}`), request(OpWake, `{"queue":1}`)))
	f.Add(frames(request(OpCall, `{"fn":"tools.call","args":{"server":"big","tool":"list-orders","args":{"customer":"{{secret:K}}"}}}`),
		request(OpCall, `{"fn":"handle.read","args":{"handle":1,"start":-3}}`), request(OpCall, `{"fn":"handle.close","args":{"handle":1}}`)))
	for _, fn := range []string{FnServers, FnModule, FnSpec, FnSearch, FnDescribe, FnSecret, FnRead, "f.echo"} {
		f.Add(frames(request(OpCall, `{"fn":"`+fn+`","args":{"server":"math","names":["add"],"query":"x","tool":"math.add","name":"K"}}`, 1, 2)))
	}
	big := NewTools("big")
	for _, d := range shop("big").tools {
		big.Add(*d, func(_ context.Context, c *ToolCall) (*ToolResult, error) {
			return &ToolResult{Structured: wrap([]byte(`["0123456789012345678901234567890123456789",` + string(c.Args) + `]`))}, nil
		})
	}
	set, err := secrets.New(context.Background(), []secrets.Spec{{Name: "K", Value: "hunter2hunter2", Allow: []string{"tool:big.*"}}})
	if err != nil {
		f.Fatal(err)
	}
	h, err := New(&Options{
		Providers: []Provider{adder(), big}, Secrets: set, MaxInline: 40, MaxHandles: 1000, Logger: slog.New(slog.DiscardHandler),
		Policy: &Policy{MaxCalls: 20, MaxBytes: 10_000, MaxParallel: 2, Deny: []string{"big.class"}, Approve: []string{"big.cancel*"}},
		Functions: map[string]Function{"f.echo": func(_ context.Context, c *FunctionCall) (*Value, error) {
			return &Value{Kind: ValueJSON, Data: c.Args, Head: c.Args}, nil
		}},
	})
	if err != nil {
		f.Fatal(err)
	}
	done, cancel := context.WithCancel(context.Background())
	cancel()
	f.Fuzz(func(t *testing.T, data []byte) {
		s := h.NewSession(nil)
		defer s.Close()
		c := s.Begin(context.Background(), &ExecOptions{Ask: func(context.Context, *Question) (*Reply, error) {
			return &Reply{Action: ActionAccept, Always: true}, nil
		}})
		recorded := 0
		for len(data) >= 2 {
			n := min(int(binary.LittleEndian.Uint16(data)), len(data)-2)
			frame := data[2 : 2+n]
			data = data[2+n:]
			ctx := context.Background()
			if len(frame) > 0 && frame[0] == OpWait {
				ctx = done // for ever is too long
			}
			name, args, is := Inspect(frame)
			if is {
				recorded++
				if a := h.RecordArgs(args); name == "" || !json.Valid(a) {
					t.Errorf("recorded as %q %q", name, a)
				}
			}
			answer := c.Handle(ctx, frame)
			_, head, body, err := parseFrame(answer)
			if err != nil || !validObject(head) {
				t.Fatalf("answer %q to %q", answer, frame)
			}
			var r reply
			if json.Unmarshal(head, &r) != nil || r.Kind == ValueJSON && !json.Valid(body) {
				t.Fatalf("answer %q to %q", answer, frame)
			}
			if Outcome(answer) == "" {
				t.Errorf("no outcome of %q", answer)
			}
		}
		records, more := c.End()
		if len(records)+more != recorded {
			t.Errorf("%d records, %d more, want %d", len(records), more, recorded)
		}
	})
}
