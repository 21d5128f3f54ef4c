package mcptest

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

// modes are the hostile servers.
var modes = map[string]func(*script){
	// It reads, and never says anything.
	"hang-start": func(s *script) { _, _ = io.Copy(io.Discard, s.in) },
	"exit-at-start": func(*script) {
		fmt.Fprintln(os.Stderr, "cannot start: there is no database")
		os.Exit(3)
	},
	"garbage-at-start": func(s *script) {
		s.line("garbage")
		os.Exit(0)
	},
	"refuse-start": func(s *script) {
		s.start = func(r *request) { r.fail(-32000, "come back tomorrow") }
		s.serve()
	},
	"hang-call": func(s *script) {
		s.call = func(r *request) {
			if r.Params.Name == "cancelled" {
				r.text(fmt.Sprint(s.cancelled))
			}
		}
		s.serve()
	},
	// It asks for what clients need not have, and for a form.
	"ask": func(s *script) {
		var call *request
		var answers []string
		asks := []string{
			`"ping"`, `"roots/list"`, `"sampling/createMessage","params":{"messages":[],"maxTokens":1}`, `"nonsense/method"`,
			`"elicitation/create","params":{"message":"form","requestedSchema":` +
				`{"type":"object","properties":{"z":{"type":"string"},"a":{"type":"string"}}}}`,
			`"elicitation/create","params":{"mode":"url","message":"page","url":"https://example.com/","elicitationId":"1"}`,
			`"elicitation/create","params":{"message":5}`,
		}
		ask := func() {
			if len(answers) == len(asks) {
				call.text(strings.Join(answers, "\n"))
				return
			}
			s.line(`{"jsonrpc":"2.0","id":"q` + fmt.Sprint(len(answers)) + `","method":` + asks[len(answers)] + "}")
		}
		s.call = func(r *request) {
			call, answers = r, nil
			ask()
		}
		s.answered = func(r *request) {
			answers = append(answers, string(r.Result)+string(r.Error))
			ask()
		}
		s.serve()
	},
	"die": func(s *script) {
		s.call = func(r *request) {
			fmt.Fprintln(os.Stderr, "panic: the disk is on fire")
			os.Exit(9)
		}
		s.serve()
	},
	"close-output": func(s *script) {
		s.call = func(r *request) { _ = s.out.Close() }
		s.serve()
	},
	"chatty": chatty,
	"wrong-ids": func(s *script) {
		s.call = func(r *request) {
			for _, id := range []string{"999", `"1"`, "null", "{}", "-1", "1e99", `"x"`} {
				s.line(`{"jsonrpc":"2.0","id":` + id + `,"result":{"content":[{"type":"text","text":"wrong"}]}}`)
			}
			s.line(`{"jsonrpc":"2.0","result":{}}`)
			s.line(`{"jsonrpc":"2.0","error":{"code":1,"message":"no id"}}`)
			r.text("right")
			r.text("again")
		}
		s.serve()
	},
	"flood": func(s *script) {
		s.call = func(r *request) {
			for i := range 50_000 {
				s.line(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d}}`,
					r.Params.Meta.Token, i))
				s.line(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"flood"}}`)
				s.line(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
				s.line(`{"jsonrpc":"2.0","method":"notifications/unheard/of"}`)
			}
			r.text("done")
		}
		s.serve()
	},
	// It asks and asks, and does not read the answers.
	"flood-requests": func(s *script) {
		s.call = func(r *request) {
			for i := range 50_000 {
				s.line(fmt.Sprintf(`{"jsonrpc":"2.0","id":"ping-%d","method":"ping"}`, i))
			}
			r.text("done")
		}
		s.serve()
	},
	"huge": func(s *script) {
		s.call = func(r *request) {
			switch r.Params.Name {
			case "notification":
				s.line(`{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"` + strings.Repeat("x", 10<<20) + `"}}`)
				r.text("small")
			default:
				r.result(`{"content":[{"type":"text","text":"` + strings.Repeat("x", 100<<20) + `"}]}`)
			}
		}
		s.serve()
	},
	"deaf": func(s *script) {
		s.list = func(r *request) {
			r.result(usual)
			time.Sleep(time.Hour) // until it is killed
		}
		s.serve()
	},
	"pid": func(s *script) {
		s.call = func(r *request) { r.text(fmt.Sprint(os.Getpid())) }
		s.serve()
	},
	"stubborn": stubborn,
	"tree":     tree,
	"results":  results,
	"errors": func(s *script) {
		s.call = func(r *request) {
			switch r.Params.Name {
			case "odd":
				s.line(`{"jsonrpc":"2.0","id":` + string(r.ID) + `,"error":"odd"}`)
			case "neither":
				s.line(`{"jsonrpc":"2.0","id":` + string(r.ID) + `}`)
			case "params":
				r.fail(-32602, "x is missing")
			default:
				r.fail(-32050, "out of order")
			}
		}
		s.serve()
	},
	"batch": func(s *script) {
		s.call = func(r *request) {
			s.line(`[{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"in a batch"}},` +
				`{"jsonrpc":"2.0","id":` + string(r.ID) + `,"result":{"content":[]}}]`)
		}
		s.serve()
	},
}

