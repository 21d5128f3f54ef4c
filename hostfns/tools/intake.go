package tools

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// intake is what every message of a server goes through before the SDK sees it, whatever the transport. It drops what would
// end the connection or fill memory: what is no JSON-RPC, messages that are too large, floods. It takes the results of
// exchanges, and handles progress and log messages itself, so that they come before the result that follows them.
type intake struct {
	max    int // bytes of a message
	server string
	log    *slog.Logger
	// whole tells that the SDK needs some results itself: with protocols in which they may be a question.
	whole atomic.Bool
	// changed is told of tools/list_changed, elicited of notifications/elicitation/complete.
	changed  func()
	elicited func(id string)

	mu       sync.Mutex
	pending  map[string]*exchange // by request ID
	tokens   map[string]*exchange // by progress token
	calls    []*exchange          // calls of tools under way, oldest first
	requests int                  // of the server that were not answered yet
	// schemas are those of questions, by a key that the question has in its _meta.
	schemas    map[string]json.RawMessage
	lastSchema int
	skipped    int
	others     *bucket // for notifications that are passed on
}

// Bounds of what a server may send.
const (
	maxRequests = 64      // that are not answered yet
	maxRequest  = 1 << 20 // bytes of what is passed on: decoded, it can be many times as large
	maxBatch    = 1000    // messages at once
	maxSkipped  = 3       // warnings about what is skipped; some servers log to stdout
)

// codeTooLarge is an error code of JSON-RPC's range for implementations. It only goes from here to there within this process.
const codeTooLarge = -32099

func newIntake(server string, max int, log *slog.Logger) *intake {
	return &intake{
		max: max, server: server, log: log, pending: map[string]*exchange{}, tokens: map[string]*exchange{},
		others: newBucket(200, 50), changed: func() {}, elicited: func(string) {},
	}
}

// expect says that the answer to a request is for x. forget takes that back.
func (in *intake) expect(id string, x *exchange) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.pending[id] = x
}

// begin makes x a call under way, with a progress token.
func (in *intake) begin(x *exchange, token int64) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.tokens[strconv.FormatInt(token, 10)] = x
	in.calls = append(in.calls, x)
}

func (in *intake) forget(x *exchange) {
	in.mu.Lock()
	defer in.mu.Unlock()
	for id, y := range in.pending {
		if x == y {
			delete(in.pending, id)
		}
	}
	for token, y := range in.tokens {
		if x == y {
			delete(in.tokens, token)
		}
	}
	for i, y := range in.calls {
		if x == y {
			in.calls = append(in.calls[:i:i], in.calls[i+1:]...)
			break
		}
	}
}

// oldest returns the call that has been under way for longest, nil if there is none. What a server says without saying in
// which call is taken to be of that one.
func (in *intake) oldest() *exchange {
	in.mu.Lock()
	defer in.mu.Unlock()
	if len(in.calls) == 0 {
		return nil
	}
	return in.calls[0]
}

// message is a JSON-RPC message.
type message struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  *string         `json:"method"`
	Params  json.RawMessage `json:"params"`
	Result  json.RawMessage `json:"result"`
	Error   json.RawMessage `json:"error"`
}

// take returns what of a frame is to be passed on: no message, one, or those of a batch.
func (in *intake) take(frame []byte) [][]byte {
	frame = bytes.TrimSpace(frame)
	if len(frame) == 0 {
		return nil
	}
	if frame[0] == '[' {
		batch, err := elements(frame, maxBatch)
		if err != nil {
			in.skip("it is no batch of messages: "+err.Error(), frame)
			return nil
		}
		var out [][]byte
		for _, m := range batch {
			if m := in.one(m); m != nil {
				out = append(out, m)
			}
		}
		return out
	}
	if m := in.one(frame); m != nil {
		return [][]byte{m}
	}
	return nil
}

func (in *intake) one(frame []byte) []byte {
	var m message
	if frame[0] != '{' || json.Unmarshal(frame, &m) != nil {
		in.skip("it is no JSON-RPC", frame)
		return nil
	}
	switch {
	case m.Version != "2.0":
		in.skip(`it is no JSON-RPC: "jsonrpc" is not "2.0"`, frame)
		return nil
	case m.Method == nil:
		return in.response(&m, frame)
	case len(frame) > maxRequest:
		in.skip("a request or notification is too large", frame)
		return nil
	case len(m.ID) == 0 || string(m.ID) == "null":
		return in.notification(&m, frame)
	}
	if !in.decodes(frame) {
		return nil
	}
	in.mu.Lock()
	many := in.requests >= maxRequests
	if !many {
		in.requests++
	}
	in.mu.Unlock()
	if many {
		in.skip("there are too many requests at once", frame)
		return nil
	}
	if *m.Method == "elicitation/create" {
		return in.keepSchema(&m, frame)
	}
	return frame
}

// schemaKey is where a question says which schema, as the server wrote it, belongs to it.
const schemaKey = "mayfly/schema"

