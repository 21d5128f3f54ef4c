package hostfns

import (
	"context"
	"encoding/json"
	"log/slog"
	"testing"
)

// request makes a request frame.
func request(op uint32, head any, body ...byte) []byte {
	j, ok := head.(string)
	if !ok {
		b, err := json.Marshal(head)
		if err != nil {
			panic(err)
		}
		j = string(b)
	}
	return append(endHead(append(newFrame(op, len(j)), j...)), body...)
}

// reply is an answer, decoded.
type reply struct {
	code uint32
	body []byte

	ID      int             `json:"id"`
	Kind    ValueKind       `json:"kind"`
	Head    json.RawMessage `json:"head"`
	Blocks  []blockHead     `json:"blocks"`
	Handle  int             `json:"handle"`
	Of      string          `json:"of"`
	Len     int             `json:"len"`
	Size    int             `json:"size"`
	Preview string          `json:"preview"`
	errorHead
}

func decode(t testing.TB, answer []byte) *reply {
	t.Helper()
	code, head, body, err := parseFrame(answer)
	if err != nil {
		t.Fatalf("the answer is no frame: %v", err)
	}
	r := &reply{code: code, body: body}
	if err := json.Unmarshal(head, r); err != nil {
		t.Fatalf("the head of the answer %q: %v", head, err)
	}
	if code > answerError {
		t.Fatalf("answer has the code %d", code)
	}
	return r
}

type toolHead struct {
	Server string `json:"server"`
	Tool   string `json:"tool"`
	Args   any    `json:"args"`
}

type fnHead struct {
	Fn    string `json:"fn"`
	Args  any    `json:"args"`
	Queue *int   `json:"queue,omitempty"`
}

// callTool calls a tool and decodes the answer.
func callTool(t testing.TB, c *Calls, server, tool string, args any) *reply {
	t.Helper()
	return do(t, c, FnTool, toolHead{server, tool, args})
}

func do(t testing.TB, c *Calls, fn string, args any) *reply {
	t.Helper()
	return decode(t, c.Handle(context.Background(), request(OpCall, fnHead{Fn: fn, Args: args})))
}

func start(t testing.TB, c *Calls, queue int, fn string, args any) *reply {
	t.Helper()
	return decode(t, c.Handle(context.Background(), request(OpStart, fnHead{fn, args, &queue})))
}

// wait is OpWait; the answer of the call is nil when there is none.
func wait(t testing.TB, c *Calls, queue int, timeout int64) (id int, answer *reply) {
	t.Helper()
	r := decode(t, c.Handle(context.Background(), request(OpWait, map[string]any{"queue": queue, "timeout_ns": timeout})))
	if r.code != answerOK {
		t.Fatalf("wait: %s", r.Message)
	}
	if r.ID == 0 {
		return 0, nil
	}
	return r.ID, decode(t, r.body)
}

func wake(t testing.TB, c *Calls, queue int) *reply {
	t.Helper()
	return decode(t, c.Handle(context.Background(), request(OpWake, map[string]any{"queue": queue})))
}

func newHost(t testing.TB, o *Options) *Host {
	t.Helper()
	quiet := Options{}
	if o != nil {
		quiet = *o
	}
	if quiet.Logger == nil {
		quiet.Logger = slog.New(slog.DiscardHandler)
	}
	h, err := New(&quiet)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	return h
}

func begin(t testing.TB, h *Host, o *ExecOptions) *Calls {
	t.Helper()
	s := h.NewSession(nil)
	c := s.Begin(context.Background(), o)
	t.Cleanup(func() { c.End(); s.Close() })
	return c
}
