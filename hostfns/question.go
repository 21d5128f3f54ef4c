package hostfns

import (
	"encoding/json"
	"time"
)

// Kinds of questions.
const (
	// QuestionApproval: may this tool be called with these arguments?
	QuestionApproval = "approval"
	// QuestionElicitation: a tool server wants something to be filled in.
	QuestionElicitation = "elicitation"
)

// Question is something that a person has to decide while an execution waits.
type Question struct {
	// ID is given by whoever keeps the open questions.
	ID   string `json:"id"`
	Kind string `json:"kind"`
	// Session and Execution say who asks, empty when that is not known.
	Session   string `json:"session,omitempty"`
	Execution string `json:"execution,omitempty"`
	Server    string `json:"server,omitempty"`
	Tool      string `json:"tool,omitempty"`
	// Args are the tool's arguments, without secrets.
	Args json.RawMessage `json:"args,omitempty"`
	// Message is what to ask.
	Message string `json:"message"`
	// Schema describes the content of the reply to an elicitation, URL is a page to be opened instead.
	Schema json.RawMessage `json:"schema,omitempty"`
	URL    string          `json:"url,omitempty"`
	Asked  time.Time       `json:"asked"`
	// Call is the number of the host call within its execution, from 0; it is the same when the execution is run again.
	Call int `json:"call"`
}

// Actions of a Reply, as in MCP's elicitation.
const (
	ActionAccept  = "accept"
	ActionDecline = "decline"
	ActionCancel  = "cancel"
)

// Reply is the answer to a Question.
type Reply struct {
	Action string `json:"action"`
	// Reason is told to the guest's code when the action is not accept; optional.
	Reason string `json:"reason,omitempty"`
	// Content is what was filled in, for an elicitation.
	Content json.RawMessage `json:"content,omitempty"`
	// Always answers all further questions about the same tool in this session alike.
	Always bool `json:"always,omitempty"`
}
