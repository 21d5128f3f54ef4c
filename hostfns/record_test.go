package hostfns

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
)

// TestInspect: what Inspect and Outcome say of frames is what End tells.
func TestInspect(t *testing.T) {
	h := newHost(t, &Options{Providers: []Provider{adder()}, Functions: map[string]Function{
		"f.ok":   func(context.Context, *FunctionCall) (*Value, error) { return nil, nil },
		"f.odd":  func(context.Context, *FunctionCall) (*Value, error) { return nil, &Error{Code: "Not A Code"} },
		"f.fail": func(context.Context, *FunctionCall) (*Value, error) { return nil, &Error{Code: CodeRateLimit} },
	}, Policy: &Policy{MaxCalls: 8, Functions: []string{"f.*"}}})
	c := begin(t, h, nil)
	var want []Record
	for _, head := range []string{
		`{"fn":"tools.call","args":{"server":"math","tool":"add","args":{"a":1,"b":2}}}`,
		`{"fn":"tools.call","args":{"server":"math","tool":"add"}}`,
		`{"fn":"tools.call","args":{"server":"ma\u0074h","tool":"nothing","args":[1]}}`,
		`{"fn":"tools.call","args":{"tool":"add"}}`,
		`{"fn":"tools.call","args":"nonsense"}`,
		`{"fn":"tools.call"}`,
		`{"fn":"f.ok","args":[1, 2]}`,
		`{"fn":"f.ok"}`,
		`{"fn":"f.odd"}`,
		`{"fn":"f.fail"}`,
		`{"fn":"g.unknown"}`,
		`{"fn":"tools.servers"}`, `{"fn":"tools.module","args":{}}`, `{"fn":"handle.read","args":{"handle":1}}`, `{"fn":"secrets.get"}`,
		`{"fn":7}`, `{`, ``, `{"fn":"` + strings.Repeat("x", 1000) + `"}`,
		`{"fn":"f.ok","args":1,"args":2,"fn":"f.fail"}`,
	} {
		for _, op := range []uint32{OpCall, OpStart, OpStart + 100} {
			if op == OpStart {
				head = strings.Replace(head, `{"fn"`, `{"queue":3,"fn"`, 1)
			}
			req := request(op, head)
			name, args, recorded := Inspect(req)
			answer := c.Handle(context.Background(), req)
			if recorded {
				if op == OpStart && Outcome(answer) == "ok" {
					r := decode(t, c.Handle(context.Background(), request(OpWait, `{"queue":3}`)))
					answer = r.body
				}
				want = append(want, Record{Name: name, Args: h.RecordArgs(args), Outcome: Outcome(answer), Bytes: len(answer)})
			}
			if op > OpCancel && recorded {
				t.Errorf("op %d is recorded", op)
			}
			// What is started and not recorded has to be collected as well.
			if op == OpStart && !recorded && Outcome(answer) == "ok" {
				wait(t, c, 3, -1)
			}
		}
	}
	if _, _, recorded := Inspect(request(OpStart, `{"fn":"f.ok"}`)); recorded {
		t.Error("a start without a queue is recorded")
	}
	got, more := c.End()
	if len(got) != len(want) || more != 0 {
		t.Fatalf("%d records, want %d", len(got), len(want))
	}
	for i := range want {
		got[i].Wall = 0
		g, w := jsonOf(got[i]), jsonOf(want[i])
		if string(g) != string(w) {
			t.Errorf("record %d is\n%s, want\n%s", i, g, w)
		}
	}
	for _, b := range [][]byte{nil, {1}, []byte("\x01\x00\x00\x00\x02\x00\x00\x00[]"), []byte("\x01\x00\x00\x00\x00\x00\x00\x00"),
		request(1, `{"code":"Not A Code"}`), request(7, `{"code":7}`)} {
		if got := Outcome(b); got != CodeServer {
			t.Errorf("outcome of %q is %q", b, got)
		}
	}
}

// TestResume: an execution that is run again goes on where it was, with the same numbers.
func TestResume(t *testing.T) { synctest.Test(t, testResume) }

func testResume(t *testing.T) {
	p := NewTools("s")
	g := newGate(p)
	raw(p, "quick", func(context.Context, *ToolCall) (*ToolResult, error) { return text("quick"), nil })
	h := newHost(t, &Options{Providers: []Provider{p}, Policy: &Policy{Approve: []string{"s.gate"}}})
	asked := make(chan *Question, 10)
	silent := &ExecOptions{Ask: func(ctx context.Context, q *Question) (*Reply, error) {
		asked <- q
		<-ctx.Done()
		return nil, ctx.Err()
	}}
	quick := toolHead{"s", "quick", nil}
	zero := 0
	requests := [][]byte{
		request(OpCall, fnHead{Fn: FnTool, Args: quick}),
		request(OpStart, fnHead{FnTool, quick, &zero}),
		request(OpWait, `{"queue":0}`),
		request(OpStart, fnHead{FnTool, quick, &zero}),
		request(OpStart, fnHead{FnServers, nil, &zero}),
		request(OpStart, fnHead{FnSecret, map[string]any{"name": "x"}, &zero}),
		request(OpStart, fnHead{FnTool, gateArgs("g"), &zero}),
	}
	first := begin(t, h, silent)
	var answers [][]byte
	for _, r := range requests {
		answers = append(answers, first.Handle(context.Background(), r))
	}
	q := <-asked
	synctest.Wait() // what does not wait for the person comes to its end
	kept, err := json.Marshal(first.Underway())
	if err != nil {
		t.Fatal(err)
	}
	first.End()

	var u Underway
	if err := json.Unmarshal(kept, &u); err != nil {
		t.Fatal(err)
	}
	who := &person{replies: []*Reply{{Action: ActionAccept}}}
	second := begin(t, h, who.options())
	for i, r := range requests {
		second.Replayed(r, answers[i])
	}
	second.Replayed(nil, nil) // nonsense does no harm
	second.Continue(&u)
	<-g.entered
	g.open("g")
	got := map[int]*reply{}
	for range 4 {
		id, r := wait(t, second, 0, -1)
		got[id] = r
	}
	if string(got[2].body) != "quick" || got[3].Kind != ValueJSON || got[4].Code != CodeUnavailable || string(got[5].body) != "g" {
		t.Errorf("answers %+v", got)
	}
	if who.asked[0].Call != q.Call {
		t.Errorf("the question is of call %d, before of %d", who.asked[0].Call, q.Call)
	}
	if id := start(t, second, 0, FnTool, quick).ID; id != 6 {
		t.Errorf("the next ID is %d", id)
	}
	wait(t, second, 0, -1)
	records, _ := second.End()
	if got := outcomes(records); got != "ok ok ok ok ok" || records[3].Name != "tools.s.gate" || records[3].Approved != ActionAccept {
		t.Errorf("%s, %+v", got, records)
	}

	// After the end it does nothing.
	first.Replayed(requests[0], answers[0])
	first.Continue(&u)

	// A call that was being made is lost: nobody knows whether it happened.
	third := begin(t, h, silent)
	for i, r := range requests {
		third.Replayed(r, answers[i])
	}
	third.Continue(&Underway{Done: map[int][]byte{3: answers[0], 4: answers[0]}, Running: []int{2, 5}})
	for range 4 {
		id, r := wait(t, third, 0, -1)
		if lost := id == 2 || id == 5; lost != (r.Code == CodeLost) {
			t.Errorf("call %d: %+v", id, r)
		}
	}
}
