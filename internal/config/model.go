package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/mayfly-run/mayfly/hostfns"
	"github.com/mayfly-run/mayfly/hostfns/llm"
	"github.com/mayfly-run/mayfly/hostfns/llm/openai"
	"github.com/mayfly-run/mayfly/hostfns/secrets"
)

// Variables of the environment that are the defaults of LLM. They do not offer a model by themselves: programs must not spend
// money because a variable happens to be set.
const (
	baseURLVariable = "OPENAI_BASE_URL"
	keyVariable     = "OPENAI_API_KEY"
)

// SetModel offers a model, or says more of the one that the configuration has. What is empty stays as it is; key is the name
// of a secret.
func (c *Config) SetModel(baseURL, model, key string) {
	var l LLM
	if c.LLM != nil {
		l = *c.LLM
	}
	if baseURL != "" && baseURL != l.BaseURL {
		// The key in the file is for the server that the file names.
		l.BaseURL, l.APIKey, c.ownURL = baseURL, "", true
	}
	if model != "" {
		l.Model = model
	}
	if key != "" {
		l.APIKey = "${secret:" + key + "}"
	}
	c.LLM = &l
}

var (
	secretReference   = regexp.MustCompile(`^\$\{secret:([A-Za-z_][A-Za-z0-9_]*)\}$`)
	variableReference = regexp.MustCompile(`^\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)\}$`)
)

// readModel finds the server of the model and the key. The key becomes a secret, so that it is scrubbed from what programs
// and journals get to see.
func (c *Config) readModel(s *Spec) error {
	if c.LLM == nil {
		return nil
	}
	l := *c.LLM
	s.LLM = &l
	value := ""
	switch {
	case l.APIKey == "" && (l.BaseURL == "" || c.ownURL):
		value = os.Getenv(keyVariable)
	case l.APIKey == "":
	case secretReference.MatchString(l.APIKey):
		name := secretReference.FindStringSubmatch(l.APIKey)[1]
		if !slices.ContainsFunc(c.secrets, func(sp secrets.Spec) bool { return sp.Name == name }) {
			return c.wrong("llm.apiKey", fmt.Errorf("there is no secret %s", name))
		}
	case variableReference.MatchString(l.APIKey):
		name := variableReference.FindStringSubmatch(l.APIKey)[1]
		var ok bool
		if value, ok = os.LookupEnv(name); !ok {
			return c.wrong("llm.apiKey", fmt.Errorf("the environment has no variable %s", name))
		}
	case strings.Contains(l.APIKey, "${"):
		return c.wrong("llm.apiKey", errors.New("write ${secret:NAME}, ${VARIABLE} or the key itself"))
	default:
		value = l.APIKey
	}
	if l.BaseURL == "" {
		l.BaseURL = os.Getenv(baseURLVariable)
	}
	if len(value) >= secrets.MinValue {
		name := c.freeName("LLM_API_KEY")
		s.Secrets = append(s.Secrets, Secret{Name: name, Value: value})
		value = "${secret:" + name + "}"
	}
	if value != "" {
		l.APIKey = value
	}
	if l.Cache != "" {
		abs, err := filepath.Abs(l.Cache)
		if err != nil {
			return c.wrong("llm.cache", err)
		}
		l.Cache = abs
	}
	return nil
}

// freeName returns a name that no secret has.
func (c *Config) freeName(name string) string {
	for slices.ContainsFunc(c.secrets, func(sp secrets.Spec) bool { return sp.Name == name }) {
		name += "_"
	}
	return name
}

// functions returns the host functions of the model.
func (l *LLM) functions(set *secrets.Set, o *HostOptions) (map[string]hostfns.Function, error) {
	key, err := set.Expand(l.APIKey)
	if err != nil {
		return nil, fmt.Errorf("llm.apiKey: %w", err)
	}
	m, err := openai.New(&openai.Options{
		BaseURL: l.BaseURL, APIKey: func() string { return key }, Model: l.Model, Timeout: time.Duration(l.Timeout),
	})
	if err != nil {
		return nil, err
	}
	return llm.Functions(m, &llm.Options{
		DefaultModel: l.Model, AllowModels: l.AllowModels, MaxCalls: l.MaxCalls, MaxTokens: l.MaxTokens, MaxDepth: l.MaxDepth,
		MaxWall: time.Duration(l.MaxTime), CacheDir: l.Cache, Logger: o.Logger,
	}), nil
}
