package tools

import (
	"encoding/json"
	"unicode/utf8"

	"github.com/mayfly-run/mayfly/hostfns"
)

// maxEventText bounds a text, and data, of an event in bytes.
const maxEventText = 16 << 10

// progress is the data of an EventProgress.
type progress struct {
	Server   string   `json:"server"`
	Tool     string   `json:"tool"`
	Progress float64  `json:"progress"`
	Total    *float64 `json:"total,omitempty"`
	Message  string   `json:"message,omitempty"`
}

// logged is the data of an EventLog.
type logged struct {
	Server string          `json:"server"`
	Level  string          `json:"level"`
	Logger string          `json:"logger,omitempty"`
	Data   json.RawMessage `json:"data,omitempty"`
}

// notification handles a notification, or returns it to be passed on.
func (in *intake) notification(m *message, frame []byte) []byte {
	switch *m.Method {
	case "notifications/progress":
		in.progress(m.Params)
		return nil
	case "notifications/message":
		in.logged(m.Params)
		return nil
	case "notifications/elicitation/complete":
		var p struct {
			ID string `json:"elicitationId"`
		}
		if json.Unmarshal(m.Params, &p) == nil {
			in.elicited(p.ID)
		}
		return nil
	case "notifications/tools/list_changed":
		in.changed()
	case "notifications/cancelled", "notifications/subscriptions/acknowledged":
	default:
		return nil
	}
	if !in.others.take() || !in.decodes(frame) {
		return nil
	}
	return frame
}

func (in *intake) progress(params json.RawMessage) {
	var p struct {
		Token    json.RawMessage `json:"progressToken"`
		Progress float64         `json:"progress"`
		Total    *float64        `json:"total"`
		Message  string          `json:"message"`
	}
	if json.Unmarshal(params, &p) != nil {
		return
	}
	token, _ := canonicalID(p.Token)
	in.mu.Lock()
	x := in.tokens[token]
	in.mu.Unlock()
	if x != nil {
		x.emit(hostfns.EventProgress, progress{in.server, x.call.Tool, p.Progress, p.Total, cut(p.Message, maxEventText)})
	}
}

func (in *intake) logged(params json.RawMessage) {
	var l logged
	if json.Unmarshal(params, &l) != nil {
		return
	}
	l.Server, l.Level, l.Logger = in.server, cut(l.Level, 20), cut(l.Logger, 200)
	if len(l.Data) > maxEventText {
		l.Data, _ = json.Marshal(cut(string(l.Data), maxEventText))
	}
	if !utf8.Valid(l.Data) {
		l.Data = nil
	}
	if x := in.oldest(); x != nil {
		x.emit(hostfns.EventLog, l)
	}
}
