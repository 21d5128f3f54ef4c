package schema

import (
	"encoding/json"
	"errors"
	"math/big"
	"strings"
	"testing"
	"unicode/utf8"
)

var strict = limits{bytes: 1 << 20, depth: MaxDepth, values: 10_000}

func TestParse(t *testing.T) {
	for _, test := range []struct {
		in, want string // part of the error; empty: none
		reason   error
	}{
		{`{"a": [1, -2.5e+10, "x", true, false, null, {}, []]}`, "", nil},
		{`"\ud83d\ude80 \u00e9 \" \\ \/ \b\f\n\r\t"`, "", nil},
		{``, "too early", ErrInvalid},
		{`{`, "key in double quotes", ErrInvalid},
		{`{"a": 1`, "too early", ErrInvalid},
		{`{"a": 1,}`, "key in double quotes", ErrInvalid},
		{`[1,]`, "unexpected", ErrInvalid},
		{`[1 2]`, "unexpected", ErrInvalid},
		{`{"a" 1}`, "colon", ErrInvalid},
		{`{a: 1}`, "key in double quotes", ErrInvalid},
		{`1 2`, "after its end", ErrInvalid},
		{`{"x": {"y": [0, NaN]}}`, "x.y[1] NaN and Infinity do not exist", ErrInvalid},
		{`[-Infinity]`, "NaN and Infinity", ErrInvalid},
		{`01`, "after its end", ErrInvalid},
		{`-`, "not complete", ErrInvalid},
		{`1.`, "not complete", ErrInvalid},
		{`1e`, "not complete", ErrInvalid},
		{`.5`, "unexpected", ErrInvalid},
		{`tru`, "unexpected", ErrInvalid},
		{"\"a\nb\"", "control character", ErrInvalid},
		{`"\x"`, "wrong escape", ErrInvalid},
		{`"\u12"`, "wrong escape", ErrInvalid},
		{`"abc`, "no end", ErrInvalid},
		{`"abc\`, "no end", ErrInvalid},
		{`{"a": "\ud800"}`, `a has the lone surrogate \ud800`, ErrInvalid},
		{`"\udc00\ud800"`, `lone surrogate \udc00`, ErrInvalid},
		{`"\ud800\u0041"`, `lone surrogate`, ErrInvalid},
		{"[\"\xff\"]", "[0] has bytes that are no UTF-8", ErrInvalid},
		{`{"a": {"b": 1, "b": 2}}`, "a.b is given twice", ErrInvalid},
		{strings.Repeat("[", 100) + strings.Repeat("]", 100), "", nil},
		{strings.Repeat("[", 101) + strings.Repeat("]", 101), "nested deeper than 100", ErrTooComplex},
		{strings.Repeat("[", 1<<20), "nested deeper", ErrTooComplex},
		{strings.Repeat("[", 1<<20+1), "bytes, more than", ErrTooComplex},
		{`[` + strings.Repeat("1,", 10_000) + `1]`, "more than 10000 values", ErrTooComplex},
		{strings.Repeat("9", 5000), "", nil},
		{strings.Repeat("9", 5001), "more than 5000 digits", ErrTooComplex},
	} {
		_, err := parseJSON(test.in, strict)
		switch {
		case test.want == "" && err != nil:
			t.Errorf("%s: %v", cut(test.in, 60), err)
		case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want) || !errors.Is(err, test.reason)):
			t.Errorf("%s: got %v, want %s", cut(test.in, 60), err, test.want)
		}
	}
}

func TestParseLenient(t *testing.T) {
	lenient := strict
	lenient.lenient = true
	for in, want := range map[string]string{
		`{"a":1,"b":2,"a":3}`: `{"a":3,"b":2}`,
		`"x\ud800y"`:          `"x�y"`,
		"\"\xffé\"":           `"�é"`,
	} {
		v, err := parseJSON(in, lenient)
		if err != nil {
			t.Fatal(err)
		}
		if got := string(appendJSON(nil, v)); got != want {
			t.Errorf("%s: got %s, want %s", in, got, want)
		}
	}
}

// FuzzParse compares with encoding/json: what we take, it takes as well, and both see the same.
func FuzzParse(f *testing.F) {
	for _, s := range []string{`{"a": [1, -2.5e+10, "x\u00e9\ud83d\ude80", true, null]}`, `"\ud800"`, `{"a":1,"a":2}`, `[1.0e-3]`, "\"\xc3\x28\"", `[[[`} {
		f.Add(s, true)
		f.Add(s, false)
	}
	f.Fuzz(func(t *testing.T, s string, lenient bool) {
		l := strict
		l.lenient = lenient
		v, err := parseJSON(s, l)
		if err != nil {
			if json.Valid([]byte(s)) && !errors.Is(err, ErrTooComplex) && (lenient || utf8.ValidString(s) &&
				!strings.Contains(err.Error(), "twice") && !strings.Contains(err.Error(), "surrogate")) {
				t.Fatalf("%q is JSON, but: %v", s, err)
			}
			return
		}
		var want, got any
		if err := json.Unmarshal([]byte(s), &want); err != nil {
			if strings.Contains(err.Error(), "cannot unmarshal number") {
				return // does not fit into a float
			}
			t.Fatalf("%q is taken, but: %v", s, err)
		}
		ours := appendWhole(nil, v)
		if err := json.Unmarshal(ours, &got); err != nil {
			t.Fatalf("%q became %q: %v", s, ours, err)
		}
		a, _ := json.Marshal(want)
		b, _ := json.Marshal(got)
		if string(a) != string(b) {
			t.Fatalf("%q: got %s, want %s", s, b, a)
		}
	})
}

// appendWhole is appendJSON without a bound.
func appendWhole(b []byte, v *value) []byte {
	switch v.kind {
	case kindArray:
		b = append(b, '[')
		for i, item := range v.items {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendWhole(b, item)
		}
		return append(b, ']')
	case kindObject:
		b = append(b, '{')
		for i, item := range v.items {
			if i > 0 {
				b = append(b, ',')
			}
			key, _ := json.Marshal(v.keys[i])
			b = appendWhole(append(append(b, key...), ':'), item)
		}
		return append(b, '}')
	case kindString:
		text, _ := json.Marshal(v.text)
		return append(b, text...)
	}
	return appendJSON(b, v)
}

// TestNumbers compares all pairs with exact fractions.
func TestNumbers(t *testing.T) {
	texts := []string{"0", "-0", "0.0", "1", "1.0", "-1", "10", "1e1", "100e-1", "9007199254740993", "9007199254740992", "0.1",
		"0.10", "1e-1", "12.5", "12.05", "-12.5", "1e300", "99e299", "123456789012345678901234567890", "3.0", "2.50", "-1e-7"}
	for _, a := range texts {
		for _, b := range texts {
			x, _ := new(big.Rat).SetString(a)
			y, _ := new(big.Rat).SetString(b)
			if got, want := compare(parseNumber(a), parseNumber(b)), x.Cmp(y); got != want {
				t.Errorf("compare(%s, %s): got %d, want %d", a, b, got, want)
			}
			if y.Sign() != 0 {
				want := new(big.Rat).Quo(x, y).IsInt()
				if got := parseNumber(a).multipleOf(parseNumber(b)); got != want {
					t.Errorf("%s multiple of %s: got %v, want %v", a, b, got, want)
				}
			}
		}
		x, _ := new(big.Rat).SetString(a)
		if got := parseNumber(a).isInteger(); got != x.IsInt() {
			t.Errorf("%s is an integer: got %v", a, got)
		}
	}
	// No number of that size is ever made.
	if compare(parseNumber("1e999999999999"), parseNumber("1e999")) != 1 || !parseNumber("1e999999999").multipleOf(parseNumber("3")) {
		t.Error("large exponents")
	}
}
