package engine

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/mayfly-run/mayfly/wasm"
)

// CheckLevel says how a check went.
type CheckLevel string

// Levels of a Check.
const (
	CheckOK      CheckLevel = "ok"
	CheckWarning CheckLevel = "warning" // works, but slower or less than it could
	CheckFailed  CheckLevel = "failed"
)

// Check is one finding of Diagnose.
type Check struct {
	Name   string     `json:"name"`
	Level  CheckLevel `json:"level"`
	Detail string     `json:"detail"`
	Advice string     `json:"advice,omitempty"`
}

// Diagnose looks at what the engine finds on this machine, and runs a program of each language.
func (e *Engine) Diagnose(ctx context.Context) []Check {
	checks := []Check{checkFork(), e.checkCache()}
	if c, ok := checkMappings(); ok {
		checks = append(checks, c)
	}
	for _, l := range e.Languages() {
		checks = append(checks, e.checkGuest(ctx, l)...)
	}
	return append(checks, checkDocker())
}

func checkFork() Check {
	c := Check{Name: "fork", Level: CheckOK, Detail: wasm.ForkMethod}
	if strings.Contains(wasm.ForkMethod, "plain copy") {
		c.Level = CheckWarning
		c.Advice = "this system has no copy-on-write mappings that mayfly knows; forks take milliseconds"
	}
	return c
}

func (e *Engine) checkCache() Check {
	dir, err := e.wasm.rt.Cache()
	switch {
	case err != nil:
		return Check{"cache", CheckWarning, fmt.Sprintf("not in use: %v", err),
			"set MAYFLY_CACHE to a directory that only you can write to; without it each start takes seconds"}
	case dir == "":
		return Check{"cache", CheckWarning, "disabled", "without it each start takes seconds"}
	}
	return Check{Name: "cache", Level: CheckOK, Detail: dir}
}

// checkMappings looks at the limit that many sandboxes meet first on Linux.
func checkMappings() (Check, bool) {
	b, err := os.ReadFile("/proc/sys/vm/max_map_count")
	if err != nil {
		return Check{}, false
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		return Check{}, false
	}
	c := Check{Name: "mappings", Level: CheckOK, Detail: fmt.Sprintf("about %d sandboxes can be open at once", n/2)}
	if n < 10_000 {
		c.Level, c.Advice = CheckWarning, "raise it: sysctl vm.max_map_count=65530"
	}
	return c, true
}

// checkGuest loads a guest and times a program in a fresh sandbox.
func (e *Engine) checkGuest(ctx context.Context, language string) []Check {
	start := time.Now()
	im, err := e.wasm.image(ctx, language)
	if err != nil {
		return []Check{{language, CheckFailed, err.Error(), "a damaged cache is made anew; if it stays, this is a bug"}}
	}
	from := "made now and kept in the cache"
	if im.FromCache() {
		from = "loaded from the cache"
	}
	checks := []Check{{Name: language, Level: CheckOK, Detail: fmt.Sprintf("%s in %.0f ms", from, milliseconds(time.Since(start)))}}
	const runs = 20
	best := time.Duration(1 << 62)
	for range runs {
		start := time.Now()
		r, err := e.Run(ctx, Request{Language: language, Code: "1+1"})
		if err != nil || r.ResultRepr != "2" {
			return append(checks, Check{language + " run", CheckFailed, fmt.Sprintf("1+1 gave %+v, %v", r, err), "this is a bug"})
		}
		best = min(best, time.Since(start))
	}
	return append(checks, Check{Name: language + " run", Level: CheckOK, Detail: fmt.Sprintf("fresh sandbox, 1+1, gone again: %.2f ms (best of %d)", milliseconds(best), runs)})
}

func checkDocker() Check {
	if _, err := exec.LookPath("docker"); err != nil {
		return Check{"docker", CheckOK, "not installed; nothing needs it yet", ""}
	}
	return Check{Name: "docker", Level: CheckOK, Detail: "installed; nothing needs it yet"}
}
