package httpapi

import (
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

func TestTrusted(t *testing.T) {
	for _, test := range []struct {
		peer uint32
		own  int
		want bool
	}{{1000, 1000, true}, {0, 1000, true}, {0, 0, true}, {1001, 1000, false}, {1000, 0, false}, {1<<32 - 1, -1, false}} {
		if err := trusted(test.peer, test.own); (err == nil) != test.want || err != nil && !errors.Is(err, ErrStranger) {
			t.Errorf("user %d to user %d: %v", test.peer, test.own, err)
		}
	}
}

const strangerVariable = "MAYFLY_TEST_STRANGER_SOCKET"

// TestStranger connects as another user, which only root can arrange: a socket that everybody may open is still refused.
func TestStranger(t *testing.T) {
	if path := os.Getenv(strangerVariable); path != "" { // this is that user
		if _, err := NewClient(DialUnix(path)).Health(t.Context()); err == nil {
			t.Error("the server answered another user")
		}
		return
	}
	if os.Geteuid() != 0 {
		t.Skip("only root can be somebody else")
	}
	dir, err := os.MkdirTemp("", "m")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	l, err := ListenUnix(dir)
	if err != nil {
		t.Fatal(err)
	}
	s := Start(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a request was let in") }), nil, l)
	defer s.Close()
	path := filepath.Join(dir, SocketName)
	for file, mode := range map[string]os.FileMode{dir: 0o755, path: 0o777} {
		if err := os.Chmod(file, mode); err != nil {
			t.Fatal(err)
		}
	}
	self, err := os.ReadFile("/proc/self/exe") // the test binary may be where others cannot run it
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "program")
	if err := os.WriteFile(program, self, 0o755); err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), program, "-test.run=^TestStranger$")
	c.Dir = dir
	c.Env = append(os.Environ(), strangerVariable+"="+path)
	c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	if out, err := c.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
