package tools

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/mayfly-run/mayfly/hostfns"
	"github.com/mayfly-run/mayfly/internal/mcptest"
)

// npmServer is one of the servers that .ci/npm-tools installs.
func npmServer(t testing.TB, name string, args ...string) Server {
	t.Helper()
	return Server{Command: mcptest.Node(t, 18), Args: append([]string{filepath.Join(mcptest.NPM(t), ".bin", "mcp-server-"+name)}, args...)}
}

// TestEverything uses the reference server over every transport.
func TestEverything(t *testing.T) {
	for name, conf := range map[string]func(*testing.T) Server{
		TransportStdio: func(t *testing.T) Server { return npmServer(t, "everything", "stdio") },
		TransportHTTP:  func(t *testing.T) Server { return Server{URL: everythingURL(t, "streamableHttp") + "/mcp"} },
		TransportSSE: func(t *testing.T) Server {
			return Server{URL: everythingURL(t, "sse") + "/sse", Transport: TransportSSE}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := one(t, nil, conf(t))
			l, err := s.Tools(within(t), "x")
			if err != nil || len(l.Tools) < 10 || l.Instructions == "" {
				t.Fatalf("%+v, %v", l, err)
			}
			if got := mustText(t, s, "echo", `{"message":"hello"}`); got != "Echo: hello" {
				t.Errorf("%q", got)
			}
			if got := mustText(t, s, "get-sum", `{"a":20,"b":22}`); !strings.Contains(got, "42") {
				t.Errorf("%q", got)
			}
			r, err := call(t, s, "get-structured-content", `{"location":"Chicago"}`)
			var weather struct{ Temperature *float64 }
			if err != nil || json.Unmarshal(r.Structured, &weather) != nil || weather.Temperature == nil {
				t.Errorf("%+v, %v", r, err)
			}
			r, err = call(t, s, "get-tiny-image", `{}`)
			if err != nil || len(r.Content) != 3 || r.Content[1].MIMEType != "image/png" || !strings.HasPrefix(string(r.Content[1].Data), "\x89PNG") {
				t.Errorf("%+v, %v", r, err)
			}
			r, err = call(t, s, "get-resource-links", `{"count":2}`)
			if err != nil || len(r.Content) != 3 || r.Content[2].Type != hostfns.BlockLink || r.Content[2].URI == "" {
				t.Errorf("%+v, %v", r, err)
			}
			r, err = call(t, s, "get-resource-reference", `{"resourceType":"Blob","resourceId":2}`)
			if err != nil || len(r.Content) != 3 || r.Content[1].Type != hostfns.BlockResource || len(r.Content[1].Data) == 0 {
				t.Errorf("%+v, %v", r, err)
			}
			_, err = call(t, s, "there-is-none", `{}`)
			if e := asError(t, err); e.Code != hostfns.CodeUnknownTool {
				t.Errorf("%+v", e)
			}
			if r, err = call(t, s, "get-sum", `{"a":"x"}`); err == nil && !r.IsError {
				t.Errorf("%+v", r)
			}
			testEverythingEvents(t, s)
		})
	}
}

