package llm

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/mayfly-run/mayfly/hostfns"
)

// Functions returns the host functions FnAsk and FnBatch, for hostfns.Options.Functions. They are safe for concurrent use, and
// share one cache.
func Functions(m Model, o *Options) map[string]hostfns.Function {
	f := &functions{m: m, o: o.withDefaults()}
	if d, ok := m.(Defaulter); ok && f.o.DefaultModel == "" {
		f.o.DefaultModel = d.DefaultModel()
	}
	if f.o.CacheBytes > 0 {
		f.cache = newCache(&f.o)
	}
	return map[string]hostfns.Function{FnAsk: f.ask, FnBatch: f.batch}
}

type functions struct {
	m     Model
	o     Options
	cache *cache // nil: nothing is remembered
}

// question is a prompt that is ready to be asked.
type question struct {
	request *Request
	answer  *structure // nil: text
	key     cacheKey   // zero: not remembered
}

// answer is text, or JSON where there is a schema.
type answer []byte

func (f *functions) ask(ctx context.Context, c *hostfns.FunctionCall) (*hostfns.Value, error) {
	var args askArgs
	if err := decode(c.Args, &args); err != nil {
		return nil, err
	}
	questions, err := f.questions(c, &args.params, []string{args.Prompt})
	if err != nil {
		return nil, err
	}
	q := &questions[0]
	a, ok := f.remembered(q)
	if !ok {
		t := treeOf(c.Scope, f.o.MaxParallel)
		if err := t.takeCalls(1, f.o.MaxCalls); err != nil {
			return nil, err
		}
		if a, err = f.answer(ctx, t, c.Emit, q); err != nil {
			return nil, err
		}
	}
	kind := hostfns.ValueText
	if q.answer != nil {
		kind = hostfns.ValueJSON
	}
	return &hostfns.Value{Kind: kind, Data: a}, nil
}

// questions checks what is asked.
func (f *functions) questions(c *hostfns.FunctionCall, p *params, prompts []string) ([]question, error) {
	if d := c.Scope.Depth(); f.o.MaxDepth > 0 && d >= f.o.MaxDepth {
		return nil, &hostfns.Error{
			Code: hostfns.CodeBudget,
			Message: fmt.Sprintf("this program is at level %d of programs that start others; models can be asked down to level %d",
				d+1, f.o.MaxDepth),
			Hint: "ask in a program further up, or " + raise("maxDepth", "MaxDepth"),
		}
	}
	if err := p.check(); err != nil {
		return nil, err
	}
	model, err := f.model(p.Model)
	if err != nil {
		return nil, err
	}
	s, err := newStructure(p.Schema)
	if err != nil {
		return nil, err
	}
	questions := make([]question, len(prompts))
	for i, prompt := range prompts {
		r, err := p.request(prompt)
		if err != nil {
			return nil, err
		}
		if r.Model = model; s != nil {
			r.Schema, r.SchemaName = s.schema, s.name
		}
		questions[i] = question{request: r, answer: s}
		if f.cache != nil && *r.Temperature == 0 && (p.Cache == nil || *p.Cache) {
			questions[i].key = keyOf(f.m.Name(), r)
		}
	}
	return questions, nil
}

// model returns the model to ask, which has to be allowed.
func (f *functions) model(name string) (string, error) {
	if name == "" || name == f.o.DefaultModel {
		return f.o.DefaultModel, nil
	}
	for _, pattern := range f.o.AllowModels {
		if matches(pattern, name) {
			return name, nil
		}
	}
	allowed := slices.Clone(f.o.AllowModels)
	if f.o.DefaultModel != "" {
		allowed = append([]string{f.o.DefaultModel}, allowed...)
	}
	e := hostfns.Errorf(hostfns.CodeDenied, "the model %q is not allowed", name)
	e.Hint = "leave model away to ask the default one"
	if len(allowed) > 0 {
		e.Hint += "; allowed: " + cut(strings.Join(allowed, ", "), maxProblem)
	}
	return "", e
}

// matches matches a name with a pattern of * and ?. Models' names have slashes, which mean nothing here.
func matches(pattern, name string) bool {
	flat := func(s string) string { return strings.ReplaceAll(s, "/", "\x00") }
	ok, err := path.Match(flat(strings.NewReplacer("[", `\[`, `\`, `\\`).Replace(pattern)), flat(name))
	return err == nil && ok
}

// remembered returns the answer that the cache has.
func (f *functions) remembered(q *question) (answer, bool) {
	if q.key == (cacheKey{}) {
		return nil, false
	}
	text, ok := f.cache.get(q.key)
	if !ok {
		return nil, false
	}
	if q.answer == nil {
		return answer(text), true
	}
	v, problem := q.answer.value(text)
	return answer(v), problem == ""
}

// answer asks the model. A call was taken for it.
func (f *functions) answer(ctx context.Context, t *tree, emit func(hostfns.Event), q *question) (answer, error) {
	resp, err := f.complete(ctx, t, emit, q.request)
	if err != nil {
		return nil, f.told(err)
	}
	a, text := answer(resp.Text), resp.Text
	if q.answer != nil {
		if a, text, err = f.structured(ctx, t, emit, q, text); err != nil {
			return nil, f.told(err)
		}
	}
	if q.key != (cacheKey{}) {
		f.cache.put(q.key, text)
	}
	return a, nil
}

// structured returns the value of an answer, after one try to repair it if need be, and the text that it comes from.
func (f *functions) structured(ctx context.Context, t *tree, emit func(hostfns.Event), q *question, text string) (answer, string, error) {
	v, problem := q.answer.value(text)
	if problem == "" {
		return answer(v), text, nil
	}
	if t.takeCalls(1, f.o.MaxCalls) != nil {
		return nil, "", invalidOutput(text, problem, false)
	}
	resp, err := f.complete(ctx, t, emit, repair(q.request, text, problem))
	if err != nil {
		return nil, "", err
	}
	if v, problem = q.answer.value(resp.Text); problem != "" {
		return nil, "", invalidOutput(resp.Text, problem, true)
	}
	return answer(v), resp.Text, nil
}

// told logs what an operator has to do something about: programs are not told of addresses.
func (f *functions) told(err error) error {
	var e *hostfns.Error
	if errors.As(err, &e) && (e.Code == hostfns.CodeUnavailable || e.Code == hostfns.CodeServer) {
		f.o.Logger.Warn("ask_llm failed", "model", f.m.Name(), "error", e.Message, "reason", e.Err)
	}
	return err
}
