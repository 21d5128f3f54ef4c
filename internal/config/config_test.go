package config

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/mayfly-run/mayfly/hostfns"
	"github.com/mayfly-run/mayfly/hostfns/secrets"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestLoad(t *testing.T) {
	path := write(t, "config.json", `{
		// comments are no trouble
		"tools": "mcp.json", /* nor are
		these */
		"plugins": ["plugins", "/opt/plugins"],
		"secrets": {"A": {"from": "file:a.txt", "allow": ["http:example.com"]}, "B": "cmd:pass show \"b\" // not a comment"},
		"http": {"allow": ["api.example.com"], "maxResponse": "2MiB", "timeout": "5s"},
		"llm": {"model": "m", "maxCalls": 7, "cache": "answers"},
		"policy": {"allow": ["x.*"], "readOnly": true, "callTimeout": "1m30s", "maxBytes": 1000},
	}`)
	c, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Dir(path)
	if want := (List{filepath.Join(dir, "mcp.json")}); !reflect.DeepEqual(c.Tools, want) {
		t.Errorf("tools %q", c.Tools)
	}
	if want := (List{filepath.Join(dir, "plugins"), "/opt/plugins"}); !reflect.DeepEqual(c.Plugins, want) {
		t.Errorf("plugins %q", c.Plugins)
	}
	if len(c.secrets) != 2 || c.secrets[0].Source != "file:"+filepath.Join(dir, "a.txt") || c.secrets[1].Source != `cmd:pass show "b" // not a comment` {
		t.Errorf("secrets %v", c.secrets)
	}
	if c.HTTP.MaxResponse != 2<<20 || time.Duration(c.HTTP.Timeout) != 5*time.Second {
		t.Errorf("http %+v", c.HTTP)
	}
	if c.LLM.Cache != filepath.Join(dir, "answers") || c.LLM.MaxCalls != 7 {
		t.Errorf("llm %+v", c.LLM)
	}
	want := &hostfns.Policy{Allow: []string{"x.*"}, ReadOnly: true, CallTimeout: 90 * time.Second, MaxBytes: 1000}
	if p := c.Policy.policy(); !reflect.DeepEqual(p, want) {
		t.Errorf("policy %+v", p)
	}
}

// TestWrong: an error names the file, the line, the key and what to do.
func TestWrong(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{``, `:1: no valid JSON: EOF`},
		{"{\n\"http\": {\n\"alow\": []}}", `:3: http.alow: unknown key; did you mean "allow"?`},
		{`{"mcp_servers": {}}`, `:1: mcp_servers: unknown key; did you mean "mcpServers"?`},
		{`{"policy": {"read_only": true}}`, `policy.read_only: unknown key; did you mean "readOnly"?`},
		{`{"wholly different": 1}`, `unknown key; there are tools, mcpServers, plugins, secrets, http, llm, policy`},
		{`{"http": {"allow": [1]}}`, `http.allow: a string or a list of strings is expected`},
		{`{"http": []}`, `http: an object {...} is expected`},
		{`{"http": {"timeout": 5}}`, `http.timeout: a time with its unit is expected, for example "30s"`},
		{`{"http": {"timeout": "-5s"}}`, `http.timeout: "-5s" is no time`},
		{`{"http": {"maxResponse": "much"}}`, `http.maxResponse: "much" is no size`},
		{`{"llm": {"maxCalls": "many"}}`, `llm.maxCalls: string where a whole number is expected`},
		{`{"llm": {"model": 1}}`, `llm.model: number where a string is expected`},
		{`{"policy": {"readOnly": "yes"}}`, `policy.readOnly: string where true or false is expected`},
		{`{"llm": {}, "llm": {}}`, `llm: the key is there twice`},
		{"{}\n{}", `:2: something follows the JSON value`},
		{"{\n\n\"llm\": }", `:3: no valid JSON`},
		{`{"llm": {}`, `no valid JSON`},
		{`{"secrets": {"1": "env:X"}}`, `secrets: the name of a secret`},
		{`{"secrets": {"A": "hunter22"}}`, `secrets: secret A: its source has to be`},
		{`{"secrets": {"A": {"from": "env:X", "to": []}}}`, `secrets: secret A`},
		{`[]`, `an object {...} is expected`},
		{`null`, ``},
	} {
		_, err := Parse([]byte(test.text), "/etc/mayfly.json")
		if test.want == "" {
			if err != nil {
				t.Errorf("%s: %v", test.text, err)
			}
			continue
		}
		var key *KeyError
		if !errors.As(err, &key) || !strings.HasPrefix(err.Error(), "/etc/mayfly.json") || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %s", test.text, err, test.want)
		}
		if strings.Contains(err.Error(), "hunter22") {
			t.Errorf("the error shows a secret: %v", err)
		}
	}
}

