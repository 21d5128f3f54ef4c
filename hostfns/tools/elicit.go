package tools

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mayfly-run/mayfly/hostfns"
)

// Bounds of what people are asked.
const (
	maxAsked     = 256 << 10 // bytes of a question
	maxQuestions = 100       // in a call
	maxVisits    = 10        // pages at once
	maxRounds    = 3         // of pages, in a call

	// visitWait is how long a server may take to say that a page was visited, after somebody said so. Many never do.
	visitWait = 2 * time.Second
)

// elicit answers a question of the server. People are asked through the call that is under way; several at once cannot be
// told apart, then it is the oldest. Nobody is asked when there is none.
func (ss *session) elicit(ctx context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
	x := exchangeOf(ctx) // with newer protocols, questions are results of calls
	if x == nil {
		x = ss.in.oldest()
	}
	if r.Params == nil || x == nil {
		return &mcp.ElicitResult{Action: hostfns.ActionDecline}, nil
	}
	return ss.ask(ctx, x, r.Params)
}

func (ss *session) ask(ctx context.Context, x *exchange, p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
	declined := &mcp.ElicitResult{Action: hostfns.ActionDecline}
	if x.call == nil || x.call.Ask == nil || x.asked.Add(1) > maxQuestions {
		return declined, nil
	}
	q := &hostfns.Question{
		Kind: hostfns.QuestionElicitation, Server: x.call.Server, Tool: x.call.Tool, Message: p.Message, URL: p.URL,
	}
	if q.Schema = ss.in.schema(p.Meta[schemaKey]); q.Schema == nil && p.RequestedSchema != nil {
		b, err := json.Marshal(p.RequestedSchema)
		if err != nil {
			return declined, nil
		}
		q.Schema = b
	}
	if len(q.Message)+len(q.URL)+len(q.Schema) > maxAsked {
		return declined, nil
	}
	defer x.clock.pause()()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(ss.ctx, cancel)()
	reply, err := x.call.Ask(ctx, q)
	if err != nil || reply == nil {
		return &mcp.ElicitResult{Action: hostfns.ActionCancel}, nil
	}
	out := &mcp.ElicitResult{Action: reply.Action}
	if reply.Action != hostfns.ActionAccept || q.URL != "" {
		return out, nil
	}
	if out.Content, err = withDefaults(reply.Content, q.Schema); err != nil {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: err.Error()}
	}
	return out, nil
}

// withDefaults fills in what the schema has defaults for and people left out.
func withDefaults(content, schema json.RawMessage) (map[string]any, error) {
	out := map[string]any{}
	if len(content) > 0 && string(content) != "null" {
		if err := json.Unmarshal(content, &out); err != nil {
			return nil, errors.New("the reply is no object")
		}
	}
	var s struct {
		Properties map[string]struct {
			Default any `json:"default"`
		} `json:"properties"`
	}
	if json.Unmarshal(schema, &s) != nil {
		return out, nil
	}
	for name, p := range s.Properties {
		if _, ok := out[name]; !ok && p.Default != nil {
			out[name] = p.Default
		}
	}
	return out, nil
}

// urlsToVisit returns the pages that have to be visited before a call, if that is what the error says.
func urlsToVisit(err error) []*mcp.ElicitParams {
	e := (*jsonrpc.Error)(nil)
	if !errors.As(err, &e) || e.Code != mcp.CodeURLElicitationRequired {
		return nil
	}
	var data struct {
		Elicitations []*mcp.ElicitParams `json:"elicitations"`
	}
	if json.Unmarshal(e.Data, &data) != nil || len(data.Elicitations) > maxVisits {
		return nil
	}
	bad := func(p *mcp.ElicitParams) bool {
		return p == nil || p.URL == "" || p.ElicitationID == "" || p.RequestedSchema != nil
	}
	if slices.ContainsFunc(data.Elicitations, bad) {
		return nil
	}
	return data.Elicitations
}

// visit sends people to pages, and waits until they say that they are done, and for a moment for the server to say so too. It
// tells whether the call may be tried again.
func (ss *session) visit(ctx context.Context, x *exchange, pages []*mcp.ElicitParams) bool {
	done := make([]chan struct{}, len(pages))
	ss.mu.Lock()
	if ss.waiting == nil {
		ss.waiting = map[string]chan struct{}{}
	}
	for i, p := range pages {
		done[i] = make(chan struct{}, 1)
		ss.waiting[p.ElicitationID] = done[i]
	}
	ss.mu.Unlock()
	defer func() {
		ss.mu.Lock()
		defer ss.mu.Unlock()
		for i, p := range pages {
			if ss.waiting[p.ElicitationID] == done[i] {
				delete(ss.waiting, p.ElicitationID)
			}
		}
	}()
	for _, p := range pages {
		if r, err := ss.ask(ctx, x, p); err != nil || r.Action != hostfns.ActionAccept {
			return false
		}
	}
	defer x.clock.pause()()
	timer := time.NewTimer(visitWait)
	defer timer.Stop()
	for _, c := range done {
		select {
		case <-c:
			continue
		case <-timer.C:
		case <-ctx.Done():
			return false
		}
		break // out of time for all
	}
	x.again()
	return true
}

// elicited is told that a page was visited.
func (ss *session) elicited(id string) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	select {
	case ss.waiting[id] <- struct{}{}:
	default:
	}
}