// chatty prints logs to standard output.
func chatty(s *script) {
	s.line("Server listening on stdio")
	s.line(`{"level":"info","msg":"a log line that is JSON"}`)
	s.line("")
	s.line("[1, 2, 3]")
	s.line(`{"jsonrpc":"1.0","id":1,"result":{}}`)
	s.line("\xff\xfe{{{")
	s.call = func(r *request) {
		s.line("handling a call")
		s.line(`{"jsonrpc":"2.0","id":`)
		s.line(`{"jsonrpc":"2.0","id":` + string(r.ID) + `,"result":{"content":[]}} trailing`)
		s.line(strings.Repeat("[", 20_000))
		for range 100 {
			s.line("more")
		}
		r.text("hello")
	}
	s.serve()
}

// stubborn does not end when it is asked to.
func stubborn(s *script) {
	signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	s.call = func(r *request) { r.text(fmt.Sprint(os.Getpid())) }
	s.serve()
	time.Sleep(time.Hour)
}

// tree starts a program that starts another one; neither reads its input.
func tree(s *script) {
	c := exec.Command("/bin/sh", "-c", `trap "" TERM; sleep 1000 & echo $!; wait`)
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	b := make([]byte, 32)
	n, _ := out.Read(b)
	s.call = func(r *request) {
		r.text(fmt.Sprintf("%d %d %s", os.Getpid(), c.Process.Pid, strings.TrimSpace(string(b[:n]))))
	}
	s.serve()
}

// results are odd answers of tools.
func results(s *script) {
	s.call = func(r *request) {
		if odd, ok := oddResults[r.Params.Name]; ok {
			r.result(odd)
			return
		}
		r.result(string(r.Params.Arguments)) // any result
	}
	s.serve()
}

var oddResults = map[string]string{
	"null":      "null",
	"number":    "17",
	"empty":     "{}",
	"content":   `{"content":"text"}`,
	"base64":    `{"content":[{"type":"image","data":"!!!","mimeType":"image/png"}]}`,
	"unknown":   `{"content":[{"type":"hologram","x":1}]}`,
	"block":     `{"content":[17]}`,
	"resource":  `{"content":[{"type":"resource"}]}`,
	"list":      `{"structuredContent":[1]}`,
	"numbers":   `{"content":[],"structuredContent":{"z":12345678901234567890,"a":1.10,"m":{"b":1,"a":2}}}`,
	"surrogate": `{"content":[{"type":"text","text":"\ud800"}]}`,
	"old":       `{"toolResult":{"a":1}}`,
	"deep":      `{"structuredContent":` + strings.Repeat(`{"a":`, 9000) + "1" + strings.Repeat("}", 9000) + "}",
}
