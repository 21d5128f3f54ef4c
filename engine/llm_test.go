package engine_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/mayfly-run/mayfly/engine"
	"github.com/mayfly-run/mayfly/hostfns"
	"github.com/mayfly-run/mayfly/hostfns/llm"
	"github.com/mayfly-run/mayfly/hostfns/llm/openai"
	"github.com/mayfly-run/mayfly/internal/llmtest"
)

// modelFunctions are ask_llm of a scripted model.
func modelFunctions(t testing.TB, script *llmtest.Script, o *llm.Options) (map[string]hostfns.Function, *llmtest.Server) {
	t.Helper()
	server, err := llmtest.Start(script)
	if err != nil {
		t.Fatal(err)
	}
	client, transport := llmtest.Client()
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	m, err := openai.New(&openai.Options{BaseURL: server.URL, Model: "test-model", HTTPClient: client})
	if err != nil {
		t.Fatal(err)
	}
	quiet := llm.Options{}
	if o != nil {
		quiet = *o
	}
	quiet.Logger = slog.New(slog.DiscardHandler)
	return llm.Functions(m, &quiet), server
}

// newModelSession is a session whose code can ask a scripted model.
func newModelSession(t testing.TB, script *llmtest.Script, o *llm.Options) (*toolSession, *llmtest.Server) {
	t.Helper()
	functions, server := modelFunctions(t, script, o)
	return newToolSession(t, &hostfns.Options{Functions: functions, MaxInline: 1000}), server
}

// echoModel answers with the prompt, in JSON where a schema wants that.
func echoModel(_ int, r *llmtest.Request) llmtest.Answer {
	prompt := r.Prompt()
	if strings.Contains(prompt, "too long") {
		return llmtest.Answer{Status: 400, Code: "context_length_exceeded", Message: "too long"}
	}
	if r.ResponseFormat != nil {
		return llmtest.Answer{Text: r.Messages[0].Content} // also when it is asked to correct that
	}
	return llmtest.Answer{Text: "<" + prompt + ">"}
}

func TestAskLLM(t *testing.T) {
	s, _ := newModelSession(t, &llmtest.Script{Func: echoModel}, nil)
	s.exec(`
import asyncio, inspect, json
from mayfly import ask_llm, ask_llm_batch, LLMError, HostError
from tools import demo
`)
	for code, repr := range map[string]string{
		"ask_llm('hello')":                                                              "'<hello>'",
		"ask_llm('grüß \\U0001f98b')":                                                   "'<grüß 🦋>'",
		"ask_llm('Sum:', context='1, 2')":                                               `'<Sum:\n\n<context>\n1, 2\n</context>>'`,
		"ask_llm('Sum:', context={'a': [1, 2.5, None]})":                                `'<Sum:\n\n<context type="json">\n{"a":[1,2.5,null]}\n</context>>'`,
		"ask_llm('Sum:', context=('a', 'b')).count('<doc')":                             "2",
		"await ask_llm.aio('hello')":                                                    "'<hello>'",
		"await asyncio.gather(*[ask_llm.aio(str(i)) for i in range(5)])":                "['<0>', '<1>', '<2>', '<3>', '<4>']",
		"ask_llm_batch(str(i) for i in range(4))":                                       "['<0>', '<1>', '<2>', '<3>']",
		"await ask_llm_batch.aio(['a'])":                                                "['<a>']",
		"ask_llm_batch([])":                                                             "[]",
		"ask_llm_batch(['a', 'too long', 'b'], return_exceptions=True)[::2]":            "['<a>', '<b>']",
		"ask_llm_batch(['too long'], return_exceptions=True)[0].code":                   "'context_too_long'",
		"ask_llm('Sum:', context=demo.large_text(n=5))":                                 `'<Sum:\n\n<context>\n` + strings.ReplaceAll(largeText(5), "\n", `\n`) + `\n</context>>'`,
		"type(big := demo.large_text(n=100)).__name__":                                  "'LargeResult'",
		"ask_llm('Sum:', context=demo.large_text(n=100)).count('line')":                 "100",
		"ask_llm('Sum:', context=['a', demo.large_text(n=100)]).count('line')":          "100",
		"ask_llm('See:', context=demo.media()[3])":                                      `'<See:\n\n<context>\nABC\n</context>>'`,
		"len(ask_llm('x' * 5000))":                                                      "5002",
		"issubclass(LLMError, HostError), LLMError.__module__":                          "(True, 'mayfly')",
		"ask_llm.aio.__qualname__, ask_llm.__module__":                                  "('ask_llm.aio', 'mayfly')",
		"inspect.signature(ask_llm) == inspect.signature(ask_llm.aio)":                  "True",
		"'context' in ask_llm.__doc__ and 'return_exceptions' in ask_llm_batch.__doc__": "True",
	} {
		s.want(code, repr)
	}
}

