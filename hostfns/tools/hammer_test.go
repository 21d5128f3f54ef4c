package tools

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mayfly-run/mayfly/hostfns"
	"github.com/mayfly-run/mayfly/internal/mcptest"
)

// hostVariable makes the test binary a process that has tool servers, and is killed.
const hostVariable = "MAYFLY_TOOLS_TEST_HOST"

// beHost starts a server, tells the numbers of its processes, and waits to be killed.
func beHost() {
	path, err := os.Executable()
	if err != nil {
		panic(err)
	}
	mode := os.Getenv(hostVariable)
	s, err := New(&Config{Servers: map[string]Server{"x": {Command: path, Env: map[string]string{mcptest.Variable: mode}}}}, nil)
	if err != nil {
		panic(err)
	}
	r, err := s.Call(context.Background(), &hostfns.ToolCall{Server: "x", Tool: "run"})
	if err != nil {
		panic(err)
	}
	fmt.Println(r.Content[0].Text)
	select {}
}

// TestKilled kills a process with tool servers, which must not outlive it.
func TestKilled(t *testing.T) {
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(path)
	c.Env = append(os.Environ(), hostVariable+"=pid")
	c.Stderr = os.Stderr
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	if !alive(t, strings.TrimSpace(line)) {
		t.Errorf("process %q is not alive", line)
	}
	_ = c.Process.Kill()
	_ = c.Wait()
	for ctx := within(t); alive(t, strings.TrimSpace(line)); time.Sleep(time.Millisecond) {
		if ctx.Err() != nil {
			t.Fatalf("process %s is alive", line)
		}
	}
}

// TestHammer calls, cancels, refreshes and kills servers at once, and closes them in the middle of it.
func TestHammer(t *testing.T) {
	s := open(t, &Options{CacheDir: t.TempDir(), Logger: quiet}, map[string]Server{
		"good": stdio(t, mcptest.Serve), "dying": stdio(t, "die"), "failing": stdio(t, "exit-at-start"), "restless": stdio(t, "restless"),
		"http": {URL: mcptest.HTTP(t, mcptest.New(nil), nil), IdleTimeout: time.Millisecond},
		"sse":  {URL: mcptest.SSE(t, mcptest.New(nil), nil), Transport: TransportSSE},
	})
	calls := []hostfns.ToolCall{
		{Server: "good", Tool: "echo", Args: []byte(`{"text":"x"}`)}, {Server: "good", Tool: "wait"}, {Server: "good", Tool: "exit"},
		{Server: "good", Tool: "progress", Args: []byte(`{"steps":20}`), Emit: func(hostfns.Event) {}},
		{Server: "dying", Tool: "run"}, {Server: "failing", Tool: "run"}, {Server: "restless", Tool: "run"},
		{Server: "http", Tool: "echo", Args: []byte(`{"text":"x"}`)}, {Server: "http", Tool: "wait"},
		{Server: "sse", Tool: "ask", Ask: func(context.Context, *hostfns.Question) (*hostfns.Reply, error) { return nil, nil }},
	}
	var all sync.WaitGroup
	for i := range 40 {
		all.Go(func() {
			for j := range 10 {
				c := calls[(i+j)%len(calls)]
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i+1)*10*time.Millisecond)
				var err error
				switch j {
				case 3:
					_, err = s.Refresh(ctx, c.Server)
				case 5:
					_, err = s.Tools(ctx, c.Server)
				default:
					_, err = s.Call(ctx, &c)
				}
				cancel()
				if e := (*hostfns.Error)(nil); err != nil && !isContext(err) && !errors.As(err, &e) {
					t.Errorf("%s: %v", c.Tool, err)
				}
				if i == 39 && j == 9 {
					if err := s.Close(); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	all.Wait()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
