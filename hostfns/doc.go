// Package hostfns is what code in a sandbox may ask its host for: tools, language models, HTTP, secrets.
//
// A Host has what there is: tool Providers and other Functions. A Session says what one sandbox may use of it (Policy) and
// keeps what lasts longer than an execution (handles of large results). Calls serves one execution: it takes the frames
// that the guest sends, checks everything in them, applies policy and budgets, and answers with frames.
//
// The package knows nothing of WebAssembly, MCP or any model; packages below it implement its interfaces. What the guest
// sends is hostile: every length, name and number is checked, and every answer is bounded.
package hostfns
