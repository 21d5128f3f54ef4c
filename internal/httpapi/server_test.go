package httpapi_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/mayfly-run/mayfly/internal/httpapi"
)

// TestMalformed: whatever is wrong with a request, the answer is JSON that says what.
func TestMalformed(t *testing.T) {
	t.Parallel()
	s := serve(t, &httpapi.Options{MaxUpload: 1000})
	s.run(t, "s", "1")
	const js = "application/json"
	for _, test := range []struct {
		method, path, contentType, body string
		status                          int
		code                            string
	}{
		{"GET", "/", "", "", 404, "no_route"},
		{"GET", "/v2/sessions", "", "", 404, "no_route"},
		{"PATCH", "/v1/sessions", "", "", 404, "no_route"},
		{"GET", "/v1/sessions?label=x", "", "", 400, "invalid_request"},
		{"GET", "/v1/sessions/none", "", "", 404, "no_session"},
		{"GET", "/v1/sessions/a%20b", "", "", 400, "invalid_request"},
		{"PUT", "/v1/sessions/s", js, "{", 400, "invalid_request"},
		{"PUT", "/v1/sessions/s", js, "[]", 400, "invalid_request"},
		{"PUT", "/v1/sessions/s", js, "{} {}", 400, "invalid_request"},
		{"PUT", "/v1/sessions/s", js, `{"idle_ttl": 1}`, 400, "invalid_request"},
		{"PUT", "/v1/sessions/s", js, `{"idle_ttl_ms": "1h"}`, 400, "invalid_request"},
		{"PUT", "/v1/sessions/s", "application/x-www-form-urlencoded", "a=b", 400, "invalid_request"},
		{"PUT", "/v1/sessions/s", "text/plain", "{}", 400, "invalid_request"},
		{"POST", "/v1/sessions/s/exec", js, `{"code": 1}`, 400, "invalid_request"},
		{"POST", "/v1/sessions/s/exec", js, `{"code": "1", "stdin": "x", "stream_stdin": true}`, 400, "invalid_request"},
		{"POST", "/v1/sessions/none/exec", js, `{"code": "1"}`, 404, "no_session"},
		{"POST", "/v1/sessions/s/exec", js, `{"code": "` + strings.Repeat("x", 65<<20) + `"}`, 413, "too_large"},
		{"POST", "/v1/sessions/s/rewind", js, `{}`, 400, "invalid_request"},
		{"POST", "/v1/sessions/s/rewind", js, `{"step": -2}`, 400, "invalid_request"},
		{"POST", "/v1/sessions/s/rewind", js, `{"step": 0, "as": "x"}`, 400, "invalid_request"},
		{"POST", "/v1/sessions/s/rewind", js, `{"step": 1e99}`, 400, "invalid_request"},
		{"POST", "/v1/sessions/s/fork", js, `{"as": "x"}`, 400, "invalid_request"},
		{"GET", "/v1/sessions/s/files?step=x", "", "", 400, "invalid_request"},
		{"GET", "/v1/sessions/s/files?path=%00", "", "", 400, "invalid_request"},
		{"GET", "/v1/sessions/s/content?path=none", "", "", 404, "no_file"},
		{"PUT", "/v1/sessions/s/content", "", "x", 400, "invalid_request"},
		{"PUT", "/v1/sessions/s/content?path=x&mode=9", "", "x", 400, "invalid_request"},
		{"PUT", "/v1/sessions/s/content?path=x&mode=4755", "", "x", 400, "invalid_request"},
		{"PUT", "/v1/sessions/s/content?path=x", "", strings.Repeat("x", 1001), 413, "too_large"},
		{"PUT", "/v1/sessions/s/content?path=/", "", "x", 400, "invalid_request"},
		{"PUT", "/v1/sessions/s/content?path=x/" + strings.Repeat("y", 300), "", "x", 400, "invalid_request"},
		{"GET", "/v1/sessions/s/journal?from=-1", "", "", 400, "invalid_request"},
		{"GET", "/v1/sessions/s/journal?limit=1000000", "", "", 400, "invalid_request"},
		{"GET", "/v1/sessions/s/journal/x", "", "", 400, "invalid_request"},
		{"GET", "/v1/sessions/s/journal/7", "", "", 404, "no_step"},
		{"GET", "/v1/sessions/s/diff?from=a", "", "", 400, "invalid_request"},
		{"GET", "/v1/sessions/s/diff?from=0&to=9", "", "", 404, "no_step"},
		{"POST", "/v1/sessions/s/verify", js, `{"chain": true}`, 400, "invalid_request"},
		{"POST", "/v1/import", "", "x", 422, "invalid_archive"},
		{"PUT", "/v1/executions/none/stdin", "", "x", 404, "no_execution"},
		{"DELETE", "/v1/executions/none", "", "", 404, "no_execution"},
	} {
		status, body := s.request(t, test.method, test.path, test.contentType, test.body)
		var p httpapi.Problem
		err := json.Unmarshal([]byte(body), &p)
		if status != test.status || test.code != "" && (err != nil || p.Code != test.code || p.Message == "") {
			t.Errorf("%s %s %.60s: %d %.200s, want %d %s", test.method, test.path, test.body, status, body, test.status, test.code)
		}
	}
	// None of them did anything.
	status, body := s.request(t, http.MethodGet, "/v1/sessions/s", "", "")
	if status != 200 || !strings.Contains(body, `"step":1,`) {
		t.Errorf("the session is %d %s", status, body)
	}
}

// TestStepsInPages: a list that is cut goes on where it ended.
func TestStepsInPages(t *testing.T) {
	t.Parallel()
	s := serve(t, nil)
	for range 3 {
		s.run(t, "s", "1")
	}
	status, body := s.request(t, http.MethodGet, "/v1/sessions/s/journal?from=1&limit=2", "", "")
	var list struct {
		Steps []httpapi.Step
		Next  int
	}
	if err := json.Unmarshal([]byte(body), &list); err != nil || status != 200 {
		t.Fatal(status, body, err)
	}
	if len(list.Steps) != 2 || list.Steps[0].Step != 1 || list.Next != 3 {
		t.Errorf("%+v", list)
	}
}

// TestHostMounts: only a server that allows it shows directories of its host.
func TestHostMounts(t *testing.T) {
	t.Parallel()
	body := `{"sandbox": {"mounts": [{"host": ` + string(must(json.Marshal(t.TempDir()))) + `, "guest": "/data"}]}}`
	for allowed, want := range map[bool]int{true: 200, false: 400} {
		s := serve(t, &httpapi.Options{HostMounts: allowed})
		if status, answer := s.request(t, http.MethodPut, "/v1/sessions/m", "application/json", body); status != want {
			t.Errorf("allowed %v: %d %s", allowed, status, answer)
		}
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
