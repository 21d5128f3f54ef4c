package hostfns

import (
	"context"
	"encoding/json"
	"time"
)

// approve asks a person whether a tool may be called with arguments.
func (c *Calls) approve(k *call, t *tool, args json.RawMessage) error {
	reply, q := c.s.answered(t), (*Question)(nil)
	if reply == nil {
		if c.o.Ask == nil {
			return &Error{Code: CodeDenied, Message: t.names.full[0] + " needs a person's approval, and there is nobody to ask",
				Hint: "run this where somebody can approve it"}
		}
		if len(args) > maxApproval {
			return &Error{Code: CodeTooLarge,
				Message: t.names.full[0] + " needs a person's approval, and " + itoa(len(args)) + " bytes of arguments are more than " +
					"the " + itoa(maxApproval) + " that a person is asked about",
				Hint: "pass less at once",
			}
		}
		q = &Question{
			Kind: QuestionApproval, Args: c.h.scrubJSON(args),
			Message: "May " + t.names.full[0] + " be called?",
		}
		k.approving(true)
		var err error
		reply, err = c.ask(k.ctx, k, q)
		k.approving(false)
		if err != nil {
			return err
		}
		if reply.Always {
			c.s.remember(t, reply)
		}
	}
	c.mu.Lock()
	k.approved = reply.Action
	c.mu.Unlock()
	if reply.Action == ActionAccept {
		if q == nil || c.o.Approved == nil {
			return nil
		}
		return c.o.Approved(k.ctx, q, k.started)
	}
	e := &Error{Code: CodeDenied, Message: "a person declined the call of " + t.names.full[0]}
	if reply.Action == ActionCancel {
		e.Message = "nobody approved the call of " + t.names.full[0]
	}
	if reply.Reason != "" {
		e.Message += ": " + reply.Reason
	}
	return e
}

// approving notes that a person is asked whether the call may be made, so that nothing came of it yet.
func (k *call) approving(yes bool) {
	k.c.mu.Lock()
	defer k.c.mu.Unlock()
	k.approval = yes
}

// Bounds of questions: they are kept until somebody replies.
const (
	// maxApproval bounds the arguments that a person is asked about, in bytes: nobody reads more, and a durable session has to
	// store the question in a record.
	maxApproval = 96 << 10
	// maxElicitation bounds what a tool server may ask a person, in bytes.
	maxElicitation = 256 << 10
	// maxElicitations bounds how often it may ask during one call: a form for each step of some procedure is fine.
	maxElicitations = 32
)

// elicit asks a person for what a tool server wants to know.
func (c *Calls) elicit(ctx context.Context, k *call, q *Question) (*Reply, error) {
	if c.o.Ask == nil || q == nil || len(q.Message)+len(q.Schema)+len(q.URL) > maxElicitation {
		return &Reply{Action: ActionDecline}, nil
	}
	c.mu.Lock()
	k.elicitations++
	n, over := k.elicitations, k.finished
	c.mu.Unlock()
	if n > maxElicitations || over {
		if n == maxElicitations+1 {
			c.h.log.Warn("a tool server asks too often during one call; further questions are declined",
				"server", k.tool.Server, "tool", k.tool.Tool)
		}
		return &Reply{Action: ActionDecline}, nil
	}
	own := *q
	own.Kind, own.Args = QuestionElicitation, nil
	own.Message, own.URL = cutText(c.h.scrubText(q.Message), maxElicitation), c.h.scrubText(q.URL)
	if own.Schema = nil; json.Valid(q.Schema) {
		own.Schema = c.h.scrubJSON(q.Schema)
	}
	return c.ask(ctx, k, &own)
}

// ask asks a person. The call's clock stands still, and the execution tells that it waits.
func (c *Calls) ask(ctx context.Context, k *call, q *Question) (*Reply, error) {
	q.Session, q.Execution = c.o.Session, c.o.Execution
	q.Server, q.Tool, q.Call, q.Asked = k.tool.Server, k.tool.Tool, k.number, time.Now()
	// Whoever asks may use a context of its own, which does not end with the call's.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(k.ctx, cancel)()
	defer k.pause()()
	if c.o.Pause != nil {
		defer c.o.Pause(ctx)()
	}
	r, err := c.o.Ask(ctx, q)
	switch {
	case err != nil:
		return nil, err
	case r == nil:
		return &Reply{Action: ActionDecline}, nil
	}
	own := *r
	if own.Action != ActionAccept && own.Action != ActionDecline {
		own.Action = ActionCancel
	}
	return &own, nil
}

// Bounds of a call's events: what a server says meanwhile must not fill memory or logs.
const (
	maxEvents    = 10_000
	maxEventData = 64 << 10
)

// emit passes an event on, while the call is under way.
func (k *call) emit(e Event) {
	c := k.c
	if c.o.Emit == nil {
		return
	}
	if k.kind == kindTool && (len(e.Data) > maxEventData || !json.Valid(e.Data)) {
		return
	}
	c.mu.Lock()
	k.events++
	n, over := k.events, k.finished
	c.mu.Unlock()
	if over || k.kind == kindTool && n > maxEvents {
		if n == maxEvents+1 {
			c.h.log.Warn("a tool tells of too many events; further ones are dropped", "server", k.tool.Server, "tool", k.tool.Tool)
		}
		return
	}
	e.Data = c.h.scrubJSON(e.Data)
	c.o.Emit(e)
}
