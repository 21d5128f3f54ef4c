package tools

import (
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// alive tells whether there is a process, and it is no zombie.
func alive(t testing.TB, pid string) bool {
	t.Helper()
	n, err := strconv.Atoi(pid)
	if err != nil {
		t.Fatal(err)
	}
	p, err := os.FindProcess(n)
	if err != nil || p.Signal(syscall.Signal(0)) != nil {
		return false
	}
	if runtime.GOOS == "linux" {
		// What a server left behind is init's to reap, which may take a moment, or be nobody's in a container.
		stat, err := os.ReadFile("/proc/" + pid + "/stat")
		if err != nil {
			return false
		}
		_, rest, _ := strings.Cut(string(stat), ") ")
		return !strings.HasPrefix(rest, "Z") && !strings.HasPrefix(rest, "X")
	}
	return true
}

func serveHTTP(t testing.TB, h http.Handler) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s.URL
}

// listen serves h until stop is called.
func listen(t testing.TB, h http.Handler) (url string, stop func()) {
	t.Helper()
	s := httptest.NewServer(h)
	stop = func() {
		s.CloseClientConnections()
		s.Close()
	}
	t.Cleanup(stop)
	return s.URL, stop
}
