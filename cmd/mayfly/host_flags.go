package main

import (
	"errors"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mayfly-run/mayfly/hostfns"
	"github.com/mayfly-run/mayfly/hostfns/egress"
	"github.com/mayfly-run/mayfly/hostfns/secrets"
	"github.com/mayfly-run/mayfly/internal/config"
)

// hostFlags say what code in sandboxes may ask its host for.
type hostFlags struct {
	config  string
	tools   []string
	plugins []string

	secrets     []string
	allowSecret []string
	allowHTTP   []string
	llmBaseURL  string
	llmModel    string
	llmKey      string

	allowTool   []string
	denyTool    []string
	readOnly    bool
	approve     []string
	maxCalls    int
	callTimeout time.Duration

	onQuestion string
	verbose    bool
}

// addServerFlags adds the flags that name tool servers.
func addServerFlags(c *cobra.Command, f *hostFlags) {
	fl := c.Flags()
	fl.StringVar(&f.config, "config", "",
		"read the configuration `FILE`, \"off\" for none; default: $MAYFLY_CONFIG, else mayfly/config.json in the user's "+
			"configuration directory")
	fl.StringArrayVar(&f.tools, "tools", nil,
		"use the tool servers of `FILE`, {\"mcpServers\": {...}}, and not those of the configuration; may be repeated")
	fl.StringArrayVar(&f.plugins, "plugins", nil,
		"use the Extism plug-ins in `DIR` as tool servers, and not those of the configuration; may be repeated")
	fl.StringArrayVar(&f.secrets, "secret", nil,
		"have a secret `NAME=SOURCE`: env:VARIABLE, file:PATH or cmd:COMMAND; ${secret:NAME} stands for it in "+
			"configurations; may be repeated")
}

// addOfferFlags adds the flags that name what programs are offered.
func addOfferFlags(c *cobra.Command, f *hostFlags) {
	addServerFlags(c, f)
	fl := c.Flags()
	fl.StringArrayVar(&f.allowSecret, "allow-secret", nil,
		"let the program send a secret to a destination: `NAME=DESTINATION`, tool:SERVER.TOOL or http:HOST[:PORT]; may be repeated")
	fl.StringArrayVar(&f.allowHTTP, "allow-http", nil,
		"let the program make requests that match `RULE`: [private] [METHOD,...] [SCHEME://]HOST[:PORT][/PATH], by default "+
			"GET and HEAD, https, and hosts with public addresses; may be repeated")
	fl.StringVar(&f.llmBaseURL, "llm-base-url", "",
		"let the program use ask_llm with the OpenAI-compatible server at `URL`; default: $OPENAI_BASE_URL, else OpenAI's")
	fl.StringVar(&f.llmModel, "llm-model", "", "let the program use ask_llm with this `MODEL`")
	fl.StringVar(&f.llmKey, "llm-key", "",
		"the `SECRET`, of --secret or the configuration, that is the model's API key; default: $OPENAI_API_KEY")
}

// addHostFlags adds those of run, repl and serve.
func addHostFlags(c *cobra.Command, f *hostFlags) {
	addOfferFlags(c, f)
	fl := c.Flags()
	fl.StringArrayVar(&f.allowTool, "allow-tool", nil,
		"let the program call tools that match `GLOB` only, like github.*; may be repeated")
	fl.StringArrayVar(&f.denyTool, "deny-tool", nil, "let it neither see nor call tools that match `GLOB`; may be repeated")
	fl.BoolVar(&f.readOnly, "read-only-tools", false, "let it call only tools whose servers say that they change nothing")
	fl.StringArrayVar(&f.approve, "approve", nil, "ask you before each call of a tool that matches `GLOB`; may be repeated")
	fl.IntVar(&f.maxCalls, "max-calls", hostfns.DefaultMaxCalls, "calls of tools, models and HTTP that an execution may make; 0: none")
	fl.DurationVar(&f.callTimeout, "call-timeout", hostfns.DefaultCallTimeout, "limit of one call of a tool or of one HTTP request; models have a limit of their own")
}

// addQuestionFlags adds those of commands that show a program's events.
func addQuestionFlags(c *cobra.Command, f *hostFlags) {
	fl := c.Flags()
	fl.StringVar(&f.onQuestion, "on-question", questionsAsk,
		"`HOW` to answer what needs a person: ask at the terminal (without one it is denied), wait for mayfly questions, or deny")
	fl.BoolVarP(&f.verbose, "verbose", "v", false, "show on stderr what tool servers log, write and tell of their progress, and what models say")
}

