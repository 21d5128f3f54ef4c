package httpapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// readAnswer decodes a JSON answer and closes it.
func readAnswer(resp *http.Response, v any) error {
	defer resp.Body.Close()
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxAnswer)).Decode(v); err != nil {
		return fmt.Errorf("answer of the server: %w", err)
	}
	return nil
}

// errNoEnd: the connection broke before the last event.
var errNoEnd = errors.New("the server went away before it told what came of it")

// readEvents calls f for each event and returns the last one. There may be any number of them, but none is larger than
// an answer may be.
func readEvents(r io.Reader, f func(*Event)) (*Event, error) {
	limited := &io.LimitedReader{R: r}
	for d := json.NewDecoder(limited); ; {
		limited.N = maxAnswer
		e := &Event{}
		if err := d.Decode(e); err != nil {
			return nil, fmt.Errorf("%w: %w", errNoEnd, err)
		}
		switch e.Event {
		case "result":
			return e, nil
		case "error":
			if e.Error == nil {
				return nil, errNoEnd
			}
			return e, nil
		}
		f(e)
	}
}
