// Package llmtest is a scripted model server that speaks OpenAI's chat completions on a loopback address. It is the one
// fake of Mayfly's tests: there is no other stand-in for a model, and none for anything else.
package llmtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"
)

// Script says how a Server answers.
type Script struct {
	// Answers are given one after the other.
	Answers []Answer
	// Func gives the answers when Answers are used up. It is called from many goroutines, and gets requests numbered from 0.
	// Default: the server says that the script has no answer, by an error that is not retried.
	Func func(n int, r *Request) Answer
	// Key is the API key that requests must have. Default: any, or none.
	Key string
	// Models are the names that the list of models has. Default: "test-model".
	Models []string
}

// Answer is how one request is answered. The zero value is an empty text.
type Answer struct {
	// Text is what the model says; Deltas are its pieces when it is streamed. Default: the words of Text, or Text is the
	// pieces put together.
	Text   string
	Deltas []string
	// Refusal is what the model says in place of an answer.
	Refusal string
	// FinishReason is why the answer ended. Default: "stop"; "none": it is not told.
	FinishReason string
	// Usage are the tokens. Default: a token for four bytes. NoUsage: they are not told.
	PromptTokens, CompletionTokens int
	NoUsage                        bool

	// Status makes it an error, with Code, Type, Param and Message as the error object has them.
	Status                     int
	Code, Type, Param, Message string
	// RetryAfter is told in a header. Default: it is not.
	RetryAfter time.Duration
	// Raw is sent as it is in place of a body, with ContentType. Default of that: that of an answer to the request.
	Raw         string
	ContentType string
	// Redirect sends the client elsewhere.
	Redirect string

	// Wait delays the answer until it is closed. Default: no delay.
	Wait <-chan struct{}
	// Hang: no answer until the client gives up or the server is closed, after HangAfter pieces if it is streamed.
	Hang      bool
	HangAfter int
	// Cut closes the connection: at once, or after CutAfter pieces of a stream.
	Cut      bool
	CutAfter int
}

// Request is what a client sent.
type Request struct {
	Header http.Header
	Path   string
	Body   []byte

	Model    string `json:"model"`
	Messages []struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	} `json:"messages"`
	Stream              bool            `json:"stream"`
	StreamOptions       json.RawMessage `json:"stream_options"`
	Temperature         *float64        `json:"temperature"`
	MaxTokens           int             `json:"max_tokens"`
	MaxCompletionTokens int             `json:"max_completion_tokens"`
	ResponseFormat      *struct {
		Type       string `json:"type"`
		JSONSchema struct {
			Name   string          `json:"name"`
			Strict bool            `json:"strict"`
			Schema json.RawMessage `json:"schema"`
		} `json:"json_schema"`
	} `json:"response_format"`
}

// Prompt returns the content of the last message.
func (r *Request) Prompt() string {
	if len(r.Messages) == 0 {
		return ""
	}
	return r.Messages[len(r.Messages)-1].Content
}

// Server is a running model server. It is safe for concurrent use.
type Server struct {
	// URL is the base URL for clients.
	URL string

	script   Script
	http     *http.Server
	served   chan error
	closing  chan struct{}
	mu       sync.Mutex
	requests []*Request
	busy     int
	most     int
}

// Start starts a server. Close ends it.
func Start(script *Script) (*Server, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &Server{
		URL: "http://" + listener.Addr().String() + "/v1", served: make(chan error, 1), closing: make(chan struct{}),
	}
	if script != nil {
		s.script = *script
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/chat/completions", s.chat)
	mux.HandleFunc("GET /v1/models", s.models)
	s.http = &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go func() { s.served <- s.http.Serve(listener) }()
	return s, nil
}

// Close ends the server and what hangs, and waits for both.
func (s *Server) Close() error {
	close(s.closing)
	err := s.http.Close()
	if served := <-s.served; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}

// Requests returns the requests for chat completions so far, in the order in which they came.
func (s *Server) Requests() []*Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// MostAtOnce returns the largest number of requests that were under way at the same time.
func (s *Server) MostAtOnce() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.most
}

// maxBody bounds what a client may send.
const maxBody = 64 << 20

func (s *Server) chat(w http.ResponseWriter, hr *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, hr.Body, maxBody))
	if err != nil {
		return
	}
	r := &Request{Header: hr.Header.Clone(), Path: hr.URL.Path, Body: body}
	err = json.Unmarshal(body, r)
	a := s.begin(r)
	defer s.end()
	if err != nil {
		a = Answer{Status: http.StatusBadRequest, Message: "llmtest: the request is not JSON: " + err.Error()}
	}
	if s.script.Key != "" && hr.Header.Get("Authorization") != "Bearer "+s.script.Key {
		a = Answer{Status: http.StatusUnauthorized, Code: "invalid_api_key", Message: "Incorrect API key: " + hr.Header.Get("Authorization")}
	}
	if a.Wait != nil && !s.wait(hr, a.Wait) {
		return
	}
	s.write(w, hr, r, &a)
}

// begin takes the next answer of the script.
func (s *Server) begin(r *Request) Answer {
	s.mu.Lock()
	n := len(s.requests)
	s.requests = append(s.requests, r)
	s.busy++
	s.most = max(s.most, s.busy)
	s.mu.Unlock()
	switch {
	case n < len(s.script.Answers):
		return s.script.Answers[n]
	case s.script.Func != nil:
		return s.script.Func(n, r)
	default:
		return Answer{Status: http.StatusBadRequest, Message: fmt.Sprintf("llmtest: the script has no answer to request %d", n)}
	}
}

func (s *Server) end() {
	s.mu.Lock()
	s.busy--
	s.mu.Unlock()
}

// wait returns false when the client or the server gave up.
func (s *Server) wait(r *http.Request, until <-chan struct{}) bool {
	select {
	case <-until:
		return true
	case <-r.Context().Done():
	case <-s.closing:
	}
	return false
}

func (s *Server) models(w http.ResponseWriter, _ *http.Request) {
	type model struct {
		ID     string `json:"id"`
		Object string `json:"object"`
	}
	models := []model{}
	for _, name := range s.script.Models {
		models = append(models, model{name, "model"})
	}
	if s.script.Models == nil {
		models = append(models, model{"test-model", "model"})
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"object": "list", "data": models})
}

// Client returns an HTTP client with connections of its own, which its transport can close.
func Client() (*http.Client, *http.Transport) {
	t := &http.Transport{MaxIdleConnsPerHost: 16}
	return &http.Client{Transport: t}, t
}
