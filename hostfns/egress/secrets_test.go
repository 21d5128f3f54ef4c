package egress

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/mayfly-run/mayfly/hostfns"
	"github.com/mayfly-run/mayfly/hostfns/secrets"
)

const token = `t0ken "with" & odd%41 chars`

func secretServer(t *testing.T, got *http.Request, body *string, reply http.HandlerFunc) (*httptest.Server, *Client) {
	srv := serve(t, func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		*got, *body = *r, string(b)
		if reply != nil {
			reply(w, r)
		}
	})
	set, err := secrets.New(t.Context(), []secrets.Spec{
		{Name: "token", Value: token, Allow: []string{"http:" + srv.Listener.Addr().String()}},
		{Name: "lines", Value: "first\nsecond", Allow: []string{"*"}},
		{Name: "elsewhere", Value: "for another host", Allow: []string{"http:api.example:443"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return srv, client(t, srv, Options{Secrets: set}, "* http://HOST")
}

func TestReveal(t *testing.T) {
	var got http.Request
	var body string
	srv, c := secretServer(t, &got, &body, nil)
	do := func(path, data string, headers ...[2]string) *head {
		t.Helper()
		h, _, err := c.do(t.Context(), request{Method: "POST", URL: srv.URL + path, Headers: headers}, data)
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	for _, query := range []string{
		"a=1&key={{secret:token}}&b=%41", "a=1&key=%7B%7Bsecret%3Atoken%7D%7D&b=%41", "a=1&key=%7b%7bsecret:token%7d%7d&b=%41",
	} {
		h := do("/?"+query, "", [2]string{"X-Key", "Bearer {{secret:token}}"})
		if want := "a=1&key=" + url.QueryEscape(token) + "&b=%41"; got.URL.RawQuery != want {
			t.Errorf("query %q, want %q", got.URL.RawQuery, want)
		}
		if got.Header.Get("X-Key") != "Bearer "+token {
			t.Errorf("header %q", got.Header.Get("X-Key"))
		}
		if strings.Contains(h.URL, "t0ken") {
			t.Errorf("the guest sees %q", h.URL)
		}
	}
	pair := base64.StdEncoding.EncodeToString([]byte("me:{{secret:token}}"))
	do("/", "", [2]string{"Authorization", "Basic " + pair})
	if user, password, _ := got.BasicAuth(); user != "me" || password != token {
		t.Errorf("basic authentication as %q, %q", user, password)
	}
	form := [2]string{"Content-Type", "application/x-www-form-urlencoded; charset=utf-8"}
	quoted, _ := json.Marshal(token)
	for _, tt := range []struct{ sent, want string }{
		{`{"a": "{{secret:token}}", "n": 1.50}`, `{"a": ` + strings.NewReplacer(`\u0026`, "&").Replace(string(quoted)) + `, "n": 1.50}`},
		{"text {{secret:token}}\xff", "text " + token + "\xff"},
		{"nothing to do", "nothing to do"},
		{"{{secret:}} {{secret", "{{secret:}} {{secret"},
	} {
		if do("/", tt.sent); body != tt.want {
			t.Errorf("body %q becomes %q, want %q", tt.sent, body, tt.want)
		}
	}
	if do("/", "a=%7B%7Bsecret%3Atoken%7D%7D&b=x+y", form); body != "a="+url.QueryEscape(token)+"&b=x+y" {
		t.Errorf("form %q", body)
	}
}

func TestRevealRefused(t *testing.T) {
	var got http.Request
	var body string
	srv, c := secretServer(t, &got, &body, func(http.ResponseWriter, *http.Request) { t.Error("a request arrives") })
	for _, name := range []string{"elsewhere", "unknown"} {
		p := "{{secret:" + name + "}}"
		for _, r := range []request{
			{URL: srv.URL, Headers: [][2]string{{"X", p}}}, {URL: srv.URL + "/?a=" + p}, {URL: srv.URL + "/?" + url.QueryEscape(p)},
			{URL: srv.URL, Headers: [][2]string{{"Authorization", "basic " + base64.StdEncoding.EncodeToString([]byte("a:"+p))}}},
		} {
			_, _, err := c.do(t.Context(), r, "")
			wantCode(t, err, hostfns.CodeDenied, name)
			if strings.Contains(err.Error(), "for another host") {
				t.Errorf("the error has the value: %v", err)
			}
		}
		for _, data := range []string{p, `["` + p + `"]`} {
			_, _, err := c.do(t.Context(), request{Method: "PUT", URL: srv.URL}, data)
			wantCode(t, err, hostfns.CodeDenied, name)
		}
	}
	_, _, err := c.do(t.Context(), request{URL: srv.URL, Headers: [][2]string{{"X", "{{secret:lines}}"}}}, "")
	wantCode(t, err, hostfns.CodeRequest, "secret in the header X")
	for _, path := range []string{"/bot{{secret:token}}/x", "/%7B%7Bsecret%3Atoken%7D%7D"} {
		_, _, err = c.do(t.Context(), request{URL: srv.URL + path}, "")
		wantCode(t, err, hostfns.CodeRequest, "path")
	}
	// Where a request goes is decided before.
	_, _, err = c.do(t.Context(), request{URL: "http://{{secret:token}}/"}, "")
	wantCode(t, err, hostfns.CodeRequest)
}

func TestResponsesAreScrubbed(t *testing.T) {
	var got http.Request
	var body string
	srv, c := secretServer(t, &got, &body, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", "https://evil.test/?t="+url.QueryEscape(token))
		w.Header().Set("X-Auth", r.Header.Get("Authorization"))
		w.Header().Set("Content-Encoding", "gzip")
		w.WriteHeader(http.StatusFound)
		w.Write(zipped(fmt.Appendf(nil, "%s|%s|%s", token, base64.StdEncoding.EncodeToString([]byte(token)), r.Header.Get("Authorization"))))
	})
	pair := base64.StdEncoding.EncodeToString([]byte("me:{{secret:token}}"))
	h, data, err := c.do(t.Context(), request{URL: srv.URL, Headers: [][2]string{{"Authorization", "Basic " + pair}}}, "")
	if err != nil {
		t.Fatal(err)
	}
	if want := "{{secret:token}}|{{secret:token}}|Basic " + pair; data != want {
		t.Errorf("body %q, want %q", data, want)
	}
	if h.get("Location") != "https://evil.test/?t={{secret:token}}" || h.get("X-Auth") != "Basic "+pair {
		t.Errorf("headers %q", h.Headers)
	}
	if h.get("Content-Length") != fmt.Sprint(len(data)) {
		t.Errorf("Content-Length %s for %d bytes", h.get("Content-Length"), len(data))
	}
}