func TestDefaultPath(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", dir)
	t.Setenv("HOME", dir)
	t.Setenv(Variable, "")
	if c, err := LoadDefault(); err != nil || !c.Empty() {
		t.Errorf("without a file: %+v, %v", c, err)
	}
	t.Setenv(Variable, filepath.Join(dir, "none.json"))
	if _, err := LoadDefault(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that the environment names is not there: %v", err)
	}
	t.Setenv(Variable, write(t, "c.json", `{"http": {"allow": "example.com"}}`))
	if c, err := LoadDefault(); err != nil || c.Empty() {
		t.Errorf("with a file: %+v, %v", c, err)
	}
	t.Setenv(Variable, Off)
	if c, err := LoadDefault(); err != nil || !c.Empty() {
		t.Errorf("off: %+v, %v", c, err)
	}
}

func TestSize(t *testing.T) {
	for text, want := range map[string]Size{`0`: 0, `12`: 12, `"12"`: 12, `"1KiB"`: 1024, `"3 MB"`: 3e6, `"2GiB"`: 2 << 30} {
		var z Size
		if err := json.Unmarshal([]byte(text), &z); err != nil || z != want {
			t.Errorf("%s: %d, %v", text, z, err)
		}
	}
	for _, text := range []string{`-1`, `"-1B"`, `1.5`, `"9223372036854775807GiB"`, `""`, `true`, `"B"`} {
		var z Size
		if json.Unmarshal([]byte(text), &z) == nil {
			t.Errorf("%s is %d", text, z)
		}
	}
}

