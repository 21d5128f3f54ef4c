package hostfns

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
)

// resultHost has a tool that returns whatever value results has.
func resultHost(t testing.TB, o Options, results map[string]*ToolResult) *Host {
	t.Helper()
	p := NewTools("s")
	for name, r := range results {
		def := Tool{Name: name}
		if r.Structured != nil && bytes.HasPrefix(r.Structured, []byte(`{"result"`)) {
			def.OutputSchema = json.RawMessage(`{"type":"object","properties":{"result":{}},"required":["result"]}`)
		}
		p.Add(def, func(context.Context, *ToolCall) (*ToolResult, error) { return r, nil })
	}
	o.Providers = append(o.Providers, p)
	return newHost(t, &o)
}

func read(t testing.TB, c *Calls, args map[string]any) *reply {
	t.Helper()
	return do(t, c, FnRead, args)
}

func wrapped(v any) *ToolResult { return &ToolResult{Structured: wrap(jsonOf(v))} }

// pySlice is text[start:stop] of Python.
func pySlice[T any](s []T, start, stop *int) []T {
	n := len(s)
	at := func(p *int, or int) int {
		if p == nil {
			return or
		}
		i := *p
		if i < 0 {
			i += n
		}
		return max(0, min(i, n))
	}
	a, b := at(start, 0), at(stop, n)
	if a >= b {
		return nil
	}
	return s[a:b]
}

func TestTextHandle(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	alphabets := map[string][]rune{"ascii": []rune("abc \n"), "latin": []rune("aöé"), "wide": []rune("a\u20ac\U0001f40c\u0301"), "all wide": []rune("\U0001f40c")}
	for name, alphabet := range alphabets {
		t.Run(name, func(t *testing.T) {
			runes := make([]rune, 5000)
			for i := range runes {
				runes[i] = alphabet[rnd.IntN(len(alphabet))]
			}
			c := begin(t, resultHost(t, Options{MaxInline: 100}, map[string]*ToolResult{
				"plain": text(string(runes)), "json": wrapped(string(runes)),
			}), nil)
			for _, tool := range []string{"plain", "json"} {
				r := callTool(t, c, "s", tool, nil)
				if r.Kind != ValueHandle || r.Of != "text" || r.Len != len(runes) || r.Preview == "" || len(r.Preview) > maxPreview {
					t.Fatalf("%s: %+v", tool, r)
				}
				for range 300 {
					args := map[string]any{"handle": r.Handle}
					bound := func(name string) *int {
						if rnd.IntN(6) == 0 {
							return nil
						}
						i := rnd.IntN(2*len(runes)+200) - len(runes) - 100
						args[name] = i
						return &i
					}
					start, stop := bound("start"), bound("stop")
					got := read(t, c, args)
					if want := string(pySlice(runes, start, stop)); got.Kind != ValueText || string(got.body) != want {
						t.Fatalf("%v: %d bytes, want %d", args, len(got.body), len(want))
					}
				}
				if got := read(t, c, map[string]any{"handle": r.Handle, "all": true, "start": 5}); string(got.body) != string(runes) {
					t.Error("all of it is something else")
				}
			}
		})
	}
}

func TestBytesHandle(t *testing.T) {
	// Tools have no plain bytes, so this is below them.
	data := bytes.Repeat([]byte{0, 255, 128, 7}, 1000)
	h := newHandles(1<<20, 100)
	id := offer(t, h, &Value{Kind: ValueBytes, Data: data})
	for _, tc := range []struct{ start, stop, from, to int }{{0, 4000, 0, 4000}, {-3, 5000, 3997, 4000}, {10, 5, 0, 0}, {-5000, 2, 0, 2}} {
		f, e := h.read(jsonOf(map[string]int{"handle": id, "start": tc.start, "stop": tc.stop}))
		if e != nil {
			t.Fatal(e)
		}
		if r := decode(t, f); r.Kind != ValueBytes || !bytes.Equal(r.body, data[tc.from:tc.to]) {
			t.Errorf("%+v: %d bytes", tc, len(r.body))
		}
	}
}

func offer(t testing.TB, h *handles, v *Value) int {
	t.Helper()
	f, e := h.offer(v)
	if e != nil {
		t.Fatal(e)
	}
	return decode(t, f).Handle
}

