package mcptest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"sync"
)

// script is a server that is written by hand, so that it can do what no library does.
type script struct {
	in  *os.File
	out *os.File

	mu sync.Mutex
	// call answers tools/call; list answers tools/list; start answers initialize. Nil: as usual.
	call, list, start func(r *request)
	// answered is told of answers to requests of the server. Nil: they are ignored.
	answered func(r *request)
	// cancelled counts requests that were cancelled.
	cancelled int
}

type request struct {
	s      *script
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Name   string `json:"name"`
		Cursor string `json:"cursor"`
		Meta   struct {
			Token json.RawMessage `json:"progressToken"`
		} `json:"_meta"`
		Arguments json.RawMessage `json:"arguments"`
	} `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

// line writes a line as it is.
func (s *script) line(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, _ = s.out.WriteString(text + "\n")
}

// result answers a request.
func (r *request) result(json string) {
	r.s.line(`{"jsonrpc":"2.0","id":` + string(r.ID) + `,"result":` + json + `}`)
}

func (r *request) text(text string) {
	r.result(`{"content":[{"type":"text","text":` + strconv.Quote(text) + `}]}`)
}

func (r *request) fail(code int, text string) {
	r.s.line(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%q,"data":{"more":[1]}}}`, r.ID, code, text))
}

// usual are the tools that there are unless a mode says otherwise.
const usual = `{"tools":[{"name":"run","description":"Does what the mode says.","inputSchema":{"type":"object"}}]}`

// serve answers requests until the input ends.
func (s *script) serve() {
	lines := bufio.NewReader(s.in)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		r := &request{s: s}
		if json.Unmarshal(line, r) != nil || len(r.ID) == 0 {
			if r.Method == "notifications/cancelled" {
				s.cancelled++
			}
			continue
		}
		if r.Method == "" && s.answered != nil {
			s.answered(r)
			continue
		}
		switch r.Method {
		case "initialize":
			if s.start != nil {
				s.start(r)
			} else {
				r.initialize()
			}
		case "tools/list":
			if s.list != nil {
				s.list(r)
			} else {
				r.result(usual)
			}
		case "tools/call":
			if s.call != nil {
				s.call(r)
			} else {
				r.text("ok")
			}
		case "":
		default:
			r.fail(-32601, "there is no such method")
		}
	}
}

func (r *request) initialize() {
	r.result(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true},"logging":{}},` +
		`"serverInfo":{"name":"script","version":"1"}}`)
}
