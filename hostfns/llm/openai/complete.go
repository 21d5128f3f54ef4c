package openai

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"
	"strings"

	sdk "github.com/sashabaranov/go-openai"

	"github.com/mayfly-run/mayfly/hostfns"
	"github.com/mayfly-run/mayfly/hostfns/llm"
)

const (
	// maxText bounds an answer in bytes.
	maxText = 8 << 20
	// maxLines is how many lines without data a stream may have on end: some servers send one per second to keep the
	// connection.
	maxLines = 100_000
)

// Complete asks the server: it makes one attempt, and others at once where the server knows less of the protocol.
func (m *Model) Complete(ctx context.Context, r *llm.Request, stream func(delta string)) (*llm.Response, error) {
	asked := *r
	if asked.Model == "" {
		asked.Model = m.o.Model
	}
	if asked.Model == "" {
		return nil, &hostfns.Error{
			Code: hostfns.CodeRequest, Message: "there is no default model", Hint: "name one: model=, or model of llm in the configuration",
		}
	}
	attempt := ctx
	if m.o.Timeout > 0 {
		var cancel context.CancelFunc
		attempt, cancel = context.WithTimeout(ctx, m.o.Timeout)
		defer cancel()
	}
	q, once := m.known(asked.Model), false
	for {
		x := &exchange{zero: asked.Temperature != nil && *asked.Temperature == 0 && !q.noTemperature}
		key := m.key()
		streams := stream != nil && !q.noStream
		resp, err := m.once(x.with(attempt), m.library(key), m.request(&asked, &q, streams), stream)
		switch f := failureOf(err, x.status); {
		case err == nil:
			return resp, nil
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case streams && x.noStream:
			q.noStream = true
		case f != nil && !f.tooLong():
			learnt, lasting := q.learn(f, &asked, streams)
			if !learnt {
				return nil, m.mapped(err, x, key)
			}
			once = once || !lasting
		default:
			return nil, m.mapped(err, x, key)
		}
		m.remember(asked.Model, q, once)
	}
}

// library returns the client of the library, which is but a struct.
func (m *Model) library(key string) *sdk.Client {
	c := sdk.DefaultConfig(key)
	c.BaseURL = m.o.BaseURL
	c.OrgID = m.o.Organization
	c.HTTPClient = &doer{client: m.client, headers: m.o.Headers, max: m.o.MaxResponse}
	c.EmptyMessagesLimit = maxLines
	return sdk.NewClientWithConfig(c)
}

// request translates a request, as the server is known to want it.
func (m *Model) request(r *llm.Request, q *quirks, stream bool) *sdk.ChatCompletionRequest {
	out := &sdk.ChatCompletionRequest{
		Model: r.Model, Stop: r.Stop, Stream: stream, Messages: make([]sdk.ChatCompletionMessage, 0, len(r.Messages)+1),
	}
	for _, msg := range r.Messages {
		out.Messages = append(out.Messages, sdk.ChatCompletionMessage{Role: msg.Role, Content: msg.Content})
	}
	if r.Temperature != nil {
		out.Temperature = float32(*r.Temperature) // 0 is added later
	}
	// Others than OpenAI know the old name, and ignore the new one silently.
	if newName := m.o.BaseURL == DefaultBaseURL || reasons(r.Model); newName != q.otherTokens {
		out.MaxCompletionTokens = r.MaxTokens
	} else {
		out.MaxTokens = r.MaxTokens //nolint:staticcheck // servers that do not know the newer name are asked by this one
	}
	if stream && !q.noUsage {
		out.StreamOptions = &sdk.StreamOptions{IncludeUsage: true}
	}
	if r.Schema == nil {
		return out
	}
	switch q.format {
	case formatSchema:
		out.ResponseFormat = &sdk.ChatCompletionResponseFormat{
			Type: sdk.ChatCompletionResponseFormatTypeJSONSchema,
			JSONSchema: &sdk.ChatCompletionResponseFormatJSONSchema{
				Name: r.SchemaName, Schema: r.Schema, Strict: strict(r.Schema),
			},
		}
		return out
	case formatObject:
		out.ResponseFormat = &sdk.ChatCompletionResponseFormat{Type: sdk.ChatCompletionResponseFormatTypeJSONObject}
	}
	out.Messages = slices.Insert(out.Messages, 0, sdk.ChatCompletionMessage{
		Role:    sdk.ChatMessageRoleSystem,
		Content: "Answer with one JSON object and nothing else. It has to match this JSON schema:\n" + string(r.Schema),
	})
	return out
}

