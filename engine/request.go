package engine

import (
	"io"
	"time"

	"github.com/mayfly-run/mayfly/hostfns"
)

// Request is one piece of code to run.
type Request struct {
	// Code is the source text.
	Code string
	// Language is a guest's language. Default: the engine's first guest; in a session, the session's language.
	Language string
	// Filename is what tracebacks call the code, and the program's __file__ and sys.argv[0]. Default: "<step N>", which is
	// no __file__. The file need not exist in the sandbox.
	Filename string
	// Args are the program's arguments: sys.argv[1:].
	Args []string
	// Env replaces the environment of the program, to which HOME is added. Default: what the sandbox has, at first HOME
	// only.
	Env map[string]string
	// Stdin is the program's input. Default: none. Reading from it may go on after the execution, until Read returns:
	// close the reader to end that.
	Stdin io.Reader
	// Timeout is the wall-clock limit. Default: Options.Timeout.
	Timeout time.Duration
	// MaxTicks limits CPU time, in ticks of at most about a millisecond. Default: no limit besides Timeout.
	MaxTicks uint64
	// MaxOutput is the number of bytes kept of each of stdout and stderr. Default: Options.MaxOutput.
	MaxOutput int
	// NoResult leaves the value of the last statement alone; encoding a large one takes time.
	NoResult bool
	// OnEvent is told of output while the code runs. It is called from one goroutine at a time and should not block:
	// the program waits meanwhile, its time limit included. It must not call Exec or Close of its own session, or Close
	// of the engine: they would wait for each other for ever. If it panics, Exec does.
	OnEvent func(Event)
	// Host takes the place of Options.Host for this execution. Default: Options.Host.
	Host *hostfns.Host
	// Policy says what of the host may be used, besides what the host's own policy and the sandbox's say. Default: no more
	// than these say.
	Policy *hostfns.Policy
	// NoQuestions has everything denied that a person would have to be asked for. Default: as Options.Questions says.
	NoQuestions bool
	// Scope is that of the execution that this one is started by, if any: budgets of ask_llm hold for all together.
	Scope *hostfns.Scope
	// Sandbox describes the sandbox that Engine.Run makes. A session has its own; there it must be nil.
	Sandbox *Sandbox
}

// Sandbox describes what a sandbox has and may use; nil and the zero value are the good defaults.
type Sandbox struct {
	// Language of the session. Default: the engine's first guest.
	Language string `json:"language,omitempty"`
	// Memory is what the guest may grow to in bytes. Default: DefaultMemory.
	Memory int64 `json:"memory,omitempty"`
	// Workspace bounds the bytes of all files in the sandbox's own file system. Default: DefaultWorkspace.
	Workspace int64 `json:"workspace,omitempty"`
	// Files bounds their number. Default: DefaultFiles.
	Files int `json:"files,omitempty"`
	// Threads bounds the threads that a program may have at once, the main thread included. Default: DefaultThreads.
	Threads int `json:"threads,omitempty"`
	// Stacks bounds the bytes that the stacks of all threads together may take on the host, beside Memory. Default:
	// DefaultStacks.
	Stacks int64 `json:"stacks,omitempty"`
	// Mounts are directories of the host that the sandbox sees. Default: none.
	Mounts []Mount `json:"mounts,omitempty"`
	// Policy says what of the host may be used. Default: what the host's own policy says.
	Policy *hostfns.Policy `json:"policy,omitempty"`
}

// Mount shows a directory of the host to a sandbox.
type Mount struct {
	// Host is the directory. Nothing outside of it can be reached through it, symbolic links included.
	Host string `json:"host"`
	// Guest is the absolute path in the sandbox.
	Guest string `json:"guest"`
	// Writable allows changes, which are made on the host at once.
	Writable bool `json:"writable,omitempty"`
}

// EventKind says what an Event tells.
type EventKind string

// Kinds of events. Those of host functions are told as well, by their own kinds: see hostfns.EventKind.
const (
	EventStdout EventKind = "stdout"
	EventStderr EventKind = "stderr"
)

// Event is something that happened while code ran.
type Event struct {
	Kind EventKind `json:"kind"`
	// Data is a piece of output, or the JSON of an event of a host function. It is valid during the call only.
	Data []byte `json:"data"`
}
