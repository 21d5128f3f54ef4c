package config

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/mayfly-run/mayfly/hostfns"
	"github.com/mayfly-run/mayfly/hostfns/secrets"
)

// Config is what a configuration file says. The zero value is an empty one.
type Config struct {
	// Tools are files with tool servers, {"mcpServers": {...}}.
	Tools List `json:"tools,omitempty"`
	// MCPServers are tool servers as such a file has them.
	MCPServers json.RawMessage `json:"mcpServers,omitempty"`
	// Plugins are directories of Extism plug-ins.
	Plugins List `json:"plugins,omitempty"`
	// Secrets are the named secrets, see secrets.ParseConfig.
	Secrets json.RawMessage `json:"secrets,omitempty"`
	// HTTP is what code in sandboxes may reach. Default: nothing.
	HTTP *HTTP `json:"http,omitempty"`
	// LLM is the model of ask_llm. Default: none.
	LLM *LLM `json:"llm,omitempty"`
	// Policy holds for all sessions.
	Policy *Policy `json:"policy,omitempty"`

	file    string // where it was read from, "" if it was not
	secrets []secrets.Spec
	ownURL  bool // LLM.BaseURL was named by SetModel
}

// HTTP is what code in sandboxes may reach.
type HTTP struct {
	// Allow are rules, see egress.ParseRule.
	Allow List `json:"allow,omitempty"`
	// MaxResponse bounds a response, Timeout a request with its redirects. Default: those of package egress.
	MaxResponse Size     `json:"maxResponse,omitempty"`
	Timeout     Duration `json:"timeout,omitempty"`
}

// LLM is the model of ask_llm.
type LLM struct {
	// BaseURL is that of an OpenAI-compatible server. Default: $OPENAI_BASE_URL, else OpenAI's.
	BaseURL string `json:"baseURL,omitempty"`
	// Model is the default model, and AllowModels are patterns of others that a program may name. Default: no others.
	Model       string `json:"model,omitempty"`
	AllowModels List   `json:"allowModels,omitempty"`
	// APIKey is the key: ${secret:NAME}, ${VARIABLE} or the key itself. Default: $OPENAI_API_KEY, unless the file names a
	// BaseURL: a key is not sent where its owner did not say.
	APIKey string `json:"apiKey,omitempty"`
	// The budgets of an execution with all that it starts, see llm.Options.
	MaxCalls  int      `json:"maxCalls,omitempty"`
	MaxTokens int64    `json:"maxTokens,omitempty"`
	MaxDepth  int      `json:"maxDepth,omitempty"`
	MaxTime   Duration `json:"maxTime,omitempty"`
	// Timeout bounds one request to the server.
	Timeout Duration `json:"timeout,omitempty"`
	// Cache is a directory where answers are kept. Default: they are kept in memory.
	Cache string `json:"cache,omitempty"`
}

// Policy is a hostfns.Policy as a file has it.
type Policy struct {
	Allow       List     `json:"allow,omitempty"`
	Deny        List     `json:"deny,omitempty"`
	ReadOnly    bool     `json:"readOnly,omitempty"`
	Approve     List     `json:"approve,omitempty"`
	Functions   List     `json:"functions,omitempty"`
	MaxCalls    int      `json:"maxCalls,omitempty"`
	MaxBytes    Size     `json:"maxBytes,omitempty"`
	MaxParallel int      `json:"maxParallel,omitempty"`
	CallTimeout Duration `json:"callTimeout,omitempty"`
	Retries     int      `json:"retries,omitempty"`
}

// AddSecret adds a secret, in the place of one of the same name.
func (c *Config) AddSecret(s secrets.Spec) {
	c.secrets = slices.DeleteFunc(c.secrets, func(old secrets.Spec) bool { return old.Name == s.Name })
	c.secrets = append(c.secrets, s)
}

// AllowSecret adds a destination that code in sandboxes may send a secret to.
func (c *Config) AllowSecret(name, destination string) error {
	for i := range c.secrets {
		if c.secrets[i].Name == name {
			c.secrets[i].Allow = append(slices.Clone(c.secrets[i].Allow), destination)
			return nil
		}
	}
	return fmt.Errorf("there is no secret %.80q", name)
}

// Empty tells that the configuration offers nothing to code in sandboxes.
func (c *Config) Empty() bool {
	return len(c.Tools) == 0 && c.MCPServers == nil && len(c.Plugins) == 0 && len(c.secrets) == 0 && c.HTTP == nil &&
		c.LLM == nil && c.Policy == nil
}

func (p *Policy) policy() *hostfns.Policy {
	if p == nil {
		return nil
	}
	return &hostfns.Policy{
		Allow: p.Allow, Deny: p.Deny, ReadOnly: p.ReadOnly, Approve: p.Approve, Functions: p.Functions, MaxCalls: p.MaxCalls,
		MaxBytes: int64(p.MaxBytes), MaxParallel: p.MaxParallel, CallTimeout: time.Duration(p.CallTimeout), Retries: p.Retries,
	}
}
