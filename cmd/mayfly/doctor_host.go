package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mayfly-run/mayfly/engine"
	"github.com/mayfly-run/mayfly/internal/config"
)

// diagnoseHost checks the configuration: what it names has to be there, and secrets have to have values. With start, each tool
// server is started and listed.
func (f *hostFlags) diagnoseHost(c *cobra.Command, start bool, patience time.Duration) []engine.Check {
	cfg, err := f.load(c)
	var spec *config.Spec
	if err == nil {
		spec, err = specOf(cfg)
	}
	if err != nil {
		return []engine.Check{failedCheck("configuration", err)}
	}
	ctx, cancel := context.WithTimeout(c.Context(), patience)
	defer cancel()
	h, err := spec.Host(ctx, hostOptions(false))
	if err != nil {
		return []engine.Check{failedCheck("configuration", err)}
	}
	defer closeHost(h)
	var names []string
	for _, s := range h.Servers() {
		names = append(names, s.Name)
	}
	checks := []engine.Check{{Name: "configuration", Level: engine.CheckOK, Detail: printable(describeSpec(cfg, spec, names))}}
	if !start || len(names) == 0 {
		return checks
	}
	for _, s := range listServers(ctx, h, h.Servers(), true) {
		k := engine.Check{Name: "tool server", Level: engine.CheckOK, Detail: printable(s.Name + ": " + count(len(s.Tools), "tool"))}
		if s.err != nil {
			k.Level, k.Detail = engine.CheckFailed, printable(short(s.Name+": "+s.Error.Message, 500))
			k.Advice = printable(s.Error.Hint)
		}
		checks = append(checks, k)
	}
	return checks
}

func failedCheck(name string, err error) engine.Check {
	e := engineError(err)
	return engine.Check{Name: name, Level: engine.CheckFailed, Detail: printable(e.msg), Advice: printable(e.hint)}
}

// describeSpec says in one line what programs are offered.
func describeSpec(cfg *config.Config, s *config.Spec, servers []string) string {
	file := cfg.File()
	if file == "" {
		if file, _ = config.DefaultPath(); file == "" {
			file = "no file"
		} else {
			file = "no " + file
		}
	}
	parts := []string{file}
	if len(servers) > 0 {
		parts = append(parts, count(len(servers), "tool server")+" ("+short(strings.Join(servers, ", "), 200)+")")
	} else {
		parts = append(parts, "no tool servers")
	}
	if n := len(s.Secrets); n > 0 {
		parts = append(parts, count(n, "secret"))
	}
	if s.HTTP != nil {
		parts = append(parts, count(len(s.HTTP.Allow), "HTTP rule"))
	}
	if s.LLM != nil {
		parts = append(parts, strings.TrimSpace(fmt.Sprintf("model %s %s", s.LLM.Model, s.LLM.BaseURL)))
	}
	return strings.Join(parts, "; ")
}
