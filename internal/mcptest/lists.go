package mcptest

import (
	"fmt"
	"strconv"
	"strings"
)

func init() {
	// Its list never ends.
	modes["endless-list"] = func(s *script) {
		s.list = func(r *request) {
			n, _ := strconv.Atoi(r.Params.Cursor)
			r.result(fmt.Sprintf(`{"tools":[],"nextCursor":"%d"}`, n+1))
		}
		s.serve()
	}
	modes["circular-list"] = func(s *script) {
		s.list = func(r *request) { r.result(`{"tools":[],"nextCursor":"again"}`) }
		s.serve()
	}
	modes["many-tools"] = func(s *script) {
		s.list = manyTools
		s.call = func(r *request) { r.text(r.Params.Name) }
		s.serve()
	}
	modes["huge-list"] = func(s *script) {
		s.list = func(r *request) {
			n, _ := strconv.Atoi(r.Params.Cursor)
			r.result(fmt.Sprintf(`{"tools":[{"name":"t%d","description":%q}],"nextCursor":"%d"}`, n, strings.Repeat("x", 1<<20), n+1))
		}
		s.serve()
	}
	modes["no-list"] = func(s *script) {
		s.list = func(r *request) { r.fail(-32603, "the list is lost") }
		s.serve()
	}
	modes["odd-list"] = func(s *script) {
		s.list = func(r *request) { r.result(`{"tools":{"a":1}}`) }
		s.serve()
	}
	modes["hang-list"] = func(s *script) {
		s.list = func(r *request) {}
		s.serve()
	}
	modes["odd-tools"] = func(s *script) {
		s.list = func(r *request) { r.result(strings.ReplaceAll(oddTools, "\n", "")) }
		s.call = func(r *request) { r.text("ok") }
		s.serve()
	}
	// Its tools are others whenever it is asked, and it says so all the time.
	modes["restless"] = func(s *script) {
		n := 0
		s.list = func(r *request) {
			n++
			r.result(fmt.Sprintf(`{"tools":[{"name":"run","description":"%d","inputSchema":{"type":"object"}}]}`, n))
			s.line(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
		}
		s.call = func(r *request) {
			s.line(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
			r.text(strconv.Itoa(n))
		}
		s.serve()
	}
}

// manyTools lists 10,000 tools, 250 on a page.
func manyTools(r *request) {
	from, _ := strconv.Atoi(r.Params.Cursor)
	var b strings.Builder
	b.WriteString(`{"tools":[`)
	for i := from; i < from+250; i++ {
		if i > from {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"name":"tool_%d","description":"Tool number %d.","inputSchema":{"type":"object","properties":`+
			`{"zeta":{"type":"string"},"alpha":{"type":"integer"}},"required":["zeta"]}}`, i, i)
	}
	b.WriteByte(']')
	if from+250 < 10_000 {
		fmt.Fprintf(&b, `,"nextCursor":"%d"`, from+250)
	}
	b.WriteByte('}')
	r.result(b.String())
}

// oddTools are tools of which some make no sense.
const oddTools = `{"tools":[
 17, null, "tool", {"description":"no name"}, {"name":5}, {"name":"bad","description":7},
 {"name":"order","inputSchema":{"type":"object","properties":{"z":{},"a":{},"m":{}},"maximum":12345678901234567890123}},
 {"name":"none"}, {"name":"null","inputSchema":null,"outputSchema":null,"annotations":null},
 {"name":"true","inputSchema":true},
 {"name":"quotes \"'\n","title":"a","annotations":{"title":"b","readOnlyHint":true,"destructiveHint":false}},
 {"name":"order"}
]}`
