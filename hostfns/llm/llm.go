// Package llm is ask_llm: code in a sandbox asks a language model.
//
// A Model is a provider; package llm/openai is one. Functions makes the host functions of it, with what a program must not
// decide by itself: which models it may ask, the budgets that an execution shares with all that it starts, how often and
// how long a failed request is repeated, and what is remembered. What comes from the program and from the model is hostile:
// it is bounded and checked.
package llm

import (
	"context"
	"encoding/json"
)

// Names of the host functions.
const (
	// FnAsk: args {"prompt": TEXT, "context", "system", "schema", "model", "temperature", "max_tokens", "cache"}, all but the
	// first optional. The value is text, or JSON if there is a schema.
	FnAsk = "llm.ask"
	// FnBatch: args as those of FnAsk, but {"prompts": [TEXT...], "return_exceptions": true} in place of the prompt. The value
	// is JSON: a list in the order of the prompts of {"value": ANY} or {"error": {"code", "message", "hint", "data",
	// "retry_after": SECONDS, "retryable"}}. Without return_exceptions the first error is that of the call.
	FnBatch = "llm.batch"
)

// Model is a provider of language models. It is safe for concurrent use.
type Model interface {
	// Name tells the provider and where it is, without any secret. Answers are remembered under it.
	Name() string
	// Complete answers a request, and makes one attempt. stream is called with each piece of the answer as it comes, from one
	// goroutine, before Complete returns; nil: nobody listens. The error is one of ctx or a *hostfns.Error with the code
	// CodeRateLimit (with RetryAfter if that is known), CodeContextTooLong, CodeRefused, CodeUnavailable, CodeTimeout,
	// CodeServer or CodeRequest, that is marked Retryable when another attempt may help.
	Complete(ctx context.Context, r *Request, stream func(delta string)) (*Response, error)
}

// Defaulter is implemented by models that choose when a Request names no model.
type Defaulter interface {
	// DefaultModel returns the name of the model that is used then, empty if there is none.
	DefaultModel() string
}

// Roles of messages.
const (
	RoleSystem    = "system"
	RoleUser      = "user"
	RoleAssistant = "assistant"
)

// Message is a part of a conversation.
type Message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// Request is what a model is asked.
type Request struct {
	// Model is the name of the model. Default: the provider's.
	Model    string    `json:"model"`
	Messages []Message `json:"messages"`
	// Temperature is 0 for the most probable answer. Default: the provider's.
	Temperature *float64 `json:"temperature,omitempty"`
	// MaxTokens bounds the answer. Default: the provider's bound.
	MaxTokens int `json:"max_tokens,omitempty"`
	// Schema is a JSON schema of an object that the answer has to be, SchemaName its name of letters, digits and
	// underscores. Providers do what they can; the answer is checked by whoever asks. Default: the answer is text.
	Schema     json.RawMessage `json:"schema,omitempty"`
	SchemaName string          `json:"schema_name,omitempty"`
	// Stop are texts that end the answer.
	Stop []string `json:"stop,omitempty"`
}

// Reasons why an answer ended.
const (
	FinishStop   = "stop"
	FinishLength = "length" // it reached MaxTokens, or what the model can do
)

// Response is an answer.
type Response struct {
	Text string
	// Model is the model that answered, as the provider calls it.
	Model string
	// FinishReason is FinishStop, FinishLength or the provider's own.
	FinishReason string
	Usage        Usage
}

// Usage counts tokens. All zero: the provider did not tell.
type Usage struct {
	PromptTokens     int
	CompletionTokens int
	// Cached is the part of PromptTokens that the provider had in its cache.
	Cached int
}
