package llm

import (
	"cmp"
	"log/slog"
	"time"
)

// Options of Functions. Nil and the zero value are the good defaults.
type Options struct {
	// DefaultModel is asked when the program names no model. Default: the provider's own default.
	DefaultModel string
	// AllowModels are patterns (* is any characters, ? is one) of the models that a program may name. DefaultModel is
	// always allowed. Default: no others.
	AllowModels []string

	// MaxCalls, MaxTokens, MaxDepth and MaxWall are the budgets of an execution and all that it starts, together. A prompt of a
	// batch is a call, and so is a repair try; attempts after a failure are not, nor is an answer from the cache. Tokens are
	// those of prompts and answers, as the provider counts them. MaxDepth is the number of levels of executions that may
	// ask: 1 is the one at the top alone. MaxWall is the time in which at least one call is under way. Defaults: see below;
	// negative: no limit.
	MaxCalls  int
	MaxTokens int64
	MaxDepth  int
	MaxWall   time.Duration

	// MaxParallel is the number of requests of one such tree of executions that are under way at once. Default:
	// DefaultMaxParallel.
	MaxParallel int
	// Retries is how often a request is repeated that met a rate limit or a server's failure. Default: DefaultRetries;
	// negative: never.
	Retries int
	// MaxWait bounds the time before a repetition. A server that asks for more gets none. Default: DefaultMaxWait.
	MaxWait time.Duration

	// CacheBytes bounds the answers that are remembered in memory. Default: DefaultCacheBytes; negative: none are remembered,
	// in no place.
	CacheBytes int64
	// CacheDir is a directory where answers are kept beyond the end of the process. Several processes can share it.
	// Default: none.
	CacheDir string
	// CacheDirBytes bounds what is in CacheDir. Default: DefaultCacheDirBytes.
	CacheDirBytes int64

	// Logger gets what an operator may want to know. Default: slog.Default().
	Logger *slog.Logger
}

// Defaults of Options.
const (
	// DefaultMaxCalls lets a program go through a hundred documents; a loop that went wrong ends soon.
	DefaultMaxCalls = 100
	// DefaultMaxTokens is about a novel and a half, read once, or a dollar of a large model.
	DefaultMaxTokens = 200_000
	// DefaultMaxDepth is a program, those that it starts, and those that they start. What recurses deeper seldom ends.
	DefaultMaxDepth = 3
	// DefaultMaxWall is much longer than an execution may take by default, and short enough that a forgotten one ends.
	DefaultMaxWall = 10 * time.Minute
	// DefaultMaxParallel is what the smallest accounts of the common providers allow without rate limits.
	DefaultMaxParallel = 8
	// DefaultRetries is enough for a rate limit of requests per minute, with waits that double from half a second.
	DefaultRetries = 4
	// DefaultMaxWait is half a minute: more than the usual Retry-After, which is within the minute's window.
	DefaultMaxWait = 30 * time.Second
	// DefaultCacheBytes has some ten thousand answers of the usual size.
	DefaultCacheBytes = 64 << 20
	// DefaultCacheDirBytes has more than a month of a busy developer's.
	DefaultCacheDirBytes = 256 << 20
)

func (o *Options) withDefaults() Options {
	var d Options
	if o != nil {
		d = *o
	}
	d.MaxCalls = cmp.Or(d.MaxCalls, DefaultMaxCalls)
	d.MaxTokens = cmp.Or(d.MaxTokens, DefaultMaxTokens)
	d.MaxDepth = cmp.Or(d.MaxDepth, DefaultMaxDepth)
	d.MaxWall = cmp.Or(d.MaxWall, DefaultMaxWall)
	d.Retries = max(0, cmp.Or(d.Retries, DefaultRetries))
	d.CacheBytes = cmp.Or(d.CacheBytes, DefaultCacheBytes)
	if d.MaxParallel <= 0 {
		d.MaxParallel = DefaultMaxParallel
	}
	if d.MaxWait <= 0 {
		d.MaxWait = DefaultMaxWait
	}
	if d.CacheDirBytes <= 0 {
		d.CacheDirBytes = DefaultCacheDirBytes
	}
	if d.Logger == nil {
		d.Logger = slog.Default()
	}
	return d
}
