package main

import (
	"fmt"

	"github.com/mayfly-run/mayfly/hostfns"
	"github.com/mayfly-run/mayfly/hostfns/egress"
	"github.com/mayfly-run/mayfly/hostfns/llm"
	"github.com/mayfly-run/mayfly/hostfns/llm/openai"
	"github.com/mayfly-run/mayfly/hostfns/secrets"
	"github.com/mayfly-run/mayfly/hostfns/tools"
	"github.com/mayfly-run/mayfly/hostfns/tools/plugins"
	"github.com/mayfly-run/mayfly/internal/config"
)

// hostSettings are the defaults of what programs may ask their host for.
func hostSettings() []setting {
	mib := func(n int64) string { return fmt.Sprintf("%d MiB", n>>20) }
	return []setting{
		{"tools", "none", "only those of --tools, --plugins or the configuration"},
		{"server start", tools.DefaultStartTimeout.String(), "for a tool server to answer: package runners download it first"},
		{"tool result", mib(tools.DefaultMaxResult), "a message of a tool server, and so a result"},
		{"plug-in call", plugins.DefaultTimeout.String(), "unless its manifest says timeout_ms"},
		{"plug-in memory", mib(plugins.DefaultMaxMemory), "unless its manifest says memory.max_pages"},
		{"plug-in output", mib(plugins.DefaultMaxOutput), "what a call of a plug-in returns"},
		{"max-calls", fmt.Sprint(hostfns.DefaultMaxCalls), "host calls of an execution: far more than a sensible program makes"},
		{"call bytes", mib(hostfns.DefaultMaxBytes), "arguments and results of an execution's calls together"},
		{"parallel calls", fmt.Sprint(hostfns.DefaultMaxParallel), "of an execution at once; more wait for their turn"},
		{"call-timeout", hostfns.DefaultCallTimeout.String(), "one call of a tool or HTTP request, besides the time that a person takes to decide"},
		{"call retries", fmt.Sprint(hostfns.DefaultRetries), "of tools that are marked idempotent, when their server failed"},
		{"inline result", mib(hostfns.DefaultMaxInline), "a larger result stays on the host, and the program gets a handle"},
		{"handles", mib(hostfns.DefaultMaxHandles), "large results that a session keeps on the host; the oldest go first"},
		{"audited calls", fmt.Sprint(hostfns.MaxRecords), "of an execution that the journal tells of"},
		{"on-question", questionsAsk, "who approves: you, at the terminal; without one, calls that need approval are denied"},
		{"http", "none", "only what --allow-http or the configuration says"},
		{"http request", mib(egress.DefaultMaxRequest), "the body of a request"},
		{"http response", mib(egress.DefaultMaxResponse), "the body of a response, after decompression too"},
		{"http timeout", egress.DefaultTimeout.String(), "a request, to the last byte of its response"},
		{"llm", "none", "only with --llm-... or the configuration: programs must not spend money by accident"},
		{"llm base URL", openai.DefaultBaseURL, "$OPENAI_BASE_URL, else OpenAI's own"},
		{"llm calls", fmt.Sprint(llm.DefaultMaxCalls), "of an execution with all that it starts"},
		{"llm tokens", fmt.Sprint(llm.DefaultMaxTokens), "prompts and answers, of an execution with all that it starts"},
		{"llm depth", fmt.Sprint(llm.DefaultMaxDepth), "levels of executions that may ask"},
		{"llm time", llm.DefaultMaxWall.String(), "in which a call is under way, of an execution with all that it starts"},
		{"llm timeout", openai.DefaultTimeout.String(), "one request to the model's server"},
		{"secret", fmt.Sprintf("%d B to %d KiB", secrets.MinValue, secrets.MaxValue>>10),
			"shorter values would be found in ordinary text"},
		{"tools timeout", toolsPatience.String(), "for mayfly tools: servers may have to be downloaded first"},
	}
}

// configExample is a configuration file with every key.
const configExample = `  {
    "tools": "mcp.json",                      // files with {"mcpServers": {...}}
    "mcpServers": {"everything": {"command": "npx", "args": ["-y", "@modelcontextprotocol/server-everything"]}},
    "plugins": "plugins",                     // directories of Extism plug-ins
    "secrets": {                              // env:VARIABLE, file:PATH or cmd:COMMAND
      "TOKEN": {"from": "env:API_TOKEN", "allow": ["http:api.example.com", "tool:github.*"]}
    },
    "http": {"allow": ["api.example.com", "GET,POST https://api.example.org/v1/"], "maxResponse": "16MiB", "timeout": "30s"},
    "llm": {
      "baseURL": "https://api.openai.com/v1", "apiKey": "${secret:TOKEN}", "model": "gpt-4.1-mini",
      "allowModels": ["gpt-4.1*"], "maxCalls": 100, "maxTokens": 200000, "maxDepth": 3, "maxTime": "10m",
      "timeout": "3m", "cache": "answers"
    },
    "policy": {                               // holds for all sessions, besides what their commands say
      "allow": ["everything.*", "github.get_*"], "deny": ["*.delete_*"], "approve": ["github.create_*"],
      "readOnly": false, "functions": ["llm.*", "http.*"], "maxCalls": 1000, "maxBytes": "256MiB",
      "maxParallel": 16, "callTimeout": "1m", "retries": 2
    }
  }`

func configFile() string {
	path, _ := config.DefaultPath()
	if path == "" {
		return "none"
	}
	return path
}
