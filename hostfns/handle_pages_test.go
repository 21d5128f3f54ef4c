package hostfns

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestBlocksHandle(t *testing.T) {
	big := bytes.Repeat([]byte{1}, MaxPage-100)
	c := begin(t, resultHost(t, Options{MaxInline: 100}, map[string]*ToolResult{
		"one": {Content: []Block{{Type: BlockImage, Data: big}}},
		"two": {Content: []Block{{Type: BlockImage, Data: big, MIMEType: "image/png"}, {Type: BlockText, Text: "more than one page"}}},
	}), nil)
	if r := callTool(t, c, "s", "one", nil); r.Kind != ValueBlocks || len(r.body) != len(big) {
		t.Errorf("%+v", r)
	}
	r := callTool(t, c, "s", "two", nil)
	if r.Kind != ValueHandle || r.Of != "list" || r.Len != 2 || !strings.Contains(r.Preview, "image/png") {
		t.Fatalf("%+v", r)
	}
	if got := read(t, c, map[string]any{"handle": r.Handle, "index": 1}); got.Kind != ValueBlocks || string(got.body) != "more than one page" {
		t.Errorf("%+v", got)
	}
	if got := read(t, c, map[string]any{"handle": r.Handle, "start": 0, "stop": 1}); len(got.body) != len(big) {
		t.Errorf("%+v", got)
	}
	if got := read(t, c, map[string]any{"handle": r.Handle, "all": true}); got.Code != CodeTooLarge {
		t.Errorf("%+v", got)
	}
	if got := read(t, c, map[string]any{"handle": r.Handle, "all": true, "page": true}); len(got.Blocks) != 1 || string(got.Head) != `{"start":0,"stop":1}` {
		t.Errorf("%+v", got)
	}
}

// TestPages: what is larger than a page is refused, or read page by page.
func TestPages(t *testing.T) {
	long := strings.Repeat("\U0001f40cabc", MaxPage/4)
	var list bytes.Buffer
	list.WriteByte('[')
	for i := range 40 {
		if i > 0 {
			list.WriteString(" , ")
		}
		fmt.Fprintf(&list, `"%s"`, strings.Repeat("x", 1<<20-i*100_000%(1<<20)))
	}
	list.WriteByte(']')
	dict := append([]byte{'{'}, bytes.ReplaceAll(list.Bytes()[1:list.Len()-1], []byte(`"xxxxx`), []byte(`"key`+strings.Repeat("k", 300_000)+`":"xxxxx`))...)
	dict = append(dict, '}')
	for name, tc := range map[string]struct {
		v    *Value
		join func(parts [][]byte) []byte
	}{
		"text":  {&Value{Kind: ValueText, Data: []byte(long)}, func(p [][]byte) []byte { return bytes.Join(p, nil) }},
		"bytes": {&Value{Kind: ValueBytes, Data: []byte(long)}, func(p [][]byte) []byte { return bytes.Join(p, nil) }},
		"list":  {&Value{Kind: ValueJSON, Data: list.Bytes()}, joinJSON},
		"dict":  {&Value{Kind: ValueJSON, Data: dict}, joinJSON},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHandles(1<<30, 100)
			id := offer(t, h, tc.v)
			if _, e := h.read(jsonOf(map[string]any{"handle": id, "all": true})); e == nil || e.Code != CodeTooLarge {
				t.Fatalf("%v", e)
			}
			n := h.byID[id].src.len()
			var parts [][]byte
			for at := 0; at < n; {
				f, e := h.read(jsonOf(map[string]any{"handle": id, "start": at, "page": true}))
				if e != nil {
					t.Fatal(e)
				}
				r := decode(t, f)
				var head struct{ Start, Stop int }
				if err := json.Unmarshal(r.Head, &head); err != nil || head.Start != at || head.Stop <= at || len(r.body) > MaxPage+2 {
					t.Fatalf("page %+v from %d, %d bytes", head, at, len(r.body))
				}
				if head.Stop < n && len(r.body) < MaxPage/2 {
					t.Errorf("a page of %d bytes", len(r.body))
				}
				parts, at = append(parts, r.body), head.Stop
			}
			if len(parts) < 2 || !bytes.Equal(tc.join(parts), tc.join([][]byte{tc.v.Data})) {
				t.Errorf("%d pages do not make up the whole", len(parts))
			}
			if name == "dict" {
				f, e := h.read(jsonOf(map[string]any{"handle": id, "keys": true, "page": true}))
				if e != nil {
					t.Fatal(e)
				}
				var keys []string
				if err := json.Unmarshal(decode(t, f).body, &keys); err != nil || len(keys) != 40 {
					t.Errorf("%d keys, %v", len(keys), err)
				}
			}
		})
	}
}

