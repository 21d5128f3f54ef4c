package hostfns

// The frames that a guest sends by mayfly.call and gets back, see guests/README.md. Ops are the code of the request:
const (
	// OpCall makes a call and waits for it. Head: {"fn": NAME, "args": ANY}; body: raw bytes, if the function takes any.
	// The answer is that of the call.
	OpCall = 1
	// OpStart is like OpCall, but does not wait. Head: {"fn", "args", "queue": N}. The answer's head is {"id": ID}. IDs count
	// from 1 within an execution. The answer comes by OpWait on the same queue; queues are any numbers below MaxQueues.
	OpStart = 2
	// OpWait waits for a started call to end. Head: {"queue": N, "timeout_ns": T}, T negative: for ever, 0: not at all. The
	// answer's head is {"id": ID}, and its body the answer frame of that call, in the order in which calls ended; ID is 0
	// and the body empty when the time was over or OpWake came. Without any call started, and no timeout_ns, it waits for OpWake.
	OpWait = 3
	// OpWake ends the present OpWait of a queue, or else the next one. Head: {"queue": N}.
	OpWake = 4
	// OpCancel cancels a started call, which then ends with CodeCancelled. Head: {"id": ID}. It is no error when it has ended.
	OpCancel = 5
)

// The answer of a call is a frame. Code 0 is success; its head is {"kind": KIND, ...}, see ValueKind, with Value.Head as "head":
//
//	none, json, text, bytes   the body is the data
//	blocks    "blocks": [{"type", "len", "text": true if it is UTF-8, "mime", "uri", "name", "title"}]; the body has them one
//	          after the other
//	handle    "handle": ID, "of": "text" | "bytes" | "list" | "dict", "len": in its units, "size": in bytes, "preview": TEXT;
//	          only results of tools, and parts of handles
//
// Code 1 is an error; its head is an Error as {"code", "message", "hint", "server", "tool", "data", "retry_after": SECONDS,
// "retryable"}, without those that are empty.

// Names of the built-in host functions, in the head's "fn".
const (
	// FnServers: args {}. JSON: {"servers": [{"name": PYTHON_NAME, "server": ORIGINAL}]}, those that policy lets be seen.
	FnServers = "tools.servers"
	// FnModule: args {"server": NAME} (either spelling). JSON: {"server": ORIGINAL, "version", "doc", "names": [PYTHON_NAME...]}.
	FnModule = "tools.module"
	// FnSpec: args {"server", "names": [PYTHON_NAME...]} or all without names. JSON: {"tools": [schema.Signature...]}; with
	// "schemas": true each has its "inputSchema" as well, if there is one.
	FnSpec = "tools.spec"
	// FnSearch: args {"query", "limit", "server"}. JSON: [{"server", "tool", "name", "import", "signature", "summary"}], best
	// first. "head" is {"failed": {SERVER: REASON}} when there are servers that could not be listed.
	FnSearch = "tools.search"
	// FnDescribe: args {"tool": "server.tool"} in any spelling, or {"server"}. Text for a model.
	FnDescribe = "tools.describe"
	// FnTool calls a tool: args {"server": ORIGINAL, "tool": ORIGINAL, "args": OBJECT}.
	FnTool = "tools.call"
	// FnRead reads a handle: args {"handle": ID, "start": I, "stop": J} in the handle's own units (characters, bytes, items) and
	// with the meaning of a slice in Python: both are optional, and negative ones count from the end. Text, bytes, JSON (an array
	// of the items of a list, an object of those of a dict) or blocks. {"handle": ID, "all": true} is all of it.
	// With "page": true an answer that would have more than MaxPage bytes ends early, and its "head" is {"start", "stop"};
	// otherwise that is CodeTooLarge. {"handle", "keys": true, "start", "stop"}: keys of a dict as a JSON array.
	// {"handle", "key": STRING}: the value of a key of a dict, {"handle", "index": I}: an item of a list by itself; "none" if
	// there is no such key or item, and a handle when it is large.
	FnRead = "handle.read"
	// FnClose gives a handle back: args {"handle": ID}.
	FnClose = "handle.close"
	// FnSecret: args {"name"}. Text: the placeholder that stands for the secret.
	FnSecret = "secrets.get"
)

// MaxQueues bounds the queues of an execution.
const MaxQueues = 1 << 20