func TestAskLLMSchema(t *testing.T) {
	s, _ := newModelSession(t, &llmtest.Script{Func: echoModel}, &llm.Options{MaxCalls: -1})
	s.exec(`
from mayfly import ask_llm, ask_llm_batch
from dataclasses import dataclass, field
from typing import *
import datetime, enum, json
class Color(enum.Enum):
    RED = 'red'
    BLUE = 'blue'
@dataclass
class Point:
    "A point in the plane."
    x: float
    y: Annotated[float, 'upwards']
    color: Color = Color.RED
@dataclass
class Tree:
    name: str
    children: 'list[Tree]' = field(default_factory=list)
class Person(TypedDict):
    name: str
    born: NotRequired[datetime.date]
type Names = list[str]
def ask(answer, schema):
    return ask_llm(json.dumps({'value': answer}), schema=schema)
`)
	for code, repr := range map[string]string{
		"ask(5, int)":                      "5",
		"ask(5.0, int)":                    "5",
		"ask(5, float)":                    "5.0",
		"ask('a', str)":                    "'a'",
		"ask(True, bool)":                  "True",
		"ask(None, int | None) is None":    "True",
		"ask(3, Optional[int])":            "3",
		"ask([1, 2], list[int])":           "[1, 2]",
		"ask([1, 'a'], tuple[int, str])":   "(1, 'a')",
		"ask([1, 2], tuple[int, ...])":     "(1, 2)",
		"ask([2, 2], set[int])":            "{2}",
		"ask(['a'], Names)":                "['a']",
		"ask({'a': [1]}, {})":              "{'a': [1]}",
		"ask([1], Any)":                    "[1]",
		"ask('red', Color)":                "<Color.RED: 'red'>",
		"ask('yes', Literal['yes', 'no'])": "'yes'",
		"ask('2024-02-29', datetime.date)": "datetime.date(2024, 2, 29)",
		"ask([{'x': 1, 'y': 2, 'color': 'blue'}], list[Point])":                   "[Point(x=1.0, y=2.0, color=<Color.BLUE: 'blue'>)]",
		"ask({'x': 1, 'y': 2}, Point | str), ask('s', Point | str)":               "(Point(x=1.0, y=2.0, color=<Color.RED: 'red'>), 's')",
		"ask({'name': 'a', 'children': [{'name': 'b'}]}, Tree)":                   "Tree(name='a', children=[Tree(name='b', children=[])])",
		"ask([{'name': 'a', 'children': []}], list[Tree])":                        "[Tree(name='a', children=[])]",
		"ask_llm('{\"x\": 1, \"y\": 2}', schema=Point)":                           "Point(x=1.0, y=2.0, color=<Color.RED: 'red'>)",
		"ask_llm('{\"a\": 1}', schema={'type': 'object'})":                        "{'a': 1}",
		"ask_llm('{\"name\": \"Ada\", \"born\": \"1815-12-10\"}', schema=Person)": "{'name': 'Ada', 'born': datetime.date(1815, 12, 10)}",
		"ask_llm_batch(['1', '{\"value\": 2}'], schema=int)":                      "[1, 2]",
		"ask(10 ** 30, int)": "1000000000000000000000000000000",
	} {
		s.want(code, repr)
	}
	for code, parts := range map[string][]string{
		"ask('five', int)":                             {"does not match the schema", "repair"},
		"ask({'x': 1}, Point)":                         {"y"},
		"ask('green', Color)":                          {"red"},
		"ask({'x': 1, 'y': 2, 'z': 3}, Point)":         {"z"},
		"ask_llm('no JSON', schema=dict[str, int])":    {"not JSON"},
		"ask([1], {'$ref': '#/$defs/x'})":              {"schema"},
		"ask_llm_batch(['1', 'one', '2'], schema=int)": {"prompt 2 of 3"},
	} {
		s.fails(code, "mayfly.LLMError", parts...)
	}
	for code, parts := range map[string][]string{
		"ask(1, 'int')":                   {"schema cannot be made of 'int'"},
		"ask(1, complex)":                 {"schema cannot be made of"},
		"ask(1, dict[int, str])":          {"schema cannot be made of"},
		"ask_llm(1)":                      {"prompt is a str, not a int"},
		"ask_llm('x', 'context')":         {"positional"},
		"ask_llm('x', model=1)":           {"model is a str"},
		"ask_llm_batch('text')":           {"prompts is a list of texts"},
		"ask_llm_batch(['a', 1])":         {"each prompt is a str"},
		"ask_llm('x', context=b'bytes')":  {"context", "bytes"},
		"ask_llm('x', context={1, 2})":    {"context", "set"},
		"ask_llm('x', temperature='hot')": {"could not convert"},
	} {
		kind := "TypeError"
		switch {
		case strings.Contains(code, "hot"):
			kind = "ValueError"
		case strings.Contains(code, "context="):
			kind = "TypeError"
		}
		s.fails(code, kind, parts...)
	}
}

