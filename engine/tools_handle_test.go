package engine_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/mayfly-run/mayfly/engine"
	"github.com/mayfly-run/mayfly/hostfns"
)

// TestLargeToolResults: results that stay on the host are sliced there.
func TestLargeToolResults(t *testing.T) {
	s := newToolSession(t, &hostfns.Options{MaxInline: 1000})
	s.ok("from tools.demo import large_text, large_list, large_dict, echo\nimport mayfly, pickle\nt, l, d = large_text(n=2000), large_list(n=3000), large_dict(n=500)")
	text := largeText(2000)
	execRequest(t, s.Session, engine.Request{Code: "import sys\nwhole = sys.stdin.read()", Host: s.host, Stdin: strings.NewReader(text)})
	n := strconv.Itoa(len([]rune(text)))
	for code, repr := range map[string]string{
		"t.kind, l.kind, d.kind": "('text', 'list', 'dict')",
		"len(t), len(l), len(d)": "(" + n + ", 3000, 500)",
		"t[:20]":                 `'line 0: grün\nline 1:'`,
		"t.load() == whole, t[:] == whole, t[5000:5100] == whole[5000:5100], t[-50:] == whole[-50:]":     "(True, True, True, True)",
		"t[10] == whole[10], t[-1], t[100:10], t[::-1] == whole[::-1], t[10:3000:7] == whole[10:3000:7]": "(True, '\\n', '', True, True)",
		"list(t.lines()) == whole.splitlines()":                                                          "True",
		"'line 1999: ' in t, 'line 2000: ' in t, '' in t":                                                "(True, False, True)",
		"''.join(t) == whole":                            "True",
		"l[0], l[-1], l[2999], l[5:8], l[-2:], l[3000:]": "(0, 2999, 2999, [5, 6, 7], [2998, 2999], [])",
		"l[::1000], l[2::-1], l[2998:10:-1000]":          "([0, 1000, 2000], [2, 1, 0], [2998, 1998, 998])",
		"l.load() == list(range(3000)) == list(l)":       "True",
		"17 in l, 3000 in l, bool(l)":                    "(True, False, True)",
		"d['key 7'], d.get('key 499'), d.get('no'), d.get('no', 5), 'key 3' in d, 'no' in d, 3 in d": "(7, 499, None, 5, True, False, False)",
		"sorted(d.keys()) == sorted(d) == sorted(f'key {i}' for i in range(500))":                    "True",
		"d.load() == dict(d.items()) == {f'key {i}': i for i in range(500)}":                         "True",
		"sum(d.values())":                        "124750",
		"repr(l)[:33], str(l)[:8], str(l)[-45:]": "('<LargeResult list, 3,000 items, 1', '[0,1,2,3', '(3,000 items in all; slice it, or .load() it)')",
		// The whole of it as an argument.
		"echo(text=t)['text'][:4], echo(a=[l[:3], d])['a'][1]['key 1']": "('line', 1)",
		"pickle.loads(pickle.dumps(l))[7]":                              "7",
	} {
		s.want(code, repr)
	}
	s.fails("l[3000]", "IndexError", "index 3000 of 3000 items")
	s.fails("t[10**9]", "IndexError", "characters")
	s.fails("d['no']", "KeyError", "'no'")
	s.fails("l.lines()", "TypeError", "a list, not a text")
	s.fails("l.keys()", "TypeError", "a list, not a dict")
	// One that was given back, or that the host does not keep any more.
	s.ok("with l: pass")
	s.want("len(l)", "3000")
	r := s.fails("l[0]", "mayfly.HostError", "is not kept any more")
	if r.Error.Hint == "" {
		t.Error("no hint")
	}
	s.want("try: l.load()\nexcept mayfly.HostError as e: code = e.code\ncode", "'handle'")
}

// TestLargeToolResultsForgotten: the host keeps so many bytes of results, and forgets the oldest.
func TestLargeToolResultsForgotten(t *testing.T) {
	s := newToolSession(t, &hostfns.Options{MaxInline: 1000, MaxHandles: 100_000})
	s.want("from tools.demo import large_list\na = [large_list(n=3000) for _ in range(10)]; a[-1][7]", "7")
	s.fails("a[0][7]", "mayfly.HostError", "is not kept any more", "call the tool again")
}
