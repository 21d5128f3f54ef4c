package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
)

// mismatch is the error of CheckArgs and CheckResult.
type mismatch struct {
	text   string
	reason error
}

func (e *mismatch) Error() string { return e.text }
func (e *mismatch) Unwrap() error { return e.reason }

// CheckArgs checks the arguments of a call against the input schema, and returns those to send: the same bytes, or an
// empty object for none. Nothing is converted. The error is one that errors.Is finds as ErrInvalid or ErrTooComplex;
// its text is made for whoever wrote the call, and ends with the signature.
//
// A schema that cannot be used checks nothing but that the arguments are an object, see Problem. One that names
// properties and does not say whether there may be others allows none here, although JSON schema would: servers
// ignore those, and a misspelt argument would be lost.
func (t *Tool) CheckArgs(args json.RawMessage) (json.RawMessage, error) {
	args = bytes.Trim(args, " \t\r\n") // the white space of JSON, no other
	if len(args) == 0 || string(args) == "null" {
		args = json.RawMessage("{}")
	}
	v, err := parseJSON(string(args), limits{bytes: MaxArgs, depth: MaxDepth, values: maxArgValues})
	if err != nil {
		text := "arguments: " + err.Error()
		var e *parseError
		if errors.As(err, &e) && len(e.where) > 0 {
			text = "argument " + e.Error()
		}
		return nil, t.refuse(err, text)
	}
	if v.kind != kindObject {
		c := checker{}
		return nil, t.refuse(ErrInvalid, "arguments: expected an object with an argument for each key, got "+c.short(v))
	}
	d, _ := t.schemas()
	if !d.given && len(v.keys) > 0 {
		return nil, t.refuse(ErrInvalid, "unknown argument "+pythonString(cut(v.keys[0], 60))+"; there are none")
	}
	issues, err := d.find(v)
	if err != nil {
		return nil, t.refuse(err, "arguments: "+err.Error())
	}
	if len(issues) == 0 {
		return args, nil
	}
	names := map[string]string{}
	for _, p := range t.Signature().Params {
		names[p.Key] = p.Name
	}
	var texts []string
	for i := range issues {
		texts = append(texts, issues[i].describe("argument", names))
	}
	return nil, t.refuse(ErrInvalid, strings.Join(texts, "\n"))
}

func (t *Tool) refuse(reason error, text string) error {
	return &mismatch{reason: reason, text: cut(text, 2000) + "\nsignature: " + cut(t.Signature().Line(), 800)}
}

// CheckResult checks a structured result against the output schema, if there is one. Its errors are like those of
// CheckArgs, for whoever wonders about the server.
func (t *Tool) CheckResult(structured json.RawMessage) error {
	_, d := t.schemas()
	if !d.given {
		return nil
	}
	if len(bytes.TrimSpace(structured)) == 0 {
		return &mismatch{reason: ErrInvalid, text: "the tool promises a structured result, but there is none"}
	}
	l := limits{bytes: MaxResult, depth: MaxDepth, values: 2 * maxArgValues, lenient: true}
	v, err := parseJSON(string(structured), l)
	if err != nil {
		return &mismatch{reason: err, text: "result: " + err.Error()}
	}
	issues, err := d.find(v)
	if err != nil {
		return &mismatch{reason: err, text: "result: " + err.Error()}
	}
	if len(issues) == 0 {
		return nil
	}
	var texts []string
	for i := range issues {
		texts = append(texts, issues[i].describe("result", nil))
	}
	return &mismatch{reason: ErrInvalid, text: cut(strings.Join(texts, "\n"), 2000)}
}

// find returns what is wrong with a value, nothing if all is right or cannot be checked. The error is ErrTooComplex.
func (d *document) find(v *value) ([]issue, error) {
	n := d.compiled()
	if n == nil {
		return nil, nil
	}
	c := checker{d: d, steps: maxSteps}
	ok := c.eval(n, v, nil)
	if c.over() {
		return nil, ErrTooComplex
	}
	if ok {
		return nil, nil
	}
	// It is checked once more to say what is wrong: that is rare, and the check above is much cheaper without.
	c = checker{d: d, steps: maxSteps, report: true}
	c.eval(n, v, nil)
	if len(c.issues) == 0 {
		c.fail("do not match the schema")
	}
	return c.issues[:min(len(c.issues), maxIssues)], nil
}
