package llm

import (
	"encoding/json"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/mayfly-run/mayfly/hostfns"
)

const (
	// maxDelta bounds the text of an event, and deltaEvery is the time within which pieces are put together: models send a
	// piece per token, which nobody can read.
	maxDelta   = 4 << 10
	deltaEvery = 100 * time.Millisecond
	// maxDeltas bounds the text that is told of by a request's events. All of the answer comes as the value.
	maxDeltas = 256 << 10
)

// deltas tells of an answer as it comes.
type deltas struct {
	emit    func(hostfns.Event)
	call    int
	pending strings.Builder
	last    time.Time
	told    int
}

func (d *deltas) add(text string) {
	if left := maxDeltas - d.told - d.pending.Len(); len(text) > left {
		text = cut(text, left)
	}
	for text != "" {
		part := cut(text, max(maxDelta-d.pending.Len(), utf8.UTFMax))
		if part == "" { // no UTF-8
			return
		}
		d.pending.WriteString(part)
		text = text[len(part):]
		if d.pending.Len() >= maxDelta-utf8.UTFMax || time.Since(d.last) >= deltaEvery {
			d.flush()
		}
	}
}

func (d *deltas) flush() {
	if d.pending.Len() == 0 {
		return
	}
	data, err := json.Marshal(struct {
		Call  int    `json:"call"`
		Delta string `json:"delta"`
	}{d.call, d.pending.String()})
	if err == nil {
		d.emit(hostfns.Event{Kind: hostfns.EventModel, Data: data})
	}
	d.told += d.pending.Len()
	d.pending.Reset()
	d.last = time.Now()
}

// cut returns the first n bytes of a text, or a few less so that no character is split.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	n = max(n, 0)
	for i := 0; n > 0 && !utf8.RuneStart(s[n]) && i < utf8.UTFMax; i++ {
		n--
	}
	return s[:n]
}
