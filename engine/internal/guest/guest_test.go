package guest

import (
	"errors"
	"strings"
	"testing"

	"github.com/mayfly-run/mayfly/wasm"
)

func answer(head, body string) []byte {
	return wasm.Frame{Head: []byte(head), Body: []byte(body)}.Append(nil)
}

func TestParseAnswer(t *testing.T) {
	a, err := ParseAnswer(answer(`{"status":"ok","json":3,"repr":4,"variable":"x"}`, `[1]"[1]`))
	if err != nil || string(a.ValueJSON) != "[1]" || a.ValueRepr != `"[1]` || a.Variable != "x" {
		t.Errorf("%+v, %v", a, err)
	}
	long := strings.Repeat("m", 2*maxLong)
	a, err = ParseAnswer(answer(`{"status":"error","error":{"kind":"exception","message":"`+long+`","line":-5}}`, ""))
	if err != nil || len(a.Error.Message) != maxLong || a.Error.Line != 0 {
		t.Errorf("%v", err)
	}
}

func TestParseAnswerRefuses(t *testing.T) {
	for name, b := range map[string][]byte{
		"no frame":         []byte("xx"),
		"head too long":    {0, 0, 0, 0, 255, 255, 255, 255},
		"not JSON":         answer(`{`, ""),
		"unknown status":   answer(`{"status":"fine"}`, ""),
		"no status":        answer(`{}`, ""),
		"error without":    answer(`{"status":"error"}`, ""),
		"ok with error":    answer(`{"status":"ok","error":{}}`, ""),
		"negative length":  answer(`{"status":"ok","json":-1}`, ""),
		"value too long":   answer(`{"status":"ok","json":2,"repr":2}`, "123"),
		"overflow":         answer(`{"status":"ok","json":9223372036854775807,"repr":9223372036854775807}`, "1"),
		"value not JSON":   answer(`{"status":"ok","json":1}`, "x"),
		"value not UTF-8":  answer(`{"status":"ok","json":3}`, "\"\xff\""),
		"exit code":        answer(`{"status":"exit","code":256}`, ""),
		"error frame":      wasm.Frame{Code: 1, Head: []byte(`{"type":"ValueError","message":"no"}`)}.Append(nil),
		"bad error frame":  wasm.Frame{Code: 1, Head: []byte(`x`)}.Append(nil),
		"wrong field type": answer(`{"status":5}`, ""),
	} {
		if a, err := ParseAnswer(b); !errors.Is(err, ErrAnswer) {
			t.Errorf("%s: %+v, %v", name, a, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(answer(`{"status":"ok","json":1,"repr":1}`, "11"))
	f.Add(answer(`{"status":"error","error":{"kind":"k","type":"t","message":"m","traceback":"tb","line":3,"hint":"h"}}`, ""))
	f.Add(answer(`{"status":"exit","code":3}`, ""))
	f.Add(answer(`{"version":"3","in":["a"],"out":[]}`, ""))
	f.Add(wasm.Frame{Code: 1, Head: []byte(`{"type":"E","message":"m"}`)}.Append(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		a, err := ParseAnswer(b)
		if err == nil && len(a.ValueJSON)+len(a.ValueRepr) > len(b) {
			t.Errorf("value of %d bytes out of %d", len(a.ValueJSON)+len(a.ValueRepr), len(b))
		}
		if err != nil && !errors.Is(err, ErrAnswer) {
			t.Error(err)
		}
		ParseModules(b)
		ParseIncomplete(b)
	})
}