func joinJSON(parts [][]byte) []byte {
	var out []byte
	for i, p := range parts {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, p[1:len(p)-1]...)
	}
	return bytes.ReplaceAll(out, []byte(" , "), []byte(","))
}

func TestHandlesAreBounded(t *testing.T) {
	h := newHandles(10_000, 100)
	v := func(n int) *Value { return &Value{Kind: ValueText, Data: bytes.Repeat([]byte("x"), n)} }
	known := func(id int) bool {
		_, e := h.read(jsonOf(map[string]any{"handle": id, "stop": 1}))
		if e != nil && e.Code != CodeHandle {
			t.Fatal(e)
		}
		return e == nil
	}
	a, b := offer(t, h, v(4000)), offer(t, h, v(4000))
	c := offer(t, h, v(4000))
	if known(a) || !known(b) || !known(c) {
		t.Errorf("kept: %v %v %v", known(a), known(b), known(c))
	}
	for range 2 { // closing twice is no error
		if _, e := h.close(jsonOf(map[string]int{"handle": b})); e != nil {
			t.Error(e)
		}
	}
	d := offer(t, h, v(6000))
	if known(b) || !known(c) || !known(d) {
		t.Errorf("kept: %v %v %v", known(b), known(c), known(d))
	}
	if _, e := h.offer(v(10_001)); e == nil || e.Code != CodeTooLarge || !known(d) {
		t.Errorf("%v", e)
	}
	// Handles of parts share their memory; it is kept until the last of them is gone.
	outer := offer(t, h, &Value{Kind: ValueJSON, Data: []byte(`{"a":{"b":"` + strings.Repeat("x", 5000) + `"}}`)})
	total := h.total
	f, e := h.read(jsonOf(map[string]any{"handle": outer, "key": "a"}))
	if e != nil {
		t.Fatal(e)
	}
	inner := decode(t, f).Handle
	if h.total != total {
		t.Errorf("%d bytes after %d", h.total, total)
	}
	_, _ = h.close(jsonOf(map[string]int{"handle": outer}))
	if !known(inner) || known(outer) || h.total != total {
		t.Errorf("inner: %v, outer: %v, %d bytes", known(inner), known(outer), h.total)
	}
	_, _ = h.close(jsonOf(map[string]int{"handle": inner}))
	if h.total != 0 && !known(d) {
		t.Errorf("%d bytes of nothing", h.total)
	}
	for range 3 * maxHandles {
		offer(t, h, v(1))
	}
	if len(h.byID) > maxHandles || len(h.order) > 2*maxHandles+1 {
		t.Errorf("%d handles, %d in order", len(h.byID), len(h.order))
	}
	for range 3 * maxHandles {
		_, _ = h.close(jsonOf(map[string]int{"handle": offer(t, h, v(1))}))
	}
	if len(h.order) > 2*maxHandles+1 {
		t.Errorf("%d handles, %d in order", len(h.byID), len(h.order))
	}
	h.clear()
	if _, e := h.offer(v(1)); e == nil {
		t.Error("a closed session keeps handles")
	}
}