// reasons tells of OpenAI's models that the library refuses the old name of max_completion_tokens for.
func reasons(model string) bool {
	for _, p := range []string{"o1", "o3", "o4", "gpt-5", "gpt-6"} {
		if strings.HasPrefix(model, p) {
			return true
		}
	}
	return false
}

// once sends a request.
func (m *Model) once(ctx context.Context, c *sdk.Client, r *sdk.ChatCompletionRequest, stream func(string)) (*llm.Response, error) {
	if !r.Stream {
		return whole(ctx, c, r)
	}
	s, err := c.CreateChatCompletionStream(ctx, *r)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	a := &answer{}
	for {
		chunk, err := s.Recv()
		if errors.Is(err, io.EOF) && a.finish != "" {
			return a.response()
		}
		if err != nil { // io.EOF too: the answer is not complete
			return nil, err
		}
		a.model = cmp.Or(chunk.Model, a.model)
		if chunk.Usage != nil {
			a.usage = chunk.Usage
		}
		for _, choice := range chunk.Choices {
			if choice.Index != 0 {
				continue
			}
			if err := a.add(choice.Delta.Content, choice.Delta.Refusal); err != nil {
				return nil, err
			}
			if choice.Delta.Content != "" {
				stream(choice.Delta.Content)
			}
			if err := ctx.Err(); err != nil { // there may be more that has come already
				return nil, err
			}
			a.finish = cmp.Or(string(choice.FinishReason), a.finish)
		}
	}
}

// whole sends a request whose answer comes at once.
func whole(ctx context.Context, c *sdk.Client, r *sdk.ChatCompletionRequest) (*llm.Response, error) {
	resp, err := c.CreateChatCompletion(ctx, *r)
	if err != nil {
		return nil, err
	}
	if len(resp.Choices) == 0 {
		return nil, hostfns.Errorf(hostfns.CodeServer, "the model server answered without an answer")
	}
	choice := &resp.Choices[0]
	a := &answer{model: resp.Model, finish: string(choice.FinishReason), usage: &resp.Usage}
	text := choice.Message.Content
	for _, part := range choice.Message.MultiContent {
		text += part.Text
	}
	if err := a.add(text, choice.Message.Refusal); err != nil {
		return nil, err
	}
	return a.response()
}

// answer is what came of an answer.
type answer struct {
	text, refusal strings.Builder
	model         string
	finish        string
	usage         *sdk.Usage
}

func (a *answer) add(text, refusal string) error {
	a.text.WriteString(text)
	a.refusal.WriteString(refusal)
	if a.text.Len()+a.refusal.Len() > maxText {
		return errTooLarge
	}
	return nil
}

func (a *answer) response() (*llm.Response, error) {
	switch {
	case strings.TrimSpace(a.refusal.String()) != "":
		return nil, hostfns.Errorf(hostfns.CodeRefused, "the model refused: %s", a.refusal.String())
	case a.finish == string(sdk.FinishReasonContentFilter):
		return nil, hostfns.Errorf(hostfns.CodeRefused, "the model's provider stopped the answer: content filter")
	}
	resp := &llm.Response{Text: a.text.String(), Model: cut(a.model, 256), FinishReason: cut(a.finish, 64)}
	if a.usage != nil {
		resp.Usage = llm.Usage{PromptTokens: a.usage.PromptTokens, CompletionTokens: a.usage.CompletionTokens}
		if a.usage.PromptTokensDetails != nil {
			resp.Usage.Cached = a.usage.PromptTokensDetails.CachedTokens
		}
	}
	return resp, nil
}
