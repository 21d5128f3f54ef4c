package openai

import (
	"encoding/json"
	"net/http"

	"github.com/mayfly-run/mayfly/hostfns/llm"
)

// format is how a server is told of a schema.
type format int

const (
	formatSchema format = iota // response_format json_schema
	formatObject               // json_object, the schema is in the messages
	formatPlain                // in the messages alone
)

// quirks are what a model's server was found not to know.
type quirks struct {
	format        format
	noTemperature bool // not even 0
	noUsage       bool // stream_options
	noStream      bool
	otherTokens   bool // max_tokens in place of max_completion_tokens, or the other way round
}

// maxQuirks bounds the models that are remembered: programs may name many.
const maxQuirks = 1000

func (m *Model) known(model string) quirks {
	m.mu.Lock()
	defer m.mu.Unlock()
	q := m.quirks[model]
	q.noTemperature = q.noTemperature || reasons(model)
	return q
}

// remember adds to what is known, without the format if that was for once.
func (m *Model) remember(model string, q quirks, once bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.quirks) >= maxQuirks {
		clear(m.quirks)
	}
	old := m.quirks[model]
	if once {
		q.format = old.format
	}
	m.quirks[model] = quirks{
		format: max(old.format, q.format), noTemperature: old.noTemperature || q.noTemperature, noUsage: old.noUsage || q.noUsage,
		noStream: old.noStream || q.noStream, otherTokens: old.otherTokens || q.otherTokens,
	}
}

// learn finds out of an error what to do otherwise. lasting tells whether that holds for other requests. It ends: each time
// there is less that can be learnt.
func (q *quirks) learn(f *failure, r *llm.Request, stream bool) (learnt, lasting bool) {
	switch f.status {
	case http.StatusBadRequest, http.StatusUnprocessableEntity, http.StatusNotImplemented, http.StatusInternalServerError:
	default:
		return false, false
	}
	switch {
	case r.Schema != nil && q.format != formatPlain &&
		f.has("response_format", "json_schema", "json_object", "invalid schema", "grammar", "guided_", "structured output"):
		q.format++
		return true, !f.has("invalid schema", "invalid_json_schema", "grammar")
	case f.status == http.StatusInternalServerError:
		return false, false // all others are told of by proper errors
	case stream && !q.noUsage && f.has("stream_options", "include_usage"):
		q.noUsage = true
	case !q.otherTokens && r.MaxTokens > 0 && f.has("max_tokens", "max_completion_tokens") &&
		f.has("unsupported", "not supported", "unrecognized", "unknown", "extra", "not permitted", "unexpected"):
		q.otherTokens = true
	case !q.noTemperature && r.Temperature != nil && *r.Temperature == 0 && f.has("temperature"):
		q.noTemperature = true
	case stream && !q.noStream && f.has("stream"):
		q.noStream = true
	default:
		return false, false
	}
	return true, true
}

// strict tells whether a schema is one that OpenAI's strict mode takes: each object has all its properties required, and no
// others.
func strict(schema json.RawMessage) bool {
	var v any
	return json.Unmarshal(schema, &v) == nil && strictValue(v)
}

func strictValue(v any) bool {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			if !strictValue(item) {
				return false
			}
		}
	case map[string]any:
		properties, object := v["properties"].(map[string]any)
		if object || v["type"] == "object" {
			required, _ := v["required"].([]any)
			if v["additionalProperties"] != false || len(required) != len(properties) {
				return false
			}
			for _, name := range required {
				if s, ok := name.(string); !ok || properties[s] == nil {
					return false
				}
			}
		}
		for key, item := range v {
			switch key {
			case "enum", "const", "default", "examples", "required":
				continue
			case "properties", "$defs", "definitions": // their keys are names
				members, _ := item.(map[string]any)
				for _, member := range members {
					if !strictValue(member) {
						return false
					}
				}
				continue
			case "allOf", "oneOf", "not", "if", "then", "else", "patternProperties", "prefixItems", "propertyNames", "contains":
				return false
			}
			if !strictValue(item) {
				return false
			}
		}
	}
	return true
}
