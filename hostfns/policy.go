package hostfns

import "time"

// Defaults of Policy.
const (
	// DefaultMaxCalls is the number of host calls of an execution: far more than a sensible program makes.
	DefaultMaxCalls = 1000
	// DefaultMaxBytes is what the arguments and results of an execution's calls may have together.
	DefaultMaxBytes = 256 << 20
	// DefaultMaxParallel is the number of calls of one execution that run at once; more wait for their turn.
	DefaultMaxParallel = 16
	// DefaultCallTimeout is the time of one call, inside that of the execution.
	DefaultCallTimeout = 60 * time.Second
	// DefaultRetries is how often a call of a tool that is marked idempotent is repeated when its server failed.
	DefaultRetries = 2
)

// Policy says what host functions may be used, and how much. Nil and the zero value are the good defaults. Several policies
// (of the host, the session and the request) hold together: each of them has to allow a call, a call that one of them wants
// approved is asked for, and of the limits that are given the smallest counts. A default holds when none of them gives one.
//
// Patterns of tools are matched, by case, against "server.tool" as the servers call them and as Python does
// ("module.function"), and against the server's name alone: "github" and "github.*" are the same. * is any characters, dots
// too, and ? is one.
type Policy struct {
	// Allow are patterns of tools: only these may be called. Default: all. An empty list that is not nil allows none.
	Allow []string `json:"allow,omitzero"`
	// Deny are patterns of tools that may not be called, nor seen.
	Deny []string `json:"deny,omitempty"`
	// ReadOnly allows only tools whose annotations say that they change nothing. It takes the servers' word for it.
	ReadOnly bool `json:"read_only,omitempty"`
	// Approve are patterns of tools whose calls a person has to approve first.
	Approve []string `json:"approve,omitempty"`
	// Functions are patterns of the other host functions that may be called: "llm.*", "http.*". Default: all that the host
	// has.
	Functions []string `json:"functions,omitzero"`
	// MaxCalls, MaxBytes and MaxParallel bound the calls of an execution. Defaults: see above; negative MaxCalls: none at all.
	// Reading the catalogue, handles and placeholders of secrets is no call in this sense.
	MaxCalls    int   `json:"max_calls,omitempty"`
	MaxBytes    int64 `json:"max_bytes,omitempty"`
	MaxParallel int   `json:"max_parallel,omitempty"`
	// CallTimeout bounds one call; the time that it waits for its turn or a person takes to decide is not counted.
	CallTimeout time.Duration `json:"call_timeout_ns,omitempty"`
	// Retries is how often a call is repeated, of tools that are marked idempotent or read-only. Default: DefaultRetries;
	// negative: never.
	Retries int `json:"retries,omitempty"`
}