// TestSpecTravels: what was read in one place is the same in another.
func TestSpecTravels(t *testing.T) {
	t.Setenv("TOKEN_A", "value of a")
	t.Setenv("URL_B", "http://example.com")
	dir := t.TempDir()
	t.Chdir(dir)
	if err := os.WriteFile("mcp.json", []byte(`{"mcpServers": {"s": {"url": "${URL_B}/${NOT_SET:-x}"}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir("plugins", 0o700); err != nil {
		t.Fatal(err)
	}
	c := &Config{}
	c.SetTools([]string{"mcp.json"}, []string{"plugins"})
	c.AddSecret(secrets.Spec{Name: "A", Source: "env:TOKEN_A", Allow: []string{"*"}})
	c.AddSecret(secrets.Spec{Name: "F", Source: "file:f.txt"})
	c.HTTP = &HTTP{Allow: List{"example.com"}, MaxResponse: 5, Timeout: Duration(time.Second)}
	c.Policy = &Policy{MaxCalls: 3, CallTimeout: Duration(time.Minute)}
	s, err := c.Spec()
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("TOKEN_A", "another")
	t.Chdir(t.TempDir())
	got, err := ParseSpec(b)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, s) {
		t.Errorf("sent\n%+v\ncame\n%+v", s, got)
	}
	if got.Dir != "" || got.Tools[0].Path != filepath.Join(dir, "mcp.json") || got.Plugins[0] != filepath.Join(dir, "plugins") {
		t.Errorf("paths: %+v", got)
	}
	if got.Secrets[0].Value != "value of a" || got.Secrets[1].Source != "file:"+filepath.Join(dir, "f.txt") {
		t.Errorf("secrets: %+v", got.Secrets)
	}
	if got.Env["URL_B"] != "http://example.com" || got.Env["PATH"] != os.Getenv("PATH") || got.Env["TOKEN_A"] != "" {
		t.Errorf("environment: %v", got.Env)
	}
}

func TestSpecErrors(t *testing.T) {
	none := filepath.Join(t.TempDir(), "none.json")
	for want, c := range map[string]*Config{
		"tools: ":                          {Tools: List{none}},
		"plugins: ":                        {Plugins: List{none}},
		"http.allow[1]: invalid HTTP rule": {HTTP: &HTTP{Allow: List{"example.com", "ht tp://x y"}}},
		"secrets.X: the environment has no variable NOT_SET_HERE": {secrets: []secrets.Spec{{Name: "X", Source: "env:NOT_SET_HERE"}}},
		"llm.apiKey: there is no secret K":                        {LLM: &LLM{APIKey: "${secret:K}"}},
		"llm.apiKey: the environment has no variable NOT_SET":     {LLM: &LLM{APIKey: "${NOT_SET_HERE}"}},
		"llm.apiKey: write ${secret:NAME}":                        {LLM: &LLM{APIKey: "Bearer ${X}"}},
	} {
		c.file = "/etc/mayfly.json"
		if _, err := c.Spec(); err == nil || !strings.HasPrefix(err.Error(), "/etc/mayfly.json: "+want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// TestHostileSpec: what a peer sends is refused, or makes a host; nothing else.
func TestHostileSpec(t *testing.T) {
	for _, text := range []string{
		``, `[]`, `1`, `{"tools": 1}`, `{"unknown": 1}`, `{"dir": "relative"}`, `{"plugins": ["../x"]}`, `{"tools": [{"path": "x"}]}`,
		`{"secrets": [{"name": "A", "source": "env:HOME"}]}`, `{"secrets": [{"name": "A", "source": "file:x"}]}`,
	} {
		if s, err := ParseSpec([]byte(text)); err == nil {
			t.Errorf("%s is %+v", text, s)
		}
	}
	for _, text := range []string{
		`{"secrets": [{"name": "A", "value": "12"}]}`, `{"secrets": [{"name": "", "value": "123456789"}]}`,
		`{"http": {"allow": ["ht tp://x"]}}`, `{"llm": {"apiKey": "${secret:NONE}"}}`,
		`{"tools": [{"path": "/x", "text": "{"}]}`, `{"tools": [{"path": "/x", "text": "{\"mcpServers\": []}"}]}`,
	} {
		s, err := ParseSpec([]byte(text))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if h, err := s.Host(t.Context(), nil); err == nil {
			t.Errorf("%s makes a host", text)
			h.Close()
		}
	}
}

func TestRestrict(t *testing.T) {
	s := &Spec{Policy: &hostfns.Policy{Deny: []string{"a"}, MaxCalls: 5, Retries: 3}}
	if err := s.Restrict(&hostfns.Policy{Allow: []string{"x"}, Deny: []string{"b"}, MaxCalls: -1, CallTimeout: time.Second, ReadOnly: true}); err != nil {
		t.Fatal(err)
	}
	want := &hostfns.Policy{
		Allow: []string{"x"}, Deny: []string{"a", "b"}, MaxCalls: -1, CallTimeout: time.Second, ReadOnly: true, Retries: 3,
	}
	if !reflect.DeepEqual(s.Policy, want) {
		t.Errorf("%+v", s.Policy)
	}
	if err := s.Restrict(&hostfns.Policy{Allow: []string{"y"}}); !errors.Is(err, ErrAllow) {
		t.Errorf("two allow lists: %v", err)
	}
}

// TestModelKey: a key goes nowhere but where its owner said.
func TestModelKey(t *testing.T) {
	t.Setenv(keyVariable, "sk-of-the-environment")
	t.Setenv(baseURLVariable, "http://base.example")
	for _, test := range []struct {
		name     string
		file     string
		base     string // of SetModel
		url, key string
	}{
		{"nothing said", `{}`, "", "http://base.example", "sk-of-the-environment"},
		{"the file names a server", `{"baseURL": "http://other.example"}`, "", "http://other.example", ""},
		{"the file has its own key", `{"baseURL": "http://other.example", "apiKey": "sk-of-the-file"}`, "", "http://other.example", "sk-of-the-file"},
		{"a short key is no secret", `{"apiKey": "none"}`, "", "http://base.example", "none"},
		{"the command line names a server", `{}`, "http://flag.example", "http://flag.example", "sk-of-the-environment"},
		{"another one than the file", `{"baseURL": "http://other.example", "apiKey": "sk-of-the-file"}`, "http://flag.example", "http://flag.example", "sk-of-the-environment"},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, err := Parse([]byte(`{"llm": `+test.file+`}`), "/etc/mayfly.json")
			if err != nil {
				t.Fatal(err)
			}
			if test.base != "" {
				c.SetModel(test.base, "", "")
			}
			s, err := c.Spec()
			if err != nil {
				t.Fatal(err)
			}
			key := s.LLM.APIKey
			if len(s.Secrets) == 1 {
				if key != "${secret:"+s.Secrets[0].Name+"}" {
					t.Errorf("the key is %q beside its secret", key)
				}
				key = s.Secrets[0].Value
			}
			if s.LLM.BaseURL != test.url || key != test.key {
				t.Errorf("%s with key %q, want %s with %q", s.LLM.BaseURL, key, test.url, test.key)
			}
			h, err := s.Host(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := h.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}