func TestReadNonsense(t *testing.T) {
	c := begin(t, resultHost(t, Options{MaxInline: 10}, map[string]*ToolResult{"t": text("more than ten bytes")}), nil)
	r := callTool(t, c, "s", "t", nil)
	for _, args := range []any{nil, 7, map[string]any{"handle": "1"}, map[string]any{"handle": r.Handle, "start": 1.5},
		map[string]any{"handle": r.Handle, "key": "x"}, map[string]any{"handle": r.Handle, "start": "0"}} {
		if got := do(t, c, FnRead, args); got.code != answerError || got.Code != CodeRequest && args != nil {
			t.Errorf("%v: %+v", args, got)
		}
	}
	if got := read(t, c, map[string]any{"handle": r.Handle + 1}); got.Code != CodeHandle {
		t.Errorf("%+v", got)
	}
	if got := read(t, c, map[string]any{"handle": r.Handle, "start": -1 << 62, "stop": 1 << 62}); string(got.body) != "more than ten bytes" {
		t.Errorf("%+v", got)
	}
}

// FuzzSources: whatever valid JSON a server returns, its parts are valid and make up the whole.
func FuzzSources(f *testing.F) {
	for _, s := range []string{`[]`, `{}`, `[1,"a\"]",{"b":[]}]`, ` { "a" : 1 , "\u0061" : [ ] } `, `[[[[]]],"",null,true,-1.5e3]`, `"text"`, `"\ud800ö"`, `7`} {
		f.Add([]byte(s), 1, 2)
	}
	f.Fuzz(func(t *testing.T, data []byte, start, stop int) {
		if !json.Valid(data) {
			if ts := newTextSource([]byte(strings.ToValidUTF8(string(data), "\ufffd"))); ts.len() > 0 {
				a, b := bounds(&start, &stop, ts.len())
				v, _, _ := ts.slice(a, b, false)
				if want := string([]rune(string(ts.data))[a:b]); string(v.Data) != want {
					t.Errorf("[%d:%d] is %q, want %q", a, b, v.Data, want)
				}
			}
			return
		}
		hd := newHandle(&Value{Kind: ValueJSON, Data: data})
		if hd == nil {
			return
		}
		n := hd.src.len()
		a, b := bounds(&start, &stop, n)
		v, end, e := hd.src.slice(a, b, false)
		if e != nil || end != b {
			t.Fatal(e, end)
		}
		switch hd.of {
		case "text":
			if !utf8.Valid(v.Data) {
				t.Errorf("%q is no UTF-8", v.Data)
			}
		case "list":
			var all, part []json.RawMessage
			if json.Unmarshal(data, &all) != nil || json.Unmarshal(v.Data, &part) != nil || len(all) != n || len(part) != b-a {
				t.Fatalf("[%d:%d] of %d (%d) is %q", a, b, n, len(all), v.Data)
			}
			for i := range part {
				if !bytes.Equal(part[i], all[a+i]) {
					t.Errorf("item %d: %q, want %q", a+i, part[i], all[a+i])
				}
			}
		case "dict":
			var all map[string]json.RawMessage
			if json.Unmarshal(data, &all) != nil || !json.Valid(v.Data) {
				t.Fatalf("[%d:%d] is %q", a, b, v.Data)
			}
			for k, want := range all {
				if got := hd.src.(*dictSource).get(k); utf8.ValidString(k) && !strings.Contains(k, "\ufffd") && !bytes.Equal(got, want) {
					t.Errorf("%q: %q, want %q", k, got, want)
				}
			}
		}
	})
}

func BenchmarkHandleSlice(b *testing.B) {
	h := newHandles(1<<30, 100)
	id := offer(b, h, &Value{Kind: ValueText, Data: []byte(strings.Repeat("aöb\U0001f40c", 4<<20))})
	args := jsonOf(map[string]any{"handle": id, "start": 9_000_000, "stop": 9_001_000})
	b.ReportAllocs()
	for b.Loop() {
		if _, e := h.read(args); e != nil {
			b.Fatal(e)
		}
	}
}