func TestAskLLMErrors(t *testing.T) {
	type answer = llmtest.Answer
	s, _ := newModelSession(t, &llmtest.Script{Func: func(_ int, r *llmtest.Request) answer {
		switch r.Prompt() {
		case "limit":
			return answer{Status: 429, Message: "slow down", RetryAfter: 90 * time.Second}
		case "refuse":
			return answer{Refusal: "I will not."}
		case "key":
			return answer{Status: 401, Message: "no"}
		}
		return answer{Text: strings.Repeat("ok ", 3), FinishReason: "length"}
	}}, &llm.Options{MaxCalls: 6})
	s.exec(`
from mayfly import ask_llm, ask_llm_batch, LLMError
import pickle
def fail(*args, **kwargs):
    try:
        return ask_llm(*args, **kwargs)
    except LLMError as e:
        e = pickle.loads(pickle.dumps(e))
        return e.code, e.retry_after, e.retryable, e.data
`)
	r := s.exec(`
print(fail('limit'))
print(fail('refuse'))
print(fail('key'))
print(fail('x'))
print(fail('x', model='other')[0])
print(fail('')[0])
print(ask_llm('x', max_tokens=3))
try:
    ask_llm_batch(['1', '2', '3'])
except LLMError as e:
    print(e.code, e.hint)
`)
	want := `('rate_limit', 90, True, None)
('refused', None, False, None)
('unavailable', None, False, None)
('too_large', None, False, {'text': 'ok ok ok '})
denied
bad_request
ok ok ok 
budget ask less, or have whoever runs this raise maxCalls of llm in the configuration (llm.Options.MaxCalls)
`
	if r.Status != engine.StatusOK || r.Stdout != want {
		t.Errorf("%s\n%s", describe(r), r.Stdout)
	}
	s.fails("ask_llm('key')", "mayfly.LLMError", "API key")
	// Budgets are those of an execution and what it starts.
	s.exec("ask_llm('x', max_tokens=3)")
	none := newToolSession(t, nil)
	none.fails("from mayfly import ask_llm\nask_llm('x')", "mayfly.LLMError", "no language model")
	if r := exec(t, newSession(t, nil), "from mayfly import ask_llm\nask_llm('x')"); r.Error == nil || r.Error.Type != "mayfly.LLMError" {
		t.Errorf("without a host: %s", describe(r))
	}
}

// A large result is no context: which part, only the program knows.
func TestAskLLMLargeContext(t *testing.T) {
	s, server := newModelSession(t, &llmtest.Script{Func: echoModel}, &llm.Options{MaxTokens: 1000})
	s.exec("from mayfly import ask_llm\nfrom tools import demo\nbig = demo.large_text(n=100_000)")
	s.fails("ask_llm('x', context=big)", "mayfly.LLMError", "large result", "context=result[:20000]")
	s.fails("ask_llm('x', context=['a', big])", "mayfly.LLMError", "large result")
	s.fails("ask_llm('x', context=big[:100_000])", "mayfly.LLMError", "tokens of models are used up")
	if n := len(server.Requests()); n != 0 {
		t.Errorf("%d requests", n)
	}
	s.want("ask_llm('x', context=big[:6])", `'<x\n\n<context>\nline 0\n</context>>'`)
}