func TestListHandle(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	var items []any
	for i := range 3000 {
		switch rnd.IntN(7) {
		case 0:
			items = append(items, strings.Repeat(`"],[{\`, rnd.IntN(40)))
		case 1:
			items = append(items, map[string]any{"a": []any{i, nil}, "}": "]"})
		case 2:
			items = append(items, nil)
		case 3:
			items = append(items, []any{})
		default:
			items = append(items, float64(i)/3)
		}
	}
	indented, err := json.MarshalIndent(items, "\n\t ", " ")
	if err != nil {
		t.Fatal(err)
	}
	c := begin(t, resultHost(t, Options{MaxInline: 100}, map[string]*ToolResult{
		"compact": wrapped(items), "spaced": {Structured: wrap(indented)},
	}), nil)
	for _, tool := range []string{"compact", "spaced"} {
		r := callTool(t, c, "s", tool, nil)
		if r.Kind != ValueHandle || r.Of != "list" || r.Len != len(items) {
			t.Fatalf("%s: %+v", tool, r)
		}
		for range 300 {
			a, b := rnd.IntN(3200)-100, rnd.IntN(3200)-100
			got := read(t, c, map[string]any{"handle": r.Handle, "start": a, "stop": b})
			var l []any
			if err := json.Unmarshal(got.body, &l); err != nil {
				t.Fatalf("[%d:%d]: %v in %.100q", a, b, err, got.body)
			}
			if want := pySlice(items, &a, &b); len(l) != len(want) || len(want) > 0 && !reflect.DeepEqual(roundTrip(t, l), roundTrip(t, want)) {
				t.Fatalf("[%d:%d] has %d items, want %d", a, b, len(l), len(want))
			}
		}
		for range 100 {
			i := rnd.IntN(3000)
			got := read(t, c, map[string]any{"handle": r.Handle, "index": i - 3000*(i%2)})
			var v any
			if got.Kind == ValueHandle { // a long text
				got = read(t, c, map[string]any{"handle": got.Handle})
				v = string(got.body)
			} else if err := json.Unmarshal(got.body, &v); err != nil {
				t.Fatalf("[%d]: %+v", i, got)
			}
			if !reflect.DeepEqual(v, roundTrip(t, items[i])) {
				t.Fatalf("[%d] is %v, want %v", i, v, items[i])
			}
		}
		for _, i := range []int{3000, -3001} {
			if got := read(t, c, map[string]any{"handle": r.Handle, "index": i}); got.code != answerOK || got.Kind != ValueNone {
				t.Errorf("[%d]: %+v", i, got)
			}
		}
		if got := read(t, c, map[string]any{"handle": r.Handle, "key": "a"}); got.Code != CodeRequest {
			t.Errorf("a key of a list: %+v", got)
		}
	}
}

func roundTrip(t testing.TB, v any) (out any) {
	t.Helper()
	if err := json.Unmarshal(jsonOf(v), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestDictHandle(t *testing.T) {
	d := map[string]any{}
	for i := range 500 {
		d[fmt.Sprintf("key %d", i)] = []any{float64(i), strings.Repeat("x", i%50)}
	}
	d[`quo"ted\ö`] = "q"
	d["null"] = nil
	d["large"] = strings.Repeat("ö", 1000)
	d["deep"] = map[string]any{"list": make([]int, 500)}
	c := begin(t, resultHost(t, Options{MaxInline: 1000}, map[string]*ToolResult{
		"d": {Structured: jsonOf(d)}, "twice": {Structured: json.RawMessage(`{"a":1, "pad": "` + strings.Repeat("x", 1000) + `", "a" : 2}`)},
	}), nil)
	r := callTool(t, c, "s", "d", nil)
	if r.Kind != ValueHandle || r.Of != "dict" || r.Len != len(d) {
		t.Fatalf("%+v", r)
	}
	for k, v := range d {
		got := read(t, c, map[string]any{"handle": r.Handle, "key": k})
		if k == "large" {
			if got.Kind != ValueHandle || got.Of != "text" || got.Len != 1000 {
				t.Errorf("%s: %+v", k, got)
			}
			continue
		}
		if k == "deep" {
			list := read(t, c, map[string]any{"handle": got.Handle, "key": "list"})
			if got.Kind != ValueHandle || got.Of != "dict" || list.Kind != ValueHandle || list.Of != "list" || list.Len != 500 {
				t.Errorf("%s: %+v, %+v", k, got, list)
			}
			if item := read(t, c, map[string]any{"handle": list.Handle, "start": 498}); string(item.body) != "[0,0]" {
				t.Errorf("%s", item.body)
			}
			continue
		}
		if want := string(jsonOf(v)); got.Kind != ValueJSON || string(got.body) != want {
			t.Errorf("%s: %+v %s, want %s", k, got, got.body, want)
		}
	}
	if got := read(t, c, map[string]any{"handle": r.Handle, "key": "none"}); got.code != answerOK || got.Kind != ValueNone {
		t.Errorf("no such key: %+v", got)
	}
	whole := map[string]any{}
	for i := 0; i < r.Len; i += 100 {
		part := read(t, c, map[string]any{"handle": r.Handle, "start": i, "stop": i + 100})
		if err := json.Unmarshal(part.body, &whole); err != nil {
			t.Fatal(err)
		}
	}
	if !reflect.DeepEqual(whole, roundTrip(t, d)) {
		t.Error("the parts do not make up the whole")
	}
	var keys []string
	if err := json.Unmarshal(read(t, c, map[string]any{"handle": r.Handle, "keys": true, "start": 2}).body, &keys); err != nil || len(keys) != len(d)-2 {
		t.Errorf("%d keys, %v", len(keys), err)
	}
	twice := callTool(t, c, "s", "twice", nil)
	if got := read(t, c, map[string]any{"handle": twice.Handle, "key": "a"}); string(got.body) != "2" {
		t.Errorf("of equal keys the last one counts: %s", got.body)
	}
}

// TestDictWithoutIndex: objects with very many keys are searched.
func TestDictWithoutIndex(t *testing.T) {
	d := &dictSource{listSource: newListSource([]byte(`{"a":1,"b":[{"a":2}],"a":3}`))}
	d.once.Do(func() {}) // as if there were too many
	for key, want := range map[string]string{"a": "3", "b": `[{"a":2}]`, "c": ""} {
		if got := d.get(key); string(got) != want {
			t.Errorf("%s: %s", key, got)
		}
	}
}