func testEverythingEvents(t *testing.T, s *Servers) {
	t.Helper()
	var mu sync.Mutex
	var progress []string
	_, err := s.Call(within(t), &hostfns.ToolCall{
		Server: "x", Tool: "trigger-long-running-operation", Args: []byte(`{"duration":0.2,"steps":4}`), Emit: func(e hostfns.Event) {
			if e.Kind == hostfns.EventProgress {
				mu.Lock()
				defer mu.Unlock()
				progress = append(progress, string(e.Data))
			}
		},
	})
	if err != nil || len(progress) != 4 || !strings.Contains(progress[3], `"progress":4,"total":4`) {
		t.Errorf("%v, %v", progress, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	_, err = s.Call(ctx, &hostfns.ToolCall{
		Server: "x", Tool: "trigger-long-running-operation", Args: []byte(`{"duration":600,"steps":6000}`),
		Emit: func(hostfns.Event) { cancel() },
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	asked := 0
	r, err := s.Call(within(t), &hostfns.ToolCall{
		Server: "x", Tool: "trigger-elicitation-request", Ask: func(_ context.Context, q *hostfns.Question) (*hostfns.Reply, error) {
			asked++
			return &hostfns.Reply{Action: hostfns.ActionAccept, Content: []byte(`{"name":"Ada Lovelace"}`)}, nil
		},
	})
	if err != nil || r.IsError || asked != 1 || !strings.Contains(fmt.Sprintf("%+v", r), "Ada Lovelace") {
		t.Errorf("%+v, %v, asked %d times", r, err, asked)
	}
}

// TestEverythingURL has the server send people to a page: by an error of the call, which is made again then, and by a question.
func TestEverythingURL(t *testing.T) {
	s := one(t, nil, npmServer(t, "everything", "stdio"))
	var urls []string
	r, err := s.Call(within(t), &hostfns.ToolCall{
		Server: "x", Tool: "trigger-url-elicitation", Args: []byte(`{"url":"https://example.com/","errorPath":true}`),
		Ask: func(_ context.Context, q *hostfns.Question) (*hostfns.Reply, error) {
			urls = append(urls, q.URL)
			return &hostfns.Reply{Action: hostfns.ActionAccept}, nil
		},
	})
	if err != nil || r.IsError || len(urls) != 2 || urls[1] != "https://example.com/" {
		t.Errorf("%+v, %v, %q", r, err, urls)
	}
}

var listening = regexp.MustCompile(`(?i)(listening|running) on port (\d+)`)

// everythingURL starts the server by hand, as somebody else would.
func everythingURL(t *testing.T, transport string) string {
	t.Helper()
	conf := npmServer(t, "everything", transport)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	_ = l.Close()
	c := exec.Command(conf.Command, conf.Args...)
	c.Env = append(os.Environ(), "PORT="+port)
	stderr, err := c.StderrPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	ready, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		var once sync.Once
		lines := bufio.NewScanner(stderr)
		for lines.Scan() {
			if listening.MatchString(lines.Text()) {
				once.Do(func() { close(ready) })
			}
		}
	}()
	t.Cleanup(func() {
		_ = c.Process.Kill()
		<-done
		_ = c.Wait()
	})
	select {
	case <-ready:
	case <-done:
		t.Fatal("the server ended")
	case <-within(t).Done():
		t.Fatal("the server does not listen")
	}
	return "http://127.0.0.1:" + port
}

func TestFilesystem(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(root, "notes.txt")
	if err := os.WriteFile(path, []byte("one\ntwo\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := one(t, nil, npmServer(t, "filesystem", root))
	args, _ := json.Marshal(map[string]string{"path": path})
	if got := mustText(t, s, "read_text_file", string(args)); got != "one\ntwo\n" {
		t.Errorf("%q", got)
	}
	args, _ = json.Marshal(map[string]string{"path": root})
	if got := mustText(t, s, "list_directory", string(args)); got != "[FILE] notes.txt" {
		t.Errorf("%q", got)
	}
	r, err := call(t, s, "read_text_file", `{"path":"/etc/passwd"}`)
	if err != nil || !r.IsError {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestMemory(t *testing.T) {
	conf := npmServer(t, "memory")
	conf.Env = map[string]string{"MEMORY_FILE_PATH": filepath.Join(t.TempDir(), "memory.json")}
	s := one(t, nil, conf)
	r, err := call(t, s, "create_entities", `{"entities":[{"name":"Ada","entityType":"person","observations":["likes engines"]}]}`)
	if err != nil || r.IsError {
		t.Fatalf("%+v, %v", r, err)
	}
	r, err = call(t, s, "read_graph", `{}`)
	if err != nil || r.IsError || !strings.Contains(fmt.Sprintf("%+v", r), "likes engines") {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestSequentialThinking(t *testing.T) {
	s := one(t, nil, npmServer(t, "sequential-thinking"))
	r, err := call(t, s, "sequentialthinking", `{"thought":"a","nextThoughtNeeded":false,"thoughtNumber":1,"totalThoughts":1}`)
	if err != nil || r.IsError || !strings.Contains(fmt.Sprintf("%+v %s", r.Content, r.Structured), `"thoughtNumber"`) {
		t.Errorf("%+v, %v", r, err)
	}
}
