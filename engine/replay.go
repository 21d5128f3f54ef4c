package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/mayfly-run/mayfly/engine/internal/tape"
	"github.com/mayfly-run/mayfly/hostfns/cas"
	"github.com/mayfly-run/mayfly/hostfns/secrets"
)

// Divergence is the first difference between what a step did and what it did when it was run again.
type Divergence struct {
	Step int `json:"step"`
	// Field is what differs: status, exit_code, stdout, stderr, result, error, host_calls, files; or random, clock, stdin, calls
	// for what the program asked for.
	Field string `json:"field"`
	// Want is what the journal has, Got what came now; both are shortened to where they differ.
	Want string `json:"want"`
	Got  string `json:"got"`
}

func (d *Divergence) String() string {
	switch d.Field {
	case tape.KindCalls, tape.KindStdin, tape.KindClock:
		return d.Field + ": " + d.Got
	}
	return fmt.Sprintf("%s: the journal has %q, now it was %q", d.Field, d.Want, d.Got)
}

// rerunResult is what came of an execution that was run again.
type rerunResult struct {
	result     *Result
	tree       cas.Hash
	divergence *Divergence
	// skipped says why the step cannot be expected to go the same way, empty when it can.
	skipped string
	// undone tells that the step was not run, as it had left nothing, late that it was not given enough time.
	undone, late bool
}

// again runs a recorded step in a sandbox that is in the state before it. The program gets the random numbers, clocks and
// answers that it got then.
func (j *Journal) again(ctx context.Context, box *wasmSandbox, rec *Record) (*rerunResult, error) {
	want, err := j.result(rec)
	if err != nil {
		return nil, err
	}
	code, err := rec.Input.Code.read(j.e.opts.Store)
	if err != nil {
		return nil, err
	}
	recording, err := j.recording(rec)
	if err != nil {
		return nil, err
	}
	if interrupted(want) && want.Error.Restored {
		// It was undone, so there is nothing to repeat, and it might take for ever.
		box.reseed = true
		return &rerunResult{result: want, tree: rec.State.Tree, skipped: "it was interrupted and undone", undone: true}, nil
	}
	limits, err := j.limitsOf(rec)
	if err != nil {
		return nil, err
	}
	if err := box.fit(limits); err != nil {
		return nil, err
	}
	in := rec.Input
	call, err := in.call(j.e.opts.Store)
	if err != nil {
		return nil, err
	}
	x := &Execution{
		Request: Request{
			Code: string(code), Filename: call.Filename, Args: call.Args, Env: call.Env, NoResult: in.NoResult,
			Timeout: j.replayTime(rec, want), MaxTicks: in.MaxTicks,
		},
		Grace: j.e.opts.Grace, Step: rec.Step, Output: newOutput(outputLimit(want, j.e.opts.MaxOutput), nil), Handle: noHost,
	}
	if x.secrets = j.e.secretsOf(nil); x.secrets != nil {
		x.Output.scrub(x.secrets)
	}
	x.replayed = &replayedCalls{}
	t := box.spec.tape
	if err := t.Play(recording); err != nil {
		return nil, fmt.Errorf("%w: tape of step %d: %w", ErrStoreDamaged, rec.Step, err)
	}
	defer t.Off()
	if in.Stdin {
		x.Stdin = t.Stdin(strings.NewReader(""))
	}
	box.reseed = in.Reseed
	out, err := box.Exec(ctx, x)
	if err == nil && (out.Status == StatusTimeout || out.Status == StatusCancelled) {
		t.Unsteady("time limit")
	}
	_, asked := t.End()
	if err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	// What the step left is read off before it becomes what the next one begins with.
	batch := &cas.Batch{}
	st, err := box.Save(batch, false)
	if err != nil {
		return nil, err
	}
	x.Output.flush()
	got, err := j.told(x.Output, out, x.secrets)
	if err != nil {
		return nil, err
	}
	got.HostCalls = x.replayed.calls
	scrubResult(x.secrets, got)
	r := &rerunResult{result: got, tree: st.Tree, late: interrupted(got) && !interrupted(want)}
	if len(recording.Incomplete) > 0 {
		r.skipped = "it cannot be repeated exactly: " + strings.Join(recording.Incomplete, ", ")
	}
	r.divergence = compare(want, got, rec.State.Tree, st.Tree)
	switch {
	case asked == nil:
	case asked.Kind == tape.KindCalls, asked.Kind == tape.KindStdin:
		// What follows from it is of less interest.
		r.divergence = &Divergence{Field: asked.Kind, Got: asked.Detail}
	case asked.Kind == tape.KindUnverified:
		if r.skipped == "" {
			r.skipped = "it could not be repeated exactly: " + asked.Detail
		}
	case r.divergence == nil:
		r.divergence = &Divergence{Field: asked.Kind, Got: asked.Detail}
	}
	if r.divergence != nil {
		r.divergence.Step = rec.Step
		if r.skipped != "" {
			r.skipped += "; this time " + r.divergence.String()
			r.divergence = nil
		}
	}
	return r, nil
}