// checkQuestions finds what is wrong with the flags of addQuestionFlags.
func (f *hostFlags) checkQuestions(durable bool) error {
	switch {
	case !slices.Contains([]string{questionsAsk, questionsWait, questionsDeny}, f.onQuestion):
		return usageError("it is ask, wait or deny", "--on-question %q", f.onQuestion)
	case f.onQuestion == questionsWait && !durable:
		return usageError("name one with --session; questions of other runs cannot be answered from outside",
			"--on-question wait without a session")
	}
	return nil
}

// given tells whether the command line itself names something to offer, as opposed to the default configuration file.
func (f *hostFlags) given(c *cobra.Command) bool {
	return slices.ContainsFunc([]string{
		"config", "tools", "plugins", "secret", "allow-secret", "allow-http", "llm-base-url", "llm-model", "llm-key",
	}, c.Flags().Changed)
}

// load returns the configuration with what the flags say.
func (f *hostFlags) load(c *cobra.Command) (*config.Config, error) {
	cfg, err := f.file(c)
	if err != nil {
		return nil, configError(err)
	}
	if len(f.tools) > 0 || len(f.plugins) > 0 {
		cfg.SetTools(f.tools, f.plugins)
	}
	for _, s := range f.secrets {
		spec, err := secrets.ParseSpec(s)
		if err != nil {
			return nil, usageError("write for example --secret TOKEN=env:TOKEN", "--secret: %v", err)
		}
		cfg.AddSecret(spec)
	}
	for _, a := range f.allowSecret {
		name, destination, ok := strings.Cut(a, "=")
		if !ok {
			return nil, usageError("write for example --allow-secret TOKEN=http:api.example.com",
				"--allow-secret %q is not a name and a destination", a)
		}
		if err := cfg.AllowSecret(name, destination); err != nil {
			return nil, usageError("name it with --secret, or in the configuration", "--allow-secret: %v", err)
		}
	}
	for _, rule := range f.allowHTTP {
		if _, err := egress.ParseRule(rule); err != nil {
			return nil, usageError("write for example --allow-http https://api.example.com/v1", "--allow-http: %v", err)
		}
		if cfg.HTTP == nil {
			cfg.HTTP = &config.HTTP{}
		}
		cfg.HTTP.Allow = append(cfg.HTTP.Allow, rule)
	}
	if f.llmBaseURL != "" || f.llmModel != "" || f.llmKey != "" {
		cfg.SetModel(f.llmBaseURL, f.llmModel, f.llmKey)
	}
	return cfg, nil
}

func (f *hostFlags) file(c *cobra.Command) (*config.Config, error) {
	switch {
	case !c.Flags().Changed("config"):
		return config.LoadDefault()
	case f.config == config.Off:
		return &config.Config{}, nil
	}
	return config.Load(f.config)
}

// policy is what the flags say besides the configuration's policy; nil if that is nothing.
func (f *hostFlags) policy(c *cobra.Command) (*hostfns.Policy, error) {
	p := &hostfns.Policy{Allow: f.allowTool, Deny: f.denyTool, ReadOnly: f.readOnly, Approve: f.approve}
	given := p.Allow != nil || p.Deny != nil || p.ReadOnly || p.Approve != nil
	if c.Flags().Changed("max-calls") {
		if f.maxCalls < 0 {
			return nil, usageError("0 is none at all", "--max-calls %d is negative", f.maxCalls)
		}
		p.MaxCalls, given = f.maxCalls, true
		if f.maxCalls == 0 {
			p.MaxCalls = -1
		}
	}
	if c.Flags().Changed("call-timeout") {
		if f.callTimeout <= 0 {
			return nil, usageError("write for example --call-timeout 90s", "--call-timeout %v is not positive", f.callTimeout)
		}
		p.CallTimeout, given = f.callTimeout, true
	}
	if !given {
		return nil, nil
	}
	return p, nil
}

// configError is an error of a configuration, with its exit code.
func configError(err error) error {
	var key *config.KeyError
	hint := ""
	switch {
	case errors.As(err, &key):
		hint = "mayfly doctor checks the configuration; --config off ignores it"
	case errors.Is(err, fs.ErrNotExist):
		hint = "paths in a configuration are relative to its file, those of flags to the working directory"
	}
	return usageError(hint, "%v", err)
}
