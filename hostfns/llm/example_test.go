package llm_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"

	"github.com/mayfly-run/mayfly/hostfns"
	"github.com/mayfly-run/mayfly/hostfns/llm"
	"github.com/mayfly-run/mayfly/hostfns/llm/openai"
	"github.com/mayfly-run/mayfly/internal/llmtest"
)

// Code in the sandboxes of an engine that has this host can call ask_llm.
func ExampleFunctions() {
	// The server stands for OpenAI's, or for one on this machine.
	server, err := llmtest.Start(&llmtest.Script{Answers: []llmtest.Answer{{Text: "Four."}}})
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	client, transport := llmtest.Client()
	defer transport.CloseIdleConnections()

	model, err := openai.New(&openai.Options{BaseURL: server.URL, Model: "small-model", HTTPClient: client})
	if err != nil {
		log.Fatal(err)
	}
	functions := llm.Functions(model, &llm.Options{MaxCalls: 10, AllowModels: []string{"large-*"}})
	host, err := hostfns.New(&hostfns.Options{Functions: functions}) // for engine.Options.Host
	if err != nil {
		log.Fatal(err)
	}
	defer host.Close()

	// What the host does when code says ask_llm("What is 2 + 2?").
	value, err := functions[llm.FnAsk](context.Background(), &hostfns.FunctionCall{
		Args: json.RawMessage(`{"prompt": "What is 2 + 2?"}`), Scope: hostfns.NewScope(), Emit: func(hostfns.Event) {},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s\n", value.Data)
	// Output: Four.
}
