package bench

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/mayfly-run/mayfly/engine"
	"github.com/mayfly-run/mayfly/engine/store"
)

//go:embed state.py
var stateSource string

const (
	smallFiles    = 1000
	sequentialMiB = 64
	guestFiles    = engine.GuestWorkspace + "/files"
	guestMount    = "/mnt"
)

// fileMeasures are what measure() in state.py knows, in the order in which it is to be called.
var fileMeasures = []struct {
	name string
	n    int
}{
	{"create", smallFiles}, {"read", smallFiles}, {"append", smallFiles},
	{"write_sequential", sequentialMiB}, {"read_sequential", sequentialMiB}, {"remove", smallFiles},
}

// FilesCost is how fast a program works with files: medians. Small files have 4 KiB, large ones are written and read in
// pieces of 1 MiB.
type FilesCost struct {
	// Where is memory (a session in memory), durable (with the commit of the step), mount (a directory of the host in a
	// session), or native (native Python in the same directory).
	Where      string  `json:"where"`
	Samples    int     `json:"samples"`
	CreatePerS float64 `json:"create_per_s"`
	ReadPerS   float64 `json:"read_per_s"`
	AppendPerS float64 `json:"append_per_s"`
	RemovePerS float64 `json:"remove_per_s"`
	WriteMiBS  float64 `json:"write_mib_per_s"`
	ReadMiBS   float64 `json:"read_mib_per_s"`
}

// place is where files are.
type place struct {
	name    string
	measure func(ctx context.Context, what string, to any) error
	dir     string
	times   map[string][]float64 // milliseconds
}

func (b *stateRun) measureFiles(ctx context.Context) (err error) {
	host := filepath.Join(b.dir, "mount")
	if err := os.Mkdir(host, 0o700); err != nil {
		return err
	}
	s, err := b.open(ctx, "files", store.Sync)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.remove(), os.RemoveAll(host)) }()
	places, closeAll, err := b.places(ctx, s, host)
	defer closeAll()
	if err != nil {
		return err
	}
	n := b.opts.Rounds
	b.progress("files: %d of 4 KiB and one of %d MiB, %d times in each of %d places", smallFiles, sequentialMiB, n, len(places))
	for round := range n + 1 {
		for _, p := range places {
			if err := p.once(ctx, round > 0); err != nil { // the first round is the warm-up
				return fmt.Errorf("files, %s: %w", p.name, err)
			}
		}
	}
	for _, p := range places {
		b.report.Files = append(b.report.Files, p.cost(n))
	}
	return nil
}

// places opens the sessions, and the native interpreter if there is one.
func (b *stateRun) places(ctx context.Context, s *stateStore, host string) (places []*place, closeAll func(), err error) {
	var closers []func()
	closeAll = func() {
		for _, c := range closers {
			c()
		}
	}
	for _, p := range []struct {
		name, dir string
		open      func() (*engine.Session, error)
	}{
		{"memory", guestFiles, func() (*engine.Session, error) { return s.NewSession(ctx, nil) }},
		{"durable", guestFiles, func() (*engine.Session, error) { return s.Open(ctx, "files", nil) }},
		{"mount", guestMount, func() (*engine.Session, error) {
			return s.NewSession(ctx, &engine.Sandbox{Mounts: []engine.Mount{{Host: host, Guest: guestMount, Writable: true}}})
		}},
	} {
		session, err := p.open()
		if err != nil {
			return nil, closeAll, err
		}
		closers = append(closers, func() { session.Close() })
		source := stateSource
		if p.dir == guestFiles {
			source += fmt.Sprintf("\nos.mkdir(%q)\n", guestFiles)
		}
		if err := define(ctx, session, "state.py", source); err != nil {
			return nil, closeAll, err
		}
		places = append(places, &place{name: p.name, dir: p.dir, measure: func(ctx context.Context, what string, to any) error {
			return guestMeasure(ctx, session, what, to)
		}})
	}
	if b.opts.Native == "" {
		b.note("files were not measured natively: no native python3 was found; name one with --native or MAYFLY_NATIVE_PYTHON")
		return places, closeAll, nil
	}
	n, err := startNative(ctx, b.opts.Native, stateSource+nativeDriver)
	if err != nil {
		return nil, closeAll, err
	}
	closers = append(closers, n.close)
	b.report.Versions.Native, b.report.Versions.NativePath = n.version, b.opts.Native
	return append(places, &place{name: "native", dir: host, measure: func(_ context.Context, what string, to any) error {
		return n.ask(what, to)
	}}), closeAll, nil
}

// once does everything once.
func (p *place) once(ctx context.Context, count bool) error {
	for _, m := range fileMeasures {
		got := 0
		took, err := timed(func() error { return p.measure(ctx, fmt.Sprintf("%s %d %s", m.name, m.n, p.dir), &got) })
		if err != nil {
			return err
		}
		if got != m.n {
			return fmt.Errorf("%s was about %d instead of %d", m.name, got, m.n)
		}
		if p.times == nil {
			p.times = map[string][]float64{}
		}
		if count {
			p.times[m.name] = append(p.times[m.name], took)
		}
	}
	return nil
}

func (p *place) cost(n int) FilesCost {
	rate := func(name string, of int) float64 { return round(float64(of) / percentile(p.times[name], 50) * 1000) }
	return FilesCost{
		Where: p.name, Samples: n,
		CreatePerS: rate("create", smallFiles), ReadPerS: rate("read", smallFiles), AppendPerS: rate("append", smallFiles),
		RemovePerS: rate("remove", smallFiles),
		WriteMiBS:  rate("write_sequential", sequentialMiB), ReadMiBS: rate("read_sequential", sequentialMiB),
	}
}
