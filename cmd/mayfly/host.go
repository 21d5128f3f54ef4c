package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/mayfly-run/mayfly/hostfns"
	"github.com/mayfly-run/mayfly/internal/config"
)

// offer is what a command offers to the code that it runs.
type offer struct {
	policy *hostfns.Policy
	spec   *config.Spec
	// config is the spec for the process that has the store; nil: nothing.
	config json.RawMessage
	// ifNone tells that the process's own host comes first: the command line names nothing.
	ifNone bool
	// verbose: what tool servers write is shown.
	verbose bool
}

// offer makes it of the flags. durable tells that there is a session.
func (f *hostFlags) offer(c *cobra.Command, durable bool) (*offer, error) {
	if err := f.checkQuestions(durable); err != nil {
		return nil, err
	}
	p, err := f.policy(c)
	if err != nil {
		return nil, err
	}
	cfg, err := f.load(c)
	if err != nil {
		return nil, err
	}
	o := &offer{policy: p, ifNone: !f.given(c), verbose: f.verbose}
	if cfg.Empty() && o.ifNone {
		return o, nil
	}
	if o.spec, err = specOf(cfg); err != nil {
		return nil, err
	}
	if o.config, err = json.Marshal(o.spec); err != nil {
		return nil, err
	}
	return o, nil
}

// specOf is the spec of a configuration. What was ignored in it is told.
func specOf(cfg *config.Config) (*config.Spec, error) {
	s, err := cfg.Spec()
	if err != nil {
		return nil, configError(err)
	}
	for _, w := range s.Warnings {
		printNote(w)
	}
	return s, nil
}

// host makes the host in this process; nil when there is nothing to offer.
func (o *offer) host(ctx context.Context) (*hostfns.Host, error) {
	if o.spec == nil {
		return nil, nil
	}
	h, err := o.spec.Host(ctx, hostOptions(o.verbose))
	if err != nil {
		return nil, configError(err)
	}
	return h, nil
}

// serverHost makes the host for the sessions of a server; nil when there is nothing to offer. What the flags say of policy is
// the host's policy, besides that of the configuration.
func (f *hostFlags) serverHost(c *cobra.Command) (*hostfns.Host, error) {
	f.onQuestion = questionsWait
	o, err := f.offer(c, true)
	if err != nil {
		return nil, err
	}
	if o.spec != nil && o.policy != nil {
		if err := o.spec.Restrict(o.policy); err != nil {
			return nil, usageError("give it in one of them", "%v", err)
		}
	}
	return o.host(c.Context())
}

// hostOptions are those of all hosts. verbose: what tool servers write to standard error is shown.
func hostOptions(verbose bool) *config.HostOptions {
	o := &config.HostOptions{CacheDir: toolsCache(), Version: version().Version, Logger: newLogger()}
	if verbose {
		o.Stderr = func(server, line string) {
			fmt.Fprintln(os.Stderr, printable(short("mayfly: "+server+": "+line, 2000)))
		}
	}
	return o
}

// toolsCache is where listings of tools are kept, "" for nowhere: beside the compiled guests.
func toolsCache() string {
	dir := os.Getenv("MAYFLY_CACHE")
	switch dir {
	case "off":
		return ""
	case "":
		var err error
		if dir, err = os.UserCacheDir(); err != nil {
			return ""
		}
		dir = filepath.Join(dir, "mayfly")
	}
	return filepath.Join(dir, "tools")
}

// newHost makes the host that another command, or another part of this one, describes.
func newHost(ctx context.Context, b json.RawMessage) (*hostfns.Host, error) {
	spec, err := config.ParseSpec(b)
	if err != nil {
		return nil, err
	}
	return spec.Host(ctx, hostOptions(false))
}

// closeHost ends the tool servers. A nil host has none.
func closeHost(h *hostfns.Host) {
	if h == nil {
		return
	}
	if err := h.Close(); err != nil {
		fmt.Fprintln(os.Stderr, "mayfly: end the tool servers:", printableLines(err.Error()))
	}
}

// answer has the questions that come with the events of p answered. The caller closes what it returns.
func (f *hostFlags) answer(c *cobra.Command, p *printer, reply func(context.Context, string, hostfns.Reply) error) *asker {
	a := newAsker(c.Context(), f.onQuestion, reply)
	a.hold = p.hold
	p.asker = a
	return a
}
