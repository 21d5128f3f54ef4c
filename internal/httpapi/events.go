package httpapi

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"unicode/utf8"

	"github.com/mayfly-run/mayfly/engine"
	"github.com/mayfly-run/mayfly/hostfns"
)

// Event is one line of an answer that comes in pieces.
type Event struct {
	// Event is started, note, stdout, stderr, stdin, progress, result or error, or a hostfns.EventKind.
	Event string `json:"event"`
	// Execution is the ID of what started.
	Execution string `json:"execution,omitempty"`
	// Data is output, or the text of a note; Base64 is output that is not UTF-8.
	Data   string `json:"data,omitempty"`
	Base64 []byte `json:"base64,omitempty"`
	// Info is the data of a hostfns.Event.
	Info json.RawMessage `json:"info,omitempty"`
	// Step of Last is how far a verification is.
	Step int `json:"step,omitempty"`
	Last int `json:"last,omitempty"`
	// Result is an engine.Result or engine.Verification. An error has one too when there is any.
	Result json.RawMessage `json:"result,omitempty"`
	Error  *Problem        `json:"error,omitempty"`
}

// bytes returns output.
func (e *Event) bytes() []byte {
	if e.Base64 != nil {
		return e.Base64
	}
	return []byte(e.Data)
}

// events sends events without making their source wait: a program does not stand still because its reader does. What
// waits to be sent is bounded by what a program may write at all, see engine.Options.MaxOutput.
type events struct {
	w    http.ResponseWriter
	done chan struct{}

	mu      sync.Mutex
	wake    sync.Cond
	pending []queued
	told    int // bytes that host events in pending take
	dropped int // host events since the last that was kept
	closed  bool
}

// maxTold bounds the bytes of host events that wait to be sent: a tool server may make any number of them. Questions are kept
// beyond it, since somebody has to reply to them; the number of calls bounds these.
const (
	maxTold = 1 << 20
	// eventSize is about what an event takes besides its data.
	eventSize = 256
)

// queued is an event whose output is still open to more of its kind.
type queued struct {
	Event
	output []byte
}

// newEvents begins the answer. The caller closes it, which waits until all is sent.
func newEvents(w http.ResponseWriter) *events {
	w.Header().Set("Content-Type", "application/x-ndjson")
	w.WriteHeader(http.StatusOK)
	q := &events{w: w, done: make(chan struct{})}
	q.wake.L = &q.mu
	go q.send()
	return q
}

func (q *events) add(e Event) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.note()
	if n := len(q.pending); e.Event == "progress" && n > 0 && q.pending[n-1].Event.Event == "progress" {
		q.pending[n-1].Event = e // only the latest is of interest
		return
	}
	q.pending = append(q.pending, queued{Event: e})
	q.wake.Signal()
}

// output adds a piece of output, which is copied.
func (q *events) output(kind engine.EventKind, data []byte) {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := len(q.pending)
	if n == 0 || q.pending[n-1].Event.Event != string(kind) {
		q.pending = append(q.pending, queued{Event: Event{Event: string(kind)}})
		n = len(q.pending)
	}
	q.pending[n-1].output = append(q.pending[n-1].output, data...)
	q.wake.Signal()
}

// host adds an event of a host call, whose data is copied. What is not JSON is none.
func (q *events) host(kind string, data []byte) {
	if !json.Valid(data) {
		return
	}
	must := kind == string(hostfns.EventQuestion) || kind == string(hostfns.EventReplied)
	q.mu.Lock()
	defer q.mu.Unlock()
	size := len(data) + eventSize
	if q.told+size > maxTold && !must {
		q.dropped++
		return
	}
	q.note()
	q.told += size
	q.pending = append(q.pending, queued{Event: Event{Event: kind, Info: append(json.RawMessage(nil), data...)}})
	q.wake.Signal()
}

// note tells how many events were dropped since it last did.
func (q *events) note() {
	if q.dropped > 0 {
		text := fmt.Sprintf("%d events of tool servers and models were dropped: there were too many", q.dropped)
		q.pending = append(q.pending, queued{Event: Event{Event: "note", Data: text}})
		q.dropped = 0
	}
}

// finish adds the last event.
func (q *events) finish(result any, err error) {
	e := Event{Event: "result"}
	if result != nil {
		b, jsonErr := json.Marshal(result)
		if jsonErr != nil && err == nil {
			err = jsonErr
		}
		e.Result = b
	}
	if err != nil {
		e.Event, e.Error = "error", describe(err)
	}
	q.add(e)
}

func (q *events) close() {
	q.mu.Lock()
	q.closed = true
	q.wake.Signal()
	q.mu.Unlock()
	<-q.done
}

func (q *events) send() {
	defer close(q.done)
	enc := json.NewEncoder(q.w)
	enc.SetEscapeHTML(false)
	flush := http.NewResponseController(q.w).Flush
	gone := false
	for {
		q.mu.Lock()
		for len(q.pending) == 0 && !q.closed {
			q.wake.Wait()
		}
		batch := q.pending
		q.pending, q.told = nil, 0
		q.mu.Unlock()
		if len(batch) == 0 {
			return
		}
		for i := range batch {
			e := &batch[i].Event
			if data := batch[i].output; utf8.Valid(data) {
				if data != nil {
					e.Data = string(data)
				}
			} else {
				e.Base64 = data
			}
			// When the client is gone the request's context ends, and with it the source of the events.
			gone = gone || enc.Encode(e) != nil
		}
		gone = gone || flush() != nil
	}
}
