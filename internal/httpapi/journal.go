package httpapi

import (
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/mayfly-run/mayfly/engine"
	"github.com/mayfly-run/mayfly/hostfns"
	"github.com/mayfly-run/mayfly/hostfns/cas"
)

// Limits of a list of steps.
const (
	defaultSteps = 1000
	maxSteps     = 10_000
	maxFirstLine = 200
)

// Step is a record of a journal as it travels.
type Step struct {
	Session string            `json:"session"`
	Step    int               `json:"step"`
	Kind    engine.RecordKind `json:"kind"`
	Time    time.Time         `json:"time"`
	Note    string            `json:"note,omitempty"`
	// Origin is the step whose state a rewind or fork brought.
	Origin *engine.StepRef `json:"origin,omitempty"`
	// Question is what a step of the kind "wait" waits for the reply to.
	Question *hostfns.Question `json:"question,omitempty"`
	// Status and WallMS are those of the result, for a list.
	Status engine.Status `json:"status,omitempty"`
	WallMS float64       `json:"wall_ms"`
	// Code is what ran; in a list it is the first line that is not blank.
	Code     string            `json:"code,omitempty"`
	Filename string            `json:"filename,omitempty"`
	Args     []string          `json:"args,omitempty"`
	Env      map[string]string `json:"env,omitempty"`
	// Result is not part of a list.
	Result   *engine.Result `json:"result,omitempty"`
	Hash     cas.Hash       `json:"hash"`
	Previous cas.Hash       `json:"previous,omitzero"`
	// State names what the store has of the step.
	State *engine.State `json:"state,omitempty"`
}

// newStep makes a Step of a record, without its code and result.
func newStep(r *engine.Record) *Step {
	s := &Step{
		Session: r.Session, Step: r.Step, Kind: r.Kind, Time: r.Time, Note: r.Note, Origin: r.Origin,
		Hash: r.Hash(), Previous: r.Previous, State: &r.State,
	}
	if r.Wait != nil {
		s.Question = &r.Wait.Question
	}
	return s
}

// fullStep adds what else is stored of it.
func fullStep(j *engine.Journal, r *engine.Record) (*Step, error) {
	s := newStep(r)
	if r.Input == nil {
		return s, nil
	}
	var err error
	if s.Code, err = j.Code(r); err != nil {
		return nil, err
	}
	s.Filename, s.Args, s.Env = r.Input.Filename, r.Input.Args, r.Input.Env
	if r.Result != nil {
		s.Result, s.Status, s.WallMS = r.Result, r.Result.Status, r.Result.Usage.WallMS
	}
	return s, nil
}

// firstLine is what a list tells of a program.
func firstLine(code string) string {
	for line := range strings.Lines(code) {
		if line = strings.TrimSpace(line); line != "" {
			if len(line) > maxFirstLine {
				line = strings.ToValidUTF8(line[:maxFirstLine], "") + "..."
			}
			return line
		}
	}
	return ""
}

type stepList struct {
	Session engine.SessionInfo `json:"session"`
	Steps   []*Step            `json:"steps"`
	// Next is the step to go on from, absent at the end.
	Next int `json:"next,omitempty"`
}

func (h *handler) listSteps(w http.ResponseWriter, r *http.Request) error {
	from, err := intOf("from", r.URL.Query().Get("from"), 0, 1<<31-1)
	if err != nil {
		return err
	}
	limit, err := intOf("limit", r.URL.Query().Get("limit"), defaultSteps, maxSteps)
	if err != nil {
		return err
	}
	ctx := r.Context()
	j, err := h.journal(ctx, r)
	if err != nil {
		return err
	}
	list := stepList{Session: j.Info(), Steps: []*Step{}}
	for rec, err := range j.Records(ctx, from) {
		if err != nil {
			return err
		}
		if len(list.Steps) == limit {
			list.Next = rec.Step
			break
		}
		if rec.Input != nil {
			if rec, err = j.Record(ctx, rec.Step); err != nil {
				return err
			}
		}
		s, err := fullStep(j, rec)
		if err != nil {
			return err
		}
		s.Code, s.Args, s.Env, s.Result, s.State = firstLine(s.Code), nil, nil, nil, nil
		list.Steps = append(list.Steps, s)
	}
	writeJSON(w, http.StatusOK, list)
	return nil
}

func (h *handler) getStep(w http.ResponseWriter, r *http.Request) error {
	step, err := stepOf(r.PathValue("step"))
	if err != nil {
		return err
	}
	j, err := h.journal(r.Context(), r)
	if err != nil {
		return err
	}
	rec, err := j.Record(r.Context(), step)
	if err != nil {
		return err
	}
	s, err := fullStep(j, rec)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, s)
	return nil
}

// getValue sends a large result: JSON where it could be, else as the language prints it.
func (h *handler) getValue(w http.ResponseWriter, r *http.Request) error {
	ref := r.URL.Query().Get("ref")
	if ref == "" {
		return badRequest("write ref=value:3, a result_ref", "no ref")
	}
	var value []byte
	err := h.use(r, func(s *engine.Session) (err error) {
		value, err = s.Value(ref)
		return err
	})
	if err != nil {
		return err
	}
	return download(w, typeFile, func(w io.Writer) error {
		_, err := w.Write(value)
		return err
	})
}

type variableList struct {
	Variables []engine.Variable `json:"variables"`
}

// variables are those of a stored step, so that nobody waits for code that runs.
func (h *handler) variables(w http.ResponseWriter, r *http.Request) error {
	step, err := stepOf(r.URL.Query().Get("step"))
	if err != nil {
		return err
	}
	j, err := h.journal(r.Context(), r)
	if err != nil {
		return err
	}
	vars, err := j.Variables(r.Context(), step)
	if err != nil {
		return err
	}
	if vars == nil {
		vars = []engine.Variable{}
	}
	writeJSON(w, http.StatusOK, variableList{vars})
	return nil
}

func (h *handler) diff(w http.ResponseWriter, r *http.Request) error {
	from, err := stepOf(r.URL.Query().Get("from"))
	if err != nil {
		return err
	}
	to, err := stepOf(r.URL.Query().Get("to"))
	if err != nil {
		return err
	}
	j, err := h.journal(r.Context(), r)
	if err != nil {
		return err
	}
	d, err := j.Diff(r.Context(), from, to)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, d)
	return nil
}

type verifyRequest struct {
	ChainOnly bool `json:"chain_only,omitempty"`
}

func (h *handler) verify(w http.ResponseWriter, r *http.Request) error {
	var q verifyRequest
	if err := readJSON(w, r, &q); err != nil {
		return err
	}
	j, err := h.journal(r.Context(), r)
	if err != nil {
		return err
	}
	out := newEvents(w)
	defer out.close()
	v, err := j.Verify(r.Context(), &engine.VerifyOptions{
		ChainOnly: q.ChainOnly,
		Progress:  func(step, last int) { out.add(Event{Event: "progress", Step: step, Last: last}) },
	})
	if v == nil {
		out.finish(nil, err)
	} else {
		out.finish(v, err)
	}
	return nil
}
