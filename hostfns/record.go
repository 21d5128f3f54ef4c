package hostfns

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"
)

// toolArgs are the arguments of FnTool.
type toolArgs struct {
	Server string          `json:"server"`
	Tool   string          `json:"tool"`
	Args   json.RawMessage `json:"args,omitempty"`
}

// parseTool parses arguments that are valid JSON.
func parseTool(args []byte) (t toolArgs, e *Error) {
	m, _ := membersOf(args)
	for key, value, ok := m.next(); ok; key, value, ok = m.next() {
		switch key {
		case "server":
			t.Server, _ = jsonText(value)
		case "tool":
			t.Tool, _ = jsonText(value)
		case "args":
			t.Args = value
		}
	}
	for _, name := range []string{t.Server, t.Tool} {
		if name == "" || len(name) > maxName {
			return t, Errorf(CodeRequest, `a tool call has "server" and "tool", names of 1 to %d bytes, and "args"`, maxName)
		}
	}
	if len(t.Args) == 0 {
		t.Args = json.RawMessage("{}")
	}
	return t, nil
}

// inspect returns what a call is recorded as, and parses what a tool call says.
func (k *call) inspect() (name string, args json.RawMessage, bad *Error) {
	if k.kind != kindTool {
		return k.fn, k.args, nil
	}
	if k.tool, bad = parseTool(k.args); bad != nil {
		return k.fn, k.args, bad
	}
	return "tools." + k.tool.Server + "." + k.tool.Tool, k.tool.Args, nil
}

// Inspect tells what a request frame would be recorded as, whoever answers it: the Name of a Record, and the arguments,
// which may hold what Host.RecordArgs removes. Recorded is false for requests that are not calls, or that the audit leaves
// out: those that read the catalogue, handles or placeholders.
func Inspect(request []byte) (name string, args json.RawMessage, recorded bool) {
	op, head, body, err := parseFrame(request)
	if err != nil || op != OpCall && op != OpStart {
		return "", nil, false
	}
	h, bad := parseCall(head)
	if bad != nil {
		return "", nil, false
	}
	if op == OpStart {
		if _, bad = checkQueue(h.Queue); bad != nil {
			return "", nil, false
		}
	}
	k := &call{fn: h.Fn, kind: kindOf(h.Fn), args: h.Args, body: body}
	if k.kind == kindCatalogue || k.kind == kindQuick {
		return "", nil, false
	}
	name, args, _ = k.inspect()
	return name, args, true
}

// Outcome returns the Outcome of a Record whose call had this answer: "ok" or the error's code.
func Outcome(answer []byte) string {
	code, head, _, err := parseFrame(answer)
	if err != nil {
		return CodeServer
	}
	if code == answerOK {
		return outcomeOK
	}
	var h struct {
		Code string `json:"code"`
	}
	if json.Unmarshal(head, &h) != nil || !validCode(h.Code) {
		return CodeServer
	}
	return h.Code
}

// RecordArgs makes Args of a Record: without secrets, and cut.
func (h *Host) RecordArgs(args json.RawMessage) json.RawMessage {
	args = h.scrubJSON(args)
	if len(args) <= MaxRecordArgs {
		return bytes.Clone(args)
	}
	// A cut in the middle of a character would leave bytes that are no text. Quotes take room as well.
	cut := args[:MaxRecordArgs]
	for len(cut) > 0 {
		for n := len(cut); n > 0 && n > len(cut)-utf8.UTFMax; n-- {
			if utf8.RuneStart(cut[n-1]) {
				if !utf8.FullRune(cut[n-1:]) {
					cut = cut[:n-1]
				}
				break
			}
		}
		j, err := json.Marshal(string(cut))
		if err != nil || len(j) <= MaxRecordArgs {
			return j
		}
		cut = cut[:max(0, len(cut)-(len(j)-MaxRecordArgs))]
	}
	return json.RawMessage(`""`)
}
