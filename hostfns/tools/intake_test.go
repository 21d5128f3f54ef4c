package tools

import (
	"bufio"
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mayfly-run/mayfly/hostfns"
)

func TestIDScanner(t *testing.T) {
	long := strings.Repeat("9", 100)
	for text, want := range map[string]string{
		`{"jsonrpc":"2.0","id":17,"result":{"id":1}}`:        "17",
		`{"result":{"id":1,"a":[{"id":2}]}, "id" : "x\"y" }`: `"x\"y"`,
		`{"a":"\"id\":5","id":-3.5e2}`:                       "-3.5e2",
		`{"id":null}`:                                        "null",
		`{"id":{"id":1}}`:                                    "",
		`{"id":[1]}`:                                         "",
		`{"a":{"id":1}}`:                                     "",
		`["id",1]`:                                           "",
		`{"a":"id","b":1}`:                                   "",
		`{"id":` + long + `}`:                                "",
		`{"` + long + `":1,"id":2}`:                          "2",
		`{"id":1,"id":2}`:                                    "2",
		"\xff{":                                              "",
		`}}}}{"id":1}`:                                       "",
		`{"x":"` + strings.Repeat(`\\\"`, 1000) + `","id":8}`:     "8",
		`{"method":"m","id":9,"params":{"a":"` + long + `"}}  `:   "9",
		`{"params":{"method":1},"id":9,"b":"` + long + `\u0041"}`: "9",
	} {
		for _, size := range []int{1, 3, 1 << 20} {
			var s idScanner
			for p := []byte(text); len(p) > 0; {
				n := min(size, len(p))
				s.feed(p[:n])
				p = p[n:]
			}
			if string(s.id) != want || s.method != strings.HasPrefix(text, `{"method"`) {
				t.Errorf("%.100s: %q, %v", text, s.id, s.method)
			}
		}
	}
}

func FuzzIDScanner(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","id":17,"result":{"a":[1,"b\"",{}]}}`))
	f.Add([]byte(`{"a":{"id":1},"id":"x"}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var s, bytewise idScanner
		s.feed(text)
		for i := range text {
			bytewise.feed(text[i : i+1])
		}
		if !bytes.Equal(s.id, bytewise.id) || s.method != bytewise.method {
			t.Fatalf("%q: %q and %q", text, s.id, bytewise.id)
		}
		var m map[string]json.RawMessage
		if json.Unmarshal(text, &m) != nil {
			return
		}
		if id := m["id"]; len(id) > 0 && len(id) < maxID && id[0] != '{' && id[0] != '[' && bytes.Count(text, []byte("id")) == 1 &&
			!bytes.Contains(text, []byte(`\u`)) && !bytes.Equal(s.id, id) {
			t.Fatalf("%q: %q, not %q", text, s.id, id)
		}
	})
}

func TestReadFrame(t *testing.T) {
	r := bufio.NewReaderSize(strings.NewReader(strings.Repeat("a", 100)+"\n"+`{"id":5,"b":"`+strings.Repeat("c", 1000)+"\"}\nlast"), 16)
	frame, scan, err := readFrame(r, 200)
	if len(frame) != 101 || scan != nil || err != nil {
		t.Errorf("%q, %v, %v", frame, scan, err)
	}
	frame, scan, err = readFrame(r, 200)
	if frame != nil || scan == nil || string(scan.id) != "5" || err != nil {
		t.Errorf("%q, %+v, %v", frame, scan, err)
	}
	frame, scan, err = readFrame(r, 200)
	if string(frame) != "last" || scan != nil || err == nil {
		t.Errorf("%q, %+v, %v", frame, scan, err)
	}
}

