package llm

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/mayfly-run/mayfly/hostfns"
	"github.com/mayfly-run/mayfly/hostfns/schema"
)

const (
	maxSchema = 256 << 10
	// maxProblem bounds what is told about a wrong answer, maxRepair what of it the model gets to see again, and maxText what
	// of it the program does.
	maxProblem = 2 << 10
	maxRepair  = 32 << 10
	maxText    = 128 << 10
	// wrapper is the property that holds a value that is no object: providers want objects.
	wrapper = "value"
)

// structure is what an answer has to be.
type structure struct {
	schema  json.RawMessage // of an object
	name    string
	wrapped bool
	tool    *schema.Tool
}

// newStructure reads a program's schema; nil: the answer is text.
func newStructure(raw json.RawMessage) (*structure, error) {
	if isNull(raw) {
		return nil, nil
	}
	if len(raw) > maxSchema {
		return nil, hostfns.Errorf(hostfns.CodeRequest, "the schema has %d bytes, at most %d are possible", len(raw), maxSchema)
	}
	var compact bytes.Buffer
	var root map[string]json.RawMessage
	if json.Compact(&compact, raw) != nil || json.Unmarshal(compact.Bytes(), &root) != nil || root == nil {
		return nil, hostfns.Errorf(hostfns.CodeRequest, "the schema is not a JSON object")
	}
	s := &structure{name: schemaName(root["title"]), schema: compact.Bytes()}
	if !ofObject(root) {
		s.wrapped = true
		s.schema = wrap(root)
	}
	s.tool = schema.Compile("llm", "llm", []schema.Input{{Name: "answer", OutputSchema: s.schema}})[0]
	if p := s.tool.Problem(); p != "" {
		return nil, hostfns.Errorf(hostfns.CodeRequest, "the schema cannot be used: %s", cut(p, maxProblem))
	}
	return s, nil
}

func ofObject(root map[string]json.RawMessage) bool {
	if t, ok := root["type"]; ok {
		return string(t) == `"object"`
	}
	return root["properties"] != nil && root["anyOf"] == nil && root["oneOf"] == nil && root["$ref"] == nil
}

var localRef = regexp.MustCompile(`[{,]"\$ref":"#[^"]*"`)

// wrap returns the schema of an object with a value of this one. Definitions stay at the root, where some providers want
// them, and the order of properties stays, because models write them in that order.
func wrap(root map[string]json.RawMessage) json.RawMessage {
	out := map[string]json.RawMessage{
		"type": json.RawMessage(`"object"`), "required": json.RawMessage(`["` + wrapper + `"]`),
		"additionalProperties": json.RawMessage("false"),
	}
	inner := maps.Clone(root)
	delete(inner, "$id") // references would be relative to it
	for _, key := range []string{"$defs", "definitions", "$schema"} {
		if root[key] != nil {
			out[key] = move(root[key])
			delete(inner, key)
		}
	}
	out["properties"] = slices.Concat([]byte(`{"`+wrapper+`":`), move(marshal(inner)), []byte("}"))
	return marshal(out)
}

// marshal writes an object whose values are valid JSON.
func marshal(object map[string]json.RawMessage) json.RawMessage {
	j, err := json.Marshal(object)
	if err != nil {
		panic(err)
	}
	return j
}

// move changes the references to what is not at the root any more.
func move(raw json.RawMessage) json.RawMessage {
	return localRef.ReplaceAllFunc(raw, func(ref []byte) []byte {
		if bytes.Contains(ref, []byte(`"#/$defs/`)) || bytes.Contains(ref, []byte(`"#/definitions/`)) {
			return ref
		}
		head, tail, _ := bytes.Cut(ref, []byte("#"))
		if len(tail) > 1 && tail[0] != '/' { // an anchor, which is found wherever it is
			return ref
		}
		return slices.Concat(head, []byte("#/properties/"+wrapper), tail)
	})
}

var notName = regexp.MustCompile(`[^A-Za-z0-9_]+`)

func schemaName(raw json.RawMessage) string {
	var title string
	_ = json.Unmarshal(raw, &title) // what is no text is no name
	if name := strings.Trim(notName.ReplaceAllString(cut(title, 64), "_"), "_"); name != "" {
		return name
	}
	return "answer"
}

// value returns the value of an answer, or what is wrong with it.
func (s *structure) value(text string) (v json.RawMessage, problem string) {
	found := findJSON(text)
	if found == nil {
		return nil, "it is not JSON"
	}
	if !s.wrapped {
		return found, s.check(found)
	}
	var object map[string]json.RawMessage
	if json.Unmarshal(found, &object) == nil && len(object) == 1 && object[wrapper] != nil {
		if problem = s.check(found); problem == "" {
			return object[wrapper], ""
		}
	}
	// Servers that know no schemas have models that see no sense in the wrapper.
	whole := append(append([]byte(`{"`+wrapper+`":`), found...), '}')
	if p := s.check(whole); p == "" {
		return found, ""
	} else if problem == "" {
		problem = p
	}
	return nil, problem
}

func (s *structure) check(object json.RawMessage) string {
	err := s.tool.CheckResult(object)
	switch {
	case err == nil:
		return ""
	case errors.Is(err, schema.ErrTooComplex):
		return cut("it is too complex: "+err.Error(), maxProblem)
	default:
		return cut(err.Error(), maxProblem)
	}
}

// findJSON returns the JSON in an answer, compact: all of it, or what is in a code block or between words. Nil: there is none.
func findJSON(text string) json.RawMessage {
	text = strings.TrimSpace(text)
	if j := compactJSON(text); j != nil {
		return j
	}
	if rest, ok := strings.CutPrefix(text, "```"); ok {
		if i := strings.IndexByte(rest, '\n'); i >= 0 {
			rest, _, _ = strings.Cut(rest[i:], "\n```")
			if j := compactJSON(rest); j != nil {
				return j
			}
		}
	}
	first, last := strings.IndexAny(text, "{["), strings.LastIndexAny(text, "}]")
	if first < 0 || last < first {
		return nil
	}
	return compactJSON(text[first : last+1])
}

func compactJSON(text string) json.RawMessage {
	var b bytes.Buffer
	if json.Compact(&b, []byte(text)) != nil {
		return nil
	}
	return b.Bytes()
}

// repair returns the request that asks a model to correct its answer.
func repair(r *Request, text, problem string) *Request {
	again := *r
	again.Messages = append(again.Messages[:len(again.Messages):len(again.Messages)],
		Message{RoleAssistant, cut(text, maxRepair)},
		Message{RoleUser, fmt.Sprintf("This answer does not match the JSON schema: %s\nAnswer again, with the corrected JSON alone.", problem)})
	return &again
}

func invalidOutput(text, problem string, repaired bool) *hostfns.Error {
	e := hostfns.Errorf(hostfns.CodeInvalidOutput, "the model's answer does not match the schema: %s", problem)
	if repaired {
		e.Message += " (after one try to repair it)"
	}
	e.Hint = "say in the prompt what is wanted, make the schema simpler, or ask a larger model; data has the text"
	e.Data = textData(text, problem)
	return e
}

// textData is the data of an error about an answer.
func textData(text, problem string) json.RawMessage {
	data, err := json.Marshal(struct {
		Text    string `json:"text"`
		Problem string `json:"problem,omitempty"`
	}{cut(text, maxText), problem})
	if err != nil {
		return nil
	}
	return data
}
