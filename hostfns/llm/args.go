package llm

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/mayfly-run/mayfly/hostfns"
)

// params are the arguments that FnAsk and FnBatch have in common.
type params struct {
	Context     json.RawMessage `json:"context"`
	System      string          `json:"system"`
	Schema      json.RawMessage `json:"schema"`
	Model       string          `json:"model"`
	Temperature *float64        `json:"temperature"`
	MaxTokens   *int            `json:"max_tokens"`
	Cache       *bool           `json:"cache"`
}

type askArgs struct {
	Prompt string `json:"prompt"`
	params
}

type batchArgs struct {
	Prompts          []string `json:"prompts"`
	ReturnExceptions bool     `json:"return_exceptions"`
	params
}

const (
	maxTemperature = 2
	maxMaxTokens   = 1 << 20 // no model writes as much
	maxModelName   = 256
)

// decode reads arguments. Unknown ones are errors: they are misspelt.
func decode(args json.RawMessage, into any) error {
	d := json.NewDecoder(bytes.NewReader(args))
	d.DisallowUnknownFields()
	err := d.Decode(into)
	if err == nil {
		if _, err = d.Token(); errors.Is(err, io.EOF) {
			return nil
		}
		return hostfns.Errorf(hostfns.CodeRequest, "the arguments are not one JSON object")
	}
	var t *json.UnmarshalTypeError
	if errors.As(err, &t) && t.Field != "" {
		return hostfns.Errorf(hostfns.CodeRequest, "%.64s must not be a JSON %.64s", strings.TrimPrefix(t.Field, "params."), t.Value)
	}
	return hostfns.Errorf(hostfns.CodeRequest, "the arguments make no sense: %.200v", err)
}

func (p *params) check() error {
	switch {
	case p.Temperature != nil && (*p.Temperature < 0 || *p.Temperature > maxTemperature):
		return hostfns.Errorf(hostfns.CodeRequest, "temperature is %g; it is between 0 and %d", *p.Temperature, maxTemperature)
	case p.MaxTokens != nil && (*p.MaxTokens < 1 || *p.MaxTokens > maxMaxTokens):
		return hostfns.Errorf(hostfns.CodeRequest, "max_tokens is %d; it is between 1 and %d", *p.MaxTokens, maxMaxTokens)
	case len(p.Model) > maxModelName:
		return hostfns.Errorf(hostfns.CodeRequest, "the name of the model has %d bytes", len(p.Model))
	}
	return nil
}

// request makes a request of a prompt, without model and schema.
func (p *params) request(prompt string) (*Request, error) {
	if strings.TrimSpace(prompt) == "" {
		return nil, hostfns.Errorf(hostfns.CodeRequest, "the prompt is empty")
	}
	r := &Request{Temperature: new(float64)}
	if p.System != "" {
		r.Messages = append(r.Messages, Message{RoleSystem, p.System})
	}
	r.Messages = append(r.Messages, Message{RoleUser, prompt + p.below()})
	if p.Temperature != nil {
		*r.Temperature = *p.Temperature
	}
	if p.MaxTokens != nil {
		r.MaxTokens = *p.MaxTokens
	}
	return r, nil
}

// below returns the context as it stands below a prompt.
func (p *params) below() string {
	if isNull(p.Context) {
		return ""
	}
	var text string
	if json.Unmarshal(p.Context, &text) == nil {
		return "\n\n" + block("context", "", text, text)
	}
	var list []*string
	if json.Unmarshal(p.Context, &list) == nil && len(list) > 0 {
		if texts, ok := allTexts(list); ok {
			var b strings.Builder
			all := strings.Join(texts, "\n")
			for i, t := range texts {
				b.WriteString("\n\n" + block("document", ` index="`+strconv.Itoa(i+1)+`"`, t, all))
			}
			return b.String()
		}
	}
	var compact bytes.Buffer
	if json.Compact(&compact, p.Context) != nil { // it was valid a moment ago
		return ""
	}
	return "\n\n" + block("context", ` type="json"`, compact.String(), compact.String())
}

func isNull(j json.RawMessage) bool { return len(j) == 0 || string(j) == "null" }

func allTexts(list []*string) ([]string, bool) {
	texts := make([]string, len(list))
	for i, t := range list {
		if t == nil {
			return nil, false
		}
		texts[i] = *t
	}
	return texts, true
}

// block puts a text between tags that do not occur in all: a text cannot end its own block. It is the same for the same
// text, so that answers can be remembered.
func block(tag, attributes, text, all string) string {
	if strings.Contains(strings.ToLower(all), "/"+tag) {
		sum := sha256.Sum256([]byte(all))
		tag += "-" + hex.EncodeToString(sum[:8])
	}
	return fmt.Sprintf("<%s%s>\n%s\n</%s>", tag, attributes, text, tag)
}
