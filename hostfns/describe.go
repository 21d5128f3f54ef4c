package hostfns

import (
	"context"
	"fmt"
	"strings"
)

// maxDescribed bounds the tools that the description of a server lists.
const maxDescribed = 200

// Describe explains a server ("server") or a tool ("server.tool", original or Python names) to a model or a person. What the
// host's policy denies is not there.
func (h *Host) Describe(ctx context.Context, ref string) (string, error) {
	return h.describe(ctx, ref, h.rules)
}

func (h *Host) describe(ctx context.Context, ref string, r *rules) (string, error) {
	if len(ref) > 2*maxName+1 {
		return "", Errorf(CodeRequest, "a name of %d bytes", len(ref))
	}
	cat, t, err := h.resolve(ctx, ref, r)
	if err != nil {
		return "", err
	}
	if t != nil {
		return t.Describe(), nil
	}
	return cat.describe(r), nil
}

// resolve finds a server or a tool. Both names may have dots.
func (h *Host) resolve(ctx context.Context, ref string, r *rules) (*catalogue, *tool, error) {
	if s, _ := h.server(ref); s != nil {
		cat, err := h.catalogue(ctx, ref, r)
		return cat, nil, err
	}
	var last error
	for i := range len(ref) {
		if ref[i] != '.' {
			continue
		}
		if s, _ := h.server(ref[:i]); s == nil {
			continue
		}
		cat, err := h.catalogue(ctx, ref[:i], r)
		if err == nil {
			if t := cat.find(ref[i+1:]); t != nil && t.visible(r) {
				return cat, t, nil
			}
			err = cat.noTool(ref[i+1:], r)
		}
		last = err
	}
	if last != nil {
		return nil, nil, last
	}
	name, _, _ := strings.Cut(ref, ".")
	return nil, nil, h.noServer(name, r)
}

func (c *catalogue) describe(r *rules) string {
	var b strings.Builder
	tools := c.visible(r)
	fmt.Fprintf(&b, "Server %s, in Python the module tools.%s, with %d tools.\n", c.server.name, c.server.module, len(tools))
	if doc := c.doc(); doc != "" {
		b.WriteString("\n" + doc + "\n")
	}
	b.WriteString("\n")
	for i, t := range tools {
		if i == maxDescribed {
			fmt.Fprintf(&b, "... and %d more: search them.\n", len(tools)-i)
			break
		}
		fmt.Fprintf(&b, "%s\n    %s\n", t.Signature().Line(), t.Summary())
	}
	return b.String()
}

// CallTool calls a tool once, as a session without a policy of its own would: arguments are checked, placeholders of secrets
// replaced, and the result has none. Names may be original or Python names. The error is an *Error.
func (h *Host) CallTool(ctx context.Context, tc *ToolCall) (*Value, error) {
	cat, err := h.catalogue(ctx, tc.Server, h.rules)
	if err != nil {
		return nil, toError(err)
	}
	t := cat.find(tc.Tool)
	if t == nil {
		return nil, cat.noTool(tc.Tool, h.rules)
	}
	s := h.NewSession(nil)
	defer s.Close()
	c := s.Begin(ctx, &ExecOptions{Emit: tc.Emit, Ask: tc.Ask})
	defer c.End()
	args, err := jsonValue(toolArgs{cat.server.name, t.def.Name, tc.Args})
	if err != nil {
		return nil, Errorf(CodeInvalidArguments, "%w", err)
	}
	k := &call{c: c, fn: FnTool, args: args.Data, done: make(chan struct{}), direct: true}
	if answer := c.begin(k); answer == nil {
		<-k.done
	}
	return k.value, k.failure()
}
