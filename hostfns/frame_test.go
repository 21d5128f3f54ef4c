package hostfns

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func TestParseFrame(t *testing.T) {
	for _, c := range []struct {
		name       string
		frame      []byte
		ok         bool
		head, body string
	}{
		{"empty", nil, false, "", ""},
		{"short", make([]byte, 7), false, "", ""},
		{"nothing in it", make([]byte, 8), true, "", ""},
		{"head and body", []byte("\x01\x00\x00\x00\x02\x00\x00\x00{}body"), true, "{}", "body"},
		{"head too long", []byte("\x01\x00\x00\x00\x03\x00\x00\x00{}"), false, "", ""},
		{"length of all ones", []byte("\x01\x00\x00\x00\xff\xff\xff\xff{}"), false, "", ""},
		{"too large", make([]byte, maxFrame+1), false, "", ""},
		{"head over its limit", binary.LittleEndian.AppendUint32(nil, 1), false, "", ""},
	} {
		_, head, body, err := parseFrame(c.frame)
		if (err == nil) != c.ok || string(head) != c.head || string(body) != c.body {
			t.Errorf("%s: %q %q %v", c.name, head, body, err)
		}
	}
	big := newFrame(1, 0)
	binary.LittleEndian.PutUint32(big[4:], maxHead+1)
	if _, _, _, err := parseFrame(append(big, make([]byte, maxHead+1)...)); err == nil {
		t.Error("a head that is too large was taken")
	}
}

func TestErrorFrame(t *testing.T) {
	long := strings.Repeat("ö", maxMessage)
	for _, c := range []struct {
		name string
		e    Error
		want errorHead
	}{
		{"all of it", Error{Code: CodeTimeout, Message: "m", Hint: "h", Server: "s", Tool: "t", Data: json.RawMessage(`{"a":1}`),
			RetryAfter: 1500 * time.Millisecond, Retryable: true},
			errorHead{CodeTimeout, "m", "h", "s", "t", json.RawMessage(`{"a":1}`), 1.5, true}},
		{"a code of its own", Error{Code: "my_code2"}, errorHead{Code: "my_code2"}},
		{"a code that is none", Error{Code: "Not A Code\n"}, errorHead{Code: CodeServer}},
		{"no code", Error{}, errorHead{Code: CodeServer}},
		{"data that is no JSON", Error{Code: "x", Data: json.RawMessage(`{`)}, errorHead{Code: "x"}},
		{"too much data", Error{Code: "x", Data: json.RawMessage(`"` + strings.Repeat("x", maxErrorData) + `"`)}, errorHead{Code: "x"}},
		{"a long message", Error{Code: "x", Message: long}, errorHead{Code: "x", Message: long[:maxMessage-4] + "..."}},
		{"no UTF-8", Error{Code: "x", Message: "a\xffb", RetryAfter: math.MinInt64}, errorHead{Code: "x", Message: "a\ufffdb"}},
	} {
		r := decode(t, errorFrame(&c.e))
		got := r.errorHead
		if r.code != answerError || got.Code != c.want.Code || got.Message != c.want.Message || got.Hint != c.want.Hint ||
			got.Server != c.want.Server || got.Tool != c.want.Tool || !bytes.Equal(got.Data, c.want.Data) ||
			got.RetryAfter != c.want.RetryAfter || got.Retryable != c.want.Retryable {
			t.Errorf("%s: %.300v, want %.300v", c.name, got, c.want)
		}
	}
}

func TestCutText(t *testing.T) {
	for _, s := range []string{"", "abc", "abcdefghij", "\xff\xff\xff\xff\xff\xff", "öööööö", "a\xffööö", "\x80\x80\x80\x80\x80\x80\x80\x80", strings.Repeat("\xff", 100)} {
		for n := 3; n < 12; n++ {
			got := cutText(s, n)
			if len(got) > n || !utf8.ValidString(got) {
				t.Errorf("cutText(%q, %d) = %q", s, n, got)
			}
			if len(s) <= n && utf8.ValidString(s) && got != s {
				t.Errorf("cutText(%q, %d) = %q: it fitted", s, n, got)
			}
		}
	}
}

func TestValueFrame(t *testing.T) {
	r := decode(t, mustFrame(t, &Value{Kind: ValueBlocks, Head: json.RawMessage(`{"a":1}`), Blocks: []Block{
		{Type: BlockText, Text: "ö"}, {Type: BlockImage, Data: []byte{1, 2, 3}, MIMEType: "image/png"},
		{Type: BlockResource, URI: "u", Text: "t"}, {Type: BlockResource, URI: "u", Data: []byte{}},
		{Type: BlockLink, URI: "u", Name: "n", Title: "t"},
	}}))
	want := []blockHead{{BlockText, 2, true, "", "", "", ""}, {BlockImage, 3, false, "image/png", "", "", ""},
		{BlockResource, 1, true, "", "u", "", ""}, {BlockResource, 0, false, "", "u", "", ""}, {BlockLink, 0, false, "", "u", "n", "t"}}
	for i := range want {
		if r.Blocks[i] != want[i] {
			t.Errorf("block %d: %+v, want %+v", i, r.Blocks[i], want[i])
		}
	}
	if string(r.body) != "ö\x01\x02\x03t" || string(r.Head) != `{"a":1}` {
		t.Errorf("body %q, head %s", r.body, r.Head)
	}
	if _, e := valueFrame(&Value{Kind: ValueBytes, Data: make([]byte, maxAnswer+1)}); e == nil || e.Code != CodeTooLarge {
		t.Errorf("a frame that is too large: %v", e)
	}
	if _, e := valueFrame(&Value{Kind: ValueHandle}); e == nil {
		t.Error("a handle that the dispatcher did not make was taken")
	}
	if f := mustFrame(t, &Value{Kind: ValueBytes, Data: make([]byte, maxAnswer)}); len(idFrame(1<<40, f)) > maxFrame {
		t.Error("the answer of OpWait is no frame")
	}
}

func mustFrame(t *testing.T, v *Value) []byte {
	t.Helper()
	f, e := valueFrame(v)
	if e != nil {
		t.Fatal(e)
	}
	return f
}
