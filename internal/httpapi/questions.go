package httpapi

import (
	"context"
	"net/http"
	"net/url"

	"github.com/mayfly-run/mayfly/engine"
	"github.com/mayfly-run/mayfly/hostfns"
)

type questionList struct {
	Questions []engine.OpenQuestion `json:"questions"`
}

func (h *handler) listQuestions(w http.ResponseWriter, r *http.Request) error {
	all, err := h.e.Questions(r.Context())
	if err != nil {
		return err
	}
	if all == nil {
		all = []engine.OpenQuestion{}
	}
	writeJSON(w, http.StatusOK, questionList{all})
	return nil
}

func (h *handler) reply(w http.ResponseWriter, r *http.Request) error {
	var reply hostfns.Reply
	if err := readJSON(w, r, &reply); err != nil {
		return err
	}
	if err := h.e.Reply(r.Context(), r.PathValue("id"), reply); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

type resumeRequest struct {
	Question string        `json:"question"`
	Reply    hostfns.Reply `json:"reply"`
	// MaxOutput is the number of bytes kept of each of stdout and stderr.
	MaxOutput int `json:"max_output,omitempty"`
	HostRequest
}

func (h *handler) resume(w http.ResponseWriter, r *http.Request) error {
	var q resumeRequest
	if err := readJSON(w, r, &q); err != nil {
		return err
	}
	if err := checkOutput(q.MaxOutput); err != nil {
		return err
	}
	req := engine.Request{MaxOutput: q.MaxOutput}
	release, err := h.offer(r, &req, &q.HostRequest)
	if err != nil {
		return err
	}
	defer release()
	s, err := h.open(r, nil)
	if err != nil {
		return err
	}
	defer h.kept.keep(s)
	h.stream(w, r, s, req, false, func(ctx context.Context, req engine.Request) (*engine.Result, error) {
		return s.Resume(ctx, q.Question, q.Reply, req)
	})
	return nil
}

// Questions lists what executions wait to be told, see engine.Engine.Questions.
func (c *Client) Questions(ctx context.Context) ([]engine.OpenQuestion, error) {
	var list questionList
	err := c.call(ctx, http.MethodGet, "/v1/questions", nil, &list)
	return list.Questions, err
}

// Reply answers a question of an execution that runs. For one that is suspended use Resume.
func (c *Client) Reply(ctx context.Context, id string, r hostfns.Reply) error {
	return c.call(ctx, http.MethodPost, "/v1/questions/"+url.PathEscape(id), r, nil)
}