// recording returns what a step learned from outside.
func (j *Journal) recording(rec *Record) (*tape.Recording, error) {
	data, err := rec.Tape.readUpTo(j.e.opts.Store, maxTape)
	if err != nil {
		return nil, err
	}
	r, err := tape.Decode(data)
	if err != nil {
		return nil, fmt.Errorf("%w: tape of step %d: %w", ErrStoreDamaged, rec.Step, err)
	}
	return r, nil
}

// interrupted tells whether an execution was ended from outside.
func interrupted(r *Result) bool {
	return r.Error != nil && (r.Status == StatusTimeout || r.Status == StatusCancelled)
}

// maxReplayTime bounds the time that a step may take when it is run again, whatever the journal says.
const maxReplayTime = time.Hour

// replayTime is the time limit for running a step again. A busy machine may need longer than was recorded, but what was
// interrupted would go on without end.
func (j *Journal) replayTime(rec *Record, want *Result) time.Duration {
	took := time.Duration(min(max(want.Usage.WallMS, 1), float64(maxReplayTime.Milliseconds())) * float64(time.Millisecond))
	limit := j.e.opts.Timeout
	if limit <= 0 {
		limit = DefaultTimeout
	}
	if rec.Step <= j.head.Imported {
		took = min(took, limit) // whoever made the archive chose it
	}
	if interrupted(want) {
		return took
	}
	return 4*took + limit
}

// told returns a result as it looks when it was stored and read again.
func (j *Journal) told(o *Output, out *Outcome, set *secrets.Set) (*Result, error) {
	r := &Result{}
	o.into(r)
	(&Session{e: j.e}).fill(r, out, set)
	b, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	again := &Result{}
	return again, json.Unmarshal(b, again)
}

// outputLimit returns the limit of output that a result was made under, or one that it did not reach.
func outputLimit(r *Result, limit int) int {
	switch {
	case r.Truncated.Stdout > 0:
		return len(r.Stdout)
	case r.Truncated.Stderr > 0:
		return len(r.Stderr)
	}
	return max(limit, len(r.Stdout)+1, len(r.Stderr)+1)
}

// compare returns the first difference of two results.
func compare(want, got *Result, wantTree, gotTree cas.Hash) *Divergence {
	for _, f := range []struct{ name, want, got string }{
		{"status", string(want.Status), string(got.Status)},
		{"exit_code", fmt.Sprint(want.ExitCode), fmt.Sprint(got.ExitCode)},
		{"stdout", want.Stdout, got.Stdout},
		{"stderr", want.Stderr, got.Stderr},
		{"error", errorText(want.Error), errorText(got.Error)},
		{"result", string(want.Result) + want.ResultRepr, string(got.Result) + got.ResultRepr},
		{"files", wantTree.String(), gotTree.String()},
	} {
		if f.want != f.got {
			w, g := around(f.want, f.got)
			return &Divergence{Field: f.name, Want: w, Got: g}
		}
	}
	if !reflect.DeepEqual(callNames(want), callNames(got)) {
		return &Divergence{Field: "host_calls", Want: fmt.Sprint(callNames(want)), Got: fmt.Sprint(callNames(got))}
	}
	return nil
}

func errorText(e *ExecError) string {
	if e == nil {
		return ""
	}
	return strings.Join([]string{e.Kind, e.Type, e.Message, e.Traceback}, "\n")
}

func callNames(r *Result) (names []string) {
	for _, c := range r.HostCalls {
		names = append(names, c.Name)
	}
	return names
}

// around cuts two texts to where they begin to differ.
func around(a, b string) (string, string) {
	const before, after = 20, 100
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	cut := func(s string) string {
		from, to := max(0, i-before), min(len(s), i+after)
		out := bytes.ToValidUTF8([]byte(s[from:to]), []byte("?"))
		if from > 0 {
			out = append([]byte("..."), out...)
		}
		if to < len(s) {
			out = append(out, "..."...)
		}
		return string(out)
	}
	return cut(a), cut(b)
}
