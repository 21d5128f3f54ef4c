package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/mayfly-run/mayfly/engine"
	"github.com/mayfly-run/mayfly/guests/python"
)

// StateOptions of State; nil and the zero value are the good defaults.
type StateOptions struct {
	// Dir is where a directory for the stores is made, which is removed in the end. Default: the current directory.
	Dir string
	// Quick takes few samples: half a minute instead of several, and p99 of little worth. The sample sizes below that are
	// set explicitly stay.
	Quick bool
	// CacheDir is engine.Options.CacheDir, also for the processes that are started.
	CacheDir string
	// Command prints what Restore returns as JSON, for a store and a session, which are added as arguments; without a
	// session for one in memory. Default: none; then a restore in another process is not measured.
	Command []string
	// Native is the path of a native python3 that runs the same file operations. Default: none.
	Native string
	// Small is the number of samples of what takes about a millisecond, Large of what has to do with 20 MB. Default: 300 and
	// 20, quick 20 and 2.
	Small, Large int
	// Processes is the number of processes started for each session that is restored. Default: 15, quick 2.
	Processes int
	// Rounds is how often the file operations are repeated. Default: 5, quick 1.
	Rounds int
	// Steps is the number of steps of the session whose size is measured. Default: 1000, quick 50.
	Steps int
	// Mayfly and Wazero are the versions to put into the report.
	Mayfly, Wazero string
	// Progress is told what is being measured. Default: nobody.
	Progress func(string)
	// EngineProgress is engine.Options.Progress. Default: nobody.
	EngineProgress func(engine.Progress)
}

func (o *StateOptions) withDefaults() StateOptions {
	var d StateOptions
	if o != nil {
		d = *o
	}
	for _, n := range []struct {
		v           *int
		full, quick int
	}{{&d.Small, 300, 20}, {&d.Large, 20, 2}, {&d.Processes, 15, 2}, {&d.Rounds, 5, 1}, {&d.Steps, 1000, 50}} {
		switch {
		case *n.v > 0:
		case d.Quick:
			*n.v = n.quick
		default:
			*n.v = n.full
		}
	}
	if d.Dir == "" {
		d.Dir = "."
	}
	if d.Progress == nil {
		d.Progress = func(string) {}
	}
	return d
}

// stateRun is a benchmark of durable sessions in progress.
type stateRun struct {
	opts   StateOptions
	guest  python.Guest
	dir    string // absolute
	report *StateReport
}

func (b *stateRun) progress(format string, args ...any) {
	b.opts.Progress(fmt.Sprintf(format, args...))
}

func (b *stateRun) note(format string, args ...any) {
	b.report.Notes = append(b.report.Notes, fmt.Sprintf(format, args...))
}

// State measures what it costs to keep sessions: steps, forks, rewinds, restores, files, and space on the disk. It takes
// some minutes, and 5 GiB of the disk for a while.
func State(ctx context.Context, o *StateOptions) (_ *StateReport, err error) {
	b := &stateRun{opts: o.withDefaults(), guest: python.New()}
	b.report = &StateReport{Machine: machine(), opts: b.opts}
	b.report.Versions = versions(b.opts.Mayfly, b.opts.Wazero, b.guest.Version())
	dir, err := os.MkdirTemp(b.opts.Dir, "mayfly-bench-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if b.dir, err = filepath.Abs(dir); err != nil {
		return nil, err
	}
	b.report.FileSystem = fileSystem(b.dir)
	if b.report.FileSystem.inMemory() {
		b.note("the stores were on a %s, which is memory and not a disk: syncs cost nothing there", b.report.FileSystem.Type)
	}
	for _, measure := range []func(context.Context) error{
		b.measureSteps, b.measureTravel, b.measureRestores, b.measureFiles, b.measureSize,
	} {
		if err := measure(ctx); err != nil {
			return nil, err
		}
	}
	return b.report, nil
}

// since returns the milliseconds since start.
func since(start time.Time) float64 { return ms(time.Since(start)) }

// summary returns the quantiles of milliseconds or bytes.
func summary(v []float64) Quantiles {
	return Quantiles{P50: round(percentile(v, 50)), P99: round(percentile(v, 99))}
}
