package httpapi

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/mayfly-run/mayfly/hostfns"
)

// slowWriter writes when it is let.
type slowWriter struct {
	*httptest.ResponseRecorder
	let chan struct{}
}

func (w *slowWriter) Write(b []byte) (int, error) {
	<-w.let
	return w.ResponseRecorder.Write(b)
}

// TestEventFlood: a tool server that tells more than anybody reads fills no memory, and questions come through.
func TestEventFlood(t *testing.T) {
	w := &slowWriter{httptest.NewRecorder(), make(chan struct{})}
	var _ http.ResponseWriter = w
	q := newEvents(w)
	big := `{"data":"` + strings.Repeat("x", 100<<10) + `"}`
	for range 1000 {
		q.host(string(hostfns.EventLog), []byte(big))
	}
	q.host(string(hostfns.EventQuestion), []byte(`{"id":"q1"}`))
	q.host(string(hostfns.EventLog), []byte(`no JSON`))
	q.mu.Lock()
	held := 0
	for _, e := range q.pending {
		held += len(e.Info)
	}
	q.mu.Unlock()
	if held > maxTold+len(big) {
		t.Errorf("%d bytes wait", held)
	}
	close(w.let)
	q.finish(map[string]int{"a": 1}, nil)
	q.close()
	kinds := map[string]int{}
	for line := range strings.Lines(w.Body.String()) {
		var e Event
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%.200s: %v", line, err)
		}
		kinds[e.Event]++
		if e.Event == "note" && !strings.Contains(e.Data, "were dropped") {
			t.Errorf("note: %s", e.Data)
		}
	}
	if kinds["question"] != 1 || kinds["result"] != 1 || kinds["note"] == 0 || kinds["note"] > 2 || kinds["tool_log"] == 0 || kinds["tool_log"] > 30 {
		t.Errorf("%v", kinds)
	}
}
