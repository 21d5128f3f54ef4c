package main

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/mayfly-run/mayfly/engine"
)

func newServe() *cobra.Command {
	var sf storeFlags
	var o engine.Options
	var asJSON bool
	var hf hostFlags
	c := &cobra.Command{
		Use:   "serve",
		Short: "Hold a store and serve it to other mayfly commands until interrupted",
		Long: `Has the store open and takes the requests of other mayfly commands at a Unix socket
that only you can connect to. They find it by themselves, and are faster: sessions
stay in memory for a minute. After a signal (Ctrl-C, SIGTERM) what runs may end; a
second signal ends everything at once, which loses no step that was acknowledged.

The tool servers, secrets, model and HTTP rules that are named here are for the
sessions whose commands name none themselves. They are started when they are needed.`,
		Example: `  mayfly serve
  mayfly serve --store ./store --idle-ttl 24h
  mayfly serve --tools mcp.json --read-only-tools`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if o.MaxSessions < 0 {
				return usageError("0 is no limit", "--max-sessions %d is negative", o.MaxSessions)
			}
			host, err := hf.serverHost(c)
			if err != nil {
				return err
			}
			defer closeHost(host)
			o.Host = host
			s, err := openSessions(c.Context(), &sf, o)
			if err != nil {
				return engineError(err)
			}
			return finish(s.serve(c, asJSON), s.close(c.Context()))
		},
	}
	addStoreFlag(c, &sf)
	addDurabilityFlag(c, &sf)
	addHostFlags(c, &hf)
	c.Flags().BoolVar(&asJSON, "json", false, "print store, socket and process as JSON when requests are taken")
	c.Flags().DurationVar(&o.IdleTTL, "idle-ttl", 0, "remove new sessions that nobody used for so long; default: never")
	c.Flags().DurationVar(&o.MaxAge, "max-age", 0, "remove new sessions at this age; default: never")
	c.Flags().IntVar(&o.MaxSessions, "max-sessions", 0, "refuse to make more sessions than this; 0: no limit")
	c.Flags().DurationVar(&sf.drain, "drain", drainPatience, "how long to wait for what runs, after a signal")
	return c
}

// serving is what --json tells, in one line, when requests are taken.
type serving struct {
	Store  string `json:"store"`
	Socket string `json:"socket"`
	PID    int    `json:"pid"`
}

func (s *sessions) serve(c *cobra.Command, asJSON bool) error {
	if s.remote() {
		return &exitError{exitFailure, "another process serves the store " + s.dir + " at " + s.socket,
			"use it as it is, stop it, or name another --store"}
	}
	if s.own.noSocket != nil {
		return &exitError{exitFailure, fmt.Sprintf("socket: %v", s.own.noSocket),
			"the store must be on a file system that has sockets"}
	}
	if asJSON {
		err := json.NewEncoder(os.Stdout).Encode(serving{s.dir, s.own.socket, os.Getpid()})
		if err != nil {
			return &exitError{exitFailure, err.Error(), ""}
		}
	}
	fmt.Fprintf(os.Stderr, "mayfly: store %s\nmayfly: listening on %s\n", s.dir, s.own.socket)
	<-c.Context().Done()
	fmt.Fprintln(os.Stderr, "mayfly: stopping")
	return nil
}
