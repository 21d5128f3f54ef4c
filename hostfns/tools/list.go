package tools

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mayfly-run/mayfly/hostfns"
)

// Bounds of a listing.
const (
	maxPages        = 10_000
	maxTools        = 100_000
	maxInstructions = 64 << 10 // bytes
)

// list asks the server for all its tools.
func (ss *session) list(ctx context.Context) (*hostfns.Listing, error) {
	limit := ss.s.conf.StartTimeout
	if limit <= 0 {
		limit = DefaultStartTimeout
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("it took longer than %s", limit))
	defer cancel()
	l := &hostfns.Listing{Tools: []*hostfns.Tool{}}
	seen := map[string]bool{}
	size, bad := 0, 0
	for cursor := ""; ; {
		raw, err := ss.page(ctx, cursor)
		if err != nil {
			if cause := context.Cause(ctx); cause != nil && isContext(err) {
				err = cause
			}
			return nil, err
		}
		if size += len(raw); size > ss.in.max {
			return nil, fmt.Errorf("its tools have more than %d bytes", ss.in.max)
		}
		var p struct {
			Tools  json.RawMessage `json:"tools"`
			Cursor string          `json:"nextCursor"`
		}
		if err := json.Unmarshal(raw, &p); err != nil {
			return nil, fmt.Errorf("the answer is no list of tools: %.200s", raw)
		}
		tools, err := elements(p.Tools, maxTools)
		if err != nil || tools == nil {
			return nil, fmt.Errorf("the answer is no list of tools: %.200s", raw)
		}
		for _, t := range tools {
			if tool := readTool(t); tool != nil {
				l.Tools = append(l.Tools, tool)
			} else if bad++; bad == 1 {
				ss.s.all.log.Warn("a tool is left out: its description makes no sense", "server", ss.s.name, "tool", cut(string(t), 200))
			}
		}
		if len(l.Tools) > maxTools {
			return nil, fmt.Errorf("it has more than %d tools", maxTools)
		}
		if cursor = p.Cursor; cursor == "" {
			break
		}
		if seen[cursor] || len(seen) == maxPages {
			return nil, errors.New("its list of tools does not end")
		}
		seen[cursor] = true
	}
	if bad > 0 && len(l.Tools) == 0 {
		return nil, errors.New("the descriptions of its tools make no sense")
	}
	if r := ss.cs.InitializeResult(); r != nil {
		if r.ServerInfo != nil {
			l.Title = cut(strings.ToValidUTF8(r.ServerInfo.Title, ""), 200)
		}
		l.Instructions = cut(strings.ToValidUTF8(r.Instructions, ""), maxInstructions)
	}
	l.Version = version(l)
	return l, nil
}

// page asks for a page of tools.
func (ss *session) page(ctx context.Context, cursor string) (json.RawMessage, error) {
	x := &exchange{}
	defer ss.in.forget(x)
	r, err := ss.cs.ListTools(withExchange(ctx, x), &mcp.ListToolsParams{Cursor: cursor})
	o := x.finish()
	if o.err == nil && o.result == nil {
		o.err = bounded(answer(err))
	}
	switch {
	case ss.forgotten(&o), err != nil && !o.sent && errors.Is(err, mcp.ErrConnectionClosed):
		ss.cancel(errDropped)
		return nil, againError{err}
	case o.tooLarge:
		return nil, fmt.Errorf("its tools have more than %d bytes", ss.in.max)
	case o.result != nil:
		return o.result, nil // what the SDK thinks of it does not matter
	case err != nil:
		return nil, err
	}
	return json.Marshal(r) // the SDK has a cache
}

// readTool reads a tool. Nil: it is none.
func readTool(raw json.RawMessage) *hostfns.Tool {
	var t struct {
		hostfns.Tool
		Annotations *struct {
			hostfns.Annotations
			Title string `json:"title"`
		} `json:"annotations"`
	}
	if json.Unmarshal(raw, &t) != nil || t.Name == "" {
		return nil
	}
	out := t.Tool
	if t.Annotations != nil {
		if out.Annotations = t.Annotations.Annotations; out.Title == "" {
			out.Title = t.Annotations.Title
		}
	}
	out.InputSchema, out.OutputSchema = compact(out.InputSchema), compact(out.OutputSchema)
	return &out
}

// compact returns JSON without blanks, in memory of its own, and in UTF-8, which encoding/json does not insist on; nil for
// null.
func compact(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return nil
	}
	return bytes.ToValidUTF8(b.Bytes(), []byte("\ufffd"))
}

// version is a hash of a listing.
func version(l *hostfns.Listing) string {
	h := sha256.New()
	e := json.NewEncoder(h)
	_ = e.Encode(l.Title)
	_ = e.Encode(l.Instructions)
	for _, t := range l.Tools {
		_ = e.Encode(t)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// listError is the error of a listing that failed.
func (s *server) listError(err error) error {
	if e := (*hostfns.Error)(nil); errors.As(err, &e) {
		return e
	}
	return &hostfns.Error{
		Code: hostfns.CodeServer, Server: s.name, Err: err,
		Message: fmt.Sprintf("the tools of the server %s cannot be listed: %s", s.name, cut(plain(err), maxErrorText)),
	}
}