// FuzzIntake makes sure that what is passed on never ends the connection.
func FuzzIntake(f *testing.F) {
	for _, text := range []string{
		`{"jsonrpc":"2.0","id":1,"result":{}}`, `{"jsonrpc":"2.0","id":1,"error":{"code":"x"}}`, `[{"jsonrpc":"2.0","id":2,"method":"ping"}]`,
		`{"jsonrpc":"2.0","id":"a","method":"elicitation/create","params":{"requestedSchema":{},"_meta":[]}}`,
		`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}`,
		`{"jsonrpc":"2.0","method":"notifications/message","params":{"data":{}}}`, `{"jsonrpc":"2.0","id":[1],"method":5}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, frame []byte) {
		in := newIntake("x", 1<<20, quiet)
		x := &exchange{events: newBucket(10, 1), call: &hostfns.ToolCall{Tool: "t", Emit: func(e hostfns.Event) {
			if !json.Valid(e.Data) {
				t.Fatalf("%q", e.Data)
			}
		}}}
		in.expect("1", x)
		in.begin(x, 1)
		for _, m := range in.take(frame) {
			if _, err := jsonrpc.DecodeMessage(m); err != nil {
				t.Fatalf("%q was passed on as %q: %v", frame, m, err)
			}
			if bytes.ContainsRune(m, '\n') && !bytes.ContainsRune(frame, '\n') {
				t.Fatalf("%q was passed on as %q", frame, m)
			}
		}
		if o := x.finish(); o.result != nil {
			_, _ = readResult(o.result)
			_ = readTool(o.result)
		}
	})
}

func FuzzResult(f *testing.F) {
	f.Add([]byte(`{"content":[{"type":"text","text":"a"},{"type":"image","data":"AAA=","mimeType":"x"},{"type":"resource","resource":{"blob":"_-"}}],"structuredContent":{"a":1}}`))
	f.Add([]byte(`{"name":"a","inputSchema":{"type":"object"},"annotations":{"title":"x","readOnlyHint":true}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if r, err := readResult(raw); err == nil && r.Structured != nil && !json.Valid(r.Structured) {
			t.Fatalf("%q became %q", raw, r.Structured)
		}
		if tool := readTool(raw); tool != nil {
			if _, err := json.Marshal(tool); err != nil {
				t.Fatalf("%q: %v", raw, err)
			}
		}
	})
}

func TestBucket(t *testing.T) {
	b := newBucket(3, 2)
	now := time.Now()
	for i, want := range []bool{true, true, true, false, false} {
		if b.takeAt(now) != want {
			t.Errorf("%d", i)
		}
	}
	now = now.Add(time.Second)
	for i, want := range []bool{true, true, false} {
		if b.takeAt(now) != want {
			t.Errorf("a second later: %d", i)
		}
	}
	if b.dropped() != 3 {
		t.Errorf("%+v", b)
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"": 0, "7": 7 * time.Second, " 8 ": 8 * time.Second, "-1": 0, "99999999": 24 * time.Hour, "x": 0,
		"Fri, 02 Jan 2026 03:05:05 GMT": time.Minute, "Fri, 02 Jan 2026 03:00:00 GMT": 0,
	} {
		if got := retryAfter(value, now); got != want {
			t.Errorf("%q: %s", value, got)
		}
	}
}

func TestTail(t *testing.T) {
	var p tail
	readLines(strings.NewReader("a\n\n"+strings.Repeat("b", 3*maxLogLine)+"\nc\xff\r\nlast"), p.add)
	if got := p.String(); got != "a\n"+strings.Repeat("b", tailLine-3)+"...\nc\ufffd\nlast" {
		t.Errorf("%q", got)
	}
	for range 100 {
		p.add(strings.Repeat("x", 2000))
	}
	if n := len(p.String()); n > tailInError || n < tailInError/2 {
		t.Errorf("%d bytes", n)
	}
}

func TestManyElements(t *testing.T) {
	in := newIntake("x", 1<<30, quiet)
	zeros := "[0" + strings.Repeat(",0", maxBlocks) + "]"
	if out := in.take([]byte(zeros)); out != nil {
		t.Errorf("%d messages", len(out))
	}
	if r, err := readResult([]byte(`{"content":` + zeros + `}`)); err == nil {
		t.Errorf("%d blocks", len(r.Content))
	}
	if _, err := elements([]byte("[1,2]"), 2); err != nil {
		t.Error(err)
	}
	for _, bad := range []string{"{}", "[", "[1,]", "1"} {
		if _, err := elements([]byte(bad), 2); err == nil {
			t.Errorf("%s is no list", bad)
		}
	}
	big := strings.Repeat("x", maxRequest)
	if out := in.take([]byte(`{"jsonrpc":"2.0","id":"a","method":"ping","params":{"x":"` + big + `"}}`)); out != nil {
		t.Error("the request is not too large")
	}
	if out := in.take([]byte(`{"jsonrpc":"2.0","id":1,"result":{"x":"` + big + `"}}`)); len(out) != 1 || !bytes.Contains(out[0], []byte("larger")) {
		t.Errorf("%.100q", out)
	}
}
