// Package httpapi serves durable sessions over HTTP, and has the client for it.
//
// The process that holds a store serves it on a Unix socket beside the store, so that other processes of the same user
// work with it meanwhile. Who may use a socket is up to ListenUnix and DialUnix; the rest does not depend on what the
// connection is.
//
//	GET    /v1/health                         who serves, and since when
//	GET    /v1/sessions                       list; ?label=K=V (may be repeated), ?tenant=
//	GET    /v1/sessions/{name}                one session
//	PUT    /v1/sessions/{name}                open it, or make it; body: SessionOptions
//	DELETE /v1/sessions/{name}                remove it with its journal
//	POST   /v1/sessions/{name}/exec           run code; body: ExecRequest; answers with events
//	POST   /v1/sessions/{name}/resume         {"question", "reply"}: go on with a step that waits for it; answers with events
//	POST   /v1/sessions/{name}/incomplete     {"code"}: does the language wait for more lines?
//	GET    /v1/sessions/{name}/variables      ?step=
//	POST   /v1/sessions/{name}/snapshot       store the memory now
//	POST   /v1/sessions/{name}/rewind         {"step"}
//	POST   /v1/sessions/{name}/fork           {"step", "as"}
//	GET    /v1/sessions/{name}/files          list a directory; ?path=, ?step=, ?recursive=true
//	GET    /v1/sessions/{name}/content        a file, or a directory as tar; ?path=, ?step=
//	PUT    /v1/sessions/{name}/content        write a file, or unpack application/x-tar; ?path=, ?mode=0644
//	GET    /v1/sessions/{name}/journal        steps; ?from=, ?limit=
//	GET    /v1/sessions/{name}/journal/{step} all of one step
//	GET    /v1/sessions/{name}/value          a result that was too large to be told; ?ref=, a "result_ref"
//	GET    /v1/sessions/{name}/diff           ?from=, ?to=
//	POST   /v1/sessions/{name}/verify         {"chain_only"}; answers with events
//	GET    /v1/sessions/{name}/export         an archive (tar, zstd); ?latest_only=true
//	POST   /v1/import                         body: an archive; ?as=
//	POST   /v1/reap                           remove the sessions that have expired
//	PUT    /v1/executions/{id}/stdin          the program's input, while it runs
//	DELETE /v1/executions/{id}                cancel
//	GET    /v1/questions                      what executions wait to be told
//	POST   /v1/questions/{id}                 reply; {"action": "accept", "decline" or "cancel", "reason", "content", "always"}
//
// Steps are numbers; -1, "latest" and none at all stand for the last one.
// Options that change a session in which code runs wait for that. Names of files are UTF-8.
//
// # Events
//
// Exec and verify answer with lines of JSON, one event each, as it happens. The last one is "result" or "error". Output
// that is not UTF-8 comes as "base64" instead of "data". A program whose input is streamed makes the event "stdin" when
// it first reads. An execution is cancelled by DELETE, which lets it end in order, or by closing the connection.
//
// Events of host calls pass through as "info": tool_progress, tool_log, llm, question and replied, see hostfns.EventKind.
// When their reader is slow, those that nobody has to answer are dropped.
//
// # Hosts
//
// An execution has the host functions of the server's own host. A server that is told how (Options.NewHost) makes a host of
// a configuration that comes with the execution, and keeps it while it is used and for a minute after. That is for callers
// who could run any command of the server's user anyway.
//
// # Errors
//
// Errors are {"code", "message", "hint"}. The client turns them back into errors that errors.Is finds the engine's
// sentinels in. A download that fails half-way has its error in the trailer Mayfly-Error.
package httpapi
