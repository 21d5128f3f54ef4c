package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/mayfly-run/mayfly/engine"
)

// Steps goes through the steps of a session from one on, as a list has them. An error ends it.
func (c *Client) Steps(ctx context.Context, name string, from int) iter.Seq2[*Step, error] {
	return func(yield func(*Step, error) bool) {
		for {
			var list stepList
			err := c.call(ctx, http.MethodGet, sessionPath(name, fmt.Sprintf("/journal?from=%d", from)), nil, &list)
			if err == nil && slices.Contains(list.Steps, nil) {
				err = errors.New("answer of the server: a step is missing")
			}
			if err != nil {
				yield(nil, err)
				return
			}
			for _, s := range list.Steps {
				if !yield(s, nil) {
					return
				}
			}
			if list.Next <= from {
				return
			}
			from = list.Next
		}
	}
}

// Step returns all of one step.
func (c *Client) Step(ctx context.Context, name string, step int) (*Step, error) {
	s := &Step{}
	return s, c.call(ctx, http.MethodGet, sessionPath(name, "/journal/"+strconv.Itoa(step)), nil, s)
}

// Value returns a result that was too large to be told; ref is its Result.ResultRef.
func (c *Client) Value(ctx context.Context, name, ref string) (io.ReadCloser, error) {
	resp, err := c.send(ctx, http.MethodGet, sessionPath(name, "/value?ref="+url.QueryEscape(ref)), nil) //nolint:bodyclose // the caller closes it
	if err != nil {
		return nil, err
	}
	return &downloaded{resp.Body, resp}, nil
}

// Variables returns the variables of a session after a step.
func (c *Client) Variables(ctx context.Context, name string, step int) ([]engine.Variable, error) {
	var list variableList
	err := c.call(ctx, http.MethodGet, sessionPath(name, "/variables?step="+strconv.Itoa(step)), nil, &list)
	return list.Variables, err
}

// Diff tells what changed between two steps.
func (c *Client) Diff(ctx context.Context, name string, from, to int) (*engine.Diff, error) {
	q := url.Values{"from": {strconv.Itoa(from)}, "to": {strconv.Itoa(to)}}
	d := &engine.Diff{}
	return d, c.call(ctx, http.MethodGet, sessionPath(name, "/diff?"+q.Encode()), nil, d)
}

// Verify checks a journal, see engine.Journal.Verify.
func (c *Client) Verify(ctx context.Context, name string, o *engine.VerifyOptions) (*engine.Verification, error) {
	if o == nil {
		o = &engine.VerifyOptions{}
	}
	resp, err := c.send(ctx, http.MethodPost, sessionPath(name, "/verify"), verifyRequest{ChainOnly: o.ChainOnly})
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	last, err := readEvents(resp.Body, func(e *Event) {
		if e.Event == "progress" && o.Progress != nil {
			o.Progress(e.Step, e.Last)
		}
	})
	if err != nil {
		return nil, connectionError(ctx, err)
	}
	if last.Error != nil {
		return nil, last.Error.err()
	}
	v := &engine.Verification{}
	return v, json.Unmarshal(last.Result, v)
}