func TestAskLLMEvents(t *testing.T) {
	s, _ := newModelSession(t, &llmtest.Script{Answers: []llmtest.Answer{{Deltas: []string{"one ", "two ", "three"}}}}, nil)
	text := ""
	r := execRequest(t, s.Session, engine.Request{Code: "from mayfly import ask_llm\nask_llm('x')", Host: s.host, OnEvent: func(e engine.Event) {
		var d struct {
			Call  int
			Delta string
		}
		if string(e.Kind) != string(hostfns.EventModel) {
			return
		}
		if err := json.Unmarshal(e.Data, &d); err != nil || d.Call != 1 {
			t.Errorf("%s: %v", e.Data, err)
		}
		text += d.Delta
	}})
	if r.Status != engine.StatusOK || text != "one two three" {
		t.Errorf("%s, events %q", describe(r), text)
	}
	if len(r.HostCalls) != 1 || r.HostCalls[0].Name != llm.FnAsk || r.HostCalls[0].Outcome != "ok" {
		t.Errorf("host calls: %+v", r.HostCalls)
	}
}

// An execution that ends takes its requests with it.
func TestAskLLMTimeout(t *testing.T) {
	s, _ := newModelSession(t, &llmtest.Script{Func: func(_ int, r *llmtest.Request) llmtest.Answer {
		return llmtest.Answer{Text: "ok", Hang: r.Prompt() != "answer"}
	}}, nil)
	s.exec("from mayfly import ask_llm, ask_llm_batch\nimport asyncio")
	for _, code := range []string{"ask_llm('x')", "await asyncio.gather(ask_llm.aio('x'))", "ask_llm_batch(['x', 'y'])"} {
		if r := execRequest(t, s.Session, engine.Request{Code: code, Host: s.host, Timeout: 200 * time.Millisecond}); r.Status != engine.StatusTimeout {
			t.Errorf("%s: %s", code, describe(r))
		}
	}
	s.want("ask_llm('answer')", "'ok'")
}

// A step that is run again has the answers that it had: the model is not asked twice, and says the same.
func TestAskLLMReplay(t *testing.T) {
	functions, server := modelFunctions(t, &llmtest.Script{Func: func(n int, _ *llmtest.Request) llmtest.Answer {
		return llmtest.Answer{Text: fmt.Sprint(n)}
	}}, &llm.Options{CacheBytes: -1})
	host := toolHost(t, &hostfns.Options{Functions: functions})
	d := newDurable(t, func(o *engine.Options) { o.Host = host })
	s := d.session("demo", nil)
	want(t, s, "from mayfly import ask_llm, ask_llm_batch\nask_llm('x'), ask_llm('x')", "('0', '1')")
	want(t, s, "sorted(ask_llm_batch(['x', 'y', 'z']))", "['2', '3', '4']")
	want(t, s, "sorted([await ask_llm.aio('x'), await ask_llm.aio('y')])", "['5', '6']")
	if v := d.verify("demo"); !v.OK || v.Identical != 3 {
		t.Errorf("%+v, %v", v, v.Divergence)
	}
	if n := len(server.Requests()); n != 7 {
		t.Errorf("%d requests", n)
	}
}

// TestRealModel asks a real model, for make test-e2e.
func TestRealModel(t *testing.T) {
	key := os.Getenv("OPENAI_API_KEY")
	if key == "" {
		t.Skip("needs OPENAI_API_KEY (and OPENAI_BASE_URL, OPENAI_MODEL for others than OpenAI)")
	}
	name := os.Getenv("OPENAI_MODEL")
	if name == "" {
		name = "gpt-4o-mini"
	}
	client, transport := llmtest.Client()
	t.Cleanup(transport.CloseIdleConnections)
	m, err := openai.New(&openai.Options{
		BaseURL: os.Getenv("OPENAI_BASE_URL"), Model: name, APIKey: func() string { return key }, HTTPClient: client,
	})
	if err != nil {
		t.Fatal(err)
	}
	s := newToolSession(t, &hostfns.Options{Functions: llm.Functions(m, &llm.Options{MaxTokens: 20_000})})
	s.exec(`
from mayfly import ask_llm, ask_llm_batch
from dataclasses import dataclass
@dataclass
class City:
    name: str
    country: str
`)
	s.want("ask_llm('What is 2 + 3? Answer with the number alone.').strip()", "'5'")
	s.want("ask_llm('Which city?', context='The Eiffel Tower is in Paris, France.', schema=City)", "City(name='Paris', country='France')")
	s.want("ask_llm_batch(['2 + 2 = ?', '3 * 3 = ?'], schema=int)", "[4, 9]")
}