// keepSchema keeps the schema of a question for the SDK's handler, which would see its properties in no order.
func (in *intake) keepSchema(m *message, frame []byte) []byte {
	var params, meta map[string]json.RawMessage
	if json.Unmarshal(m.Params, &params) != nil || params["requestedSchema"] == nil {
		return frame
	}
	if json.Unmarshal(params["_meta"], &meta) != nil || meta == nil {
		meta = map[string]json.RawMessage{}
	}
	in.mu.Lock()
	in.lastSchema++
	key := strconv.Itoa(in.lastSchema)
	if in.schemas == nil || len(in.schemas) > maxRequests {
		in.schemas = map[string]json.RawMessage{}
	}
	in.schemas[key] = compact(params["requestedSchema"])
	in.mu.Unlock()
	meta[schemaKey] = json.RawMessage(strconv.Quote(key))
	var err error
	if params["_meta"], err = json.Marshal(meta); err == nil {
		var out []byte
		if out, err = json.Marshal(map[string]any{"jsonrpc": "2.0", "id": m.ID, "method": m.Method, "params": params}); err == nil {
			return out
		}
	}
	return frame
}

// schema returns, once, the schema of a question that has a key; nil if there is none.
func (in *intake) schema(key any) json.RawMessage {
	k, _ := key.(string)
	in.mu.Lock()
	defer in.mu.Unlock()
	s := in.schemas[k]
	delete(in.schemas, k)
	return s
}

// replied tells that a request of the server was answered.
func (in *intake) replied() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.requests--
}

// decodes tells whether the SDK understands a message: one that it does not would end the connection.
func (in *intake) decodes(frame []byte) bool {
	if _, err := jsonrpc.DecodeMessage(frame); err != nil {
		in.skip("it is no JSON-RPC: "+err.Error(), frame)
		return false
	}
	return true
}

func (in *intake) response(m *message, frame []byte) []byte {
	id, ok := canonicalID(m.ID)
	if !ok {
		in.skip("it answers no request", frame)
		return nil
	}
	x := in.expected(id)
	switch {
	case x != nil:
	case len(frame) > maxRequest:
		in.skip("an answer is too large", frame)
		return errorFrame(id, tooLargeError())
	case in.decodes(frame):
		return frame
	default:
		return nil
	}
	if len(m.Error) > 0 && string(m.Error) != "null" {
		e := &jsonrpc.Error{}
		if json.Unmarshal(m.Error, e) != nil || e.Code == codeTooLarge {
			e = &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: cut(string(m.Error), 1<<10)}
		}
		bounded(e)
		x.answered(nil, e, false)
		return errorFrame(id, e)
	}
	if m.Result == nil {
		e := &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "the answer has neither result nor error"}
		x.answered(nil, e, false)
		return errorFrame(id, e)
	}
	if in.whole.Load() && isQuestion(m.Result) {
		if len(frame) > maxRequest {
			x.answered(nil, nil, true)
			return errorFrame(id, tooLargeError())
		}
		return frame // the SDK asks, and calls again with the answer
	}
	x.answered(m.Result, nil, false)
	if in.whole.Load() && x.call == nil && len(frame) <= maxRequest {
		return frame // a list of tools, of which the SDK remembers how they are called
	}
	return []byte(`{"jsonrpc":"2.0","id":` + id + `,"result":{"content":[],"tools":[]}}`)
}

// isQuestion tells whether a result is a question, as newer protocols have it.
func isQuestion(result json.RawMessage) bool {
	var r struct {
		Type string `json:"resultType"`
	}
	return json.Unmarshal(result, &r) == nil && r.Type == "input_required"
}

func tooLargeError() *jsonrpc.Error {
	return &jsonrpc.Error{Code: codeTooLarge, Message: "the answer is larger than allowed"}
}

// expected returns the exchange that a response is for, once; nil if there is none.
func (in *intake) expected(id string) *exchange {
	in.mu.Lock()
	defer in.mu.Unlock()
	x := in.pending[id]
	delete(in.pending, id)
	return x
}

// tooLarge returns what is passed on instead of a message that is larger than allowed.
func (in *intake) tooLarge(s *idScanner) []byte {
	id, ok := canonicalID(s.id)
	if !ok || s.method {
		in.skip("a message is too large", nil)
		return nil
	}
	x := in.expected(id)
	e := tooLargeError()
	if x != nil {
		x.answered(nil, e, true)
	}
	return errorFrame(id, e)
}

func errorFrame(id string, e *jsonrpc.Error) []byte {
	b, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": json.RawMessage(id), "error": e})
	if err != nil { // its data is no JSON
		return errorFrame(id, &jsonrpc.Error{Code: e.Code, Message: e.Message})
	}
	return b
}

// canonicalID returns a request ID as it is sent.
func canonicalID(raw []byte) (string, bool) {
	if n, err := strconv.ParseFloat(string(raw), 64); err == nil && n == float64(int64(n)) {
		return strconv.FormatInt(int64(n), 10), true
	}
	if len(raw) > 1 && raw[0] == '"' && json.Valid(raw) {
		return string(raw), true
	}
	return "", false
}

// skip counts and tells what is not passed on.
func (in *intake) skip(why string, frame []byte) {
	in.mu.Lock()
	in.skipped++
	n := in.skipped
	in.mu.Unlock()
	switch {
	case n < maxSkipped:
		in.log.Warn("a tool server sent what is not understood; it is skipped", "server", in.server, "reason", why,
			"message", cut(string(frame[:min(len(frame), 200)]), 200))
	case n == maxSkipped:
		in.log.Warn("a tool server goes on to send what is not understood; there are no more warnings about it",
			"server", in.server)
	}
}
