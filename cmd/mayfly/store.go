package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/mayfly-run/mayfly/engine"
	"github.com/mayfly-run/mayfly/engine/store"
	"github.com/mayfly-run/mayfly/internal/httpapi"
)

const (
	// holderPatience is how long a store may be locked by a process that does not answer: one that just starts or ends.
	holderPatience = 3 * time.Second
	// drainPatience is how long a command goes on after a signal for what other processes still do with its store.
	drainPatience = 30 * time.Second
	// answerPatience is how long clients have to take the answers of what was ended.
	answerPatience = 2 * time.Second
)

// storeFlags say which store, and how.
type storeFlags struct {
	dir        string
	durability string // "" is sync
	drain      time.Duration
	// reading makes no store when there is none: then an empty one in memory does.
	reading bool
}

func addStoreFlag(c *cobra.Command, f *storeFlags) {
	f.drain = drainPatience
	c.Flags().StringVar(&f.dir, "store", "",
		"use the store in `DIR`; default: $MAYFLY_STORE, else the user's data directory")
}

// addDurabilityFlag is for the commands that make steps one after the other.
func addDurabilityFlag(c *cobra.Command, f *storeFlags) {
	c.Flags().StringVar(&f.durability, "durability", store.Sync.String(),
		"when a step is done: `MODE` sync is on the disk, async about a second earlier, none whenever the system writes it")
}

// mode is how steps are stored.
func (f *storeFlags) mode() (store.Durability, error) {
	if f.durability == "" {
		return store.Sync, nil
	}
	d, err := store.ParseDurability(f.durability)
	if err != nil {
		return 0, usageError("", "--durability: %v", err)
	}
	return d, nil
}

// sessions is the way to the sessions of a store: this process holds the store and serves it, or uses the socket of the
// one that does. When that one ends, this one takes over.
type sessions struct {
	*httpapi.Client
	dir    string
	none   bool // there is no store, and one in memory stands for it
	flags  *storeFlags
	engine engine.Options

	mu     sync.Mutex // held while a connection is made
	own    *holding
	socket string // that of the process that has the store
}

// openSessions finds the store, and makes it when there is none.
func openSessions(ctx context.Context, f *storeFlags, o engine.Options) (*sessions, error) {
	if _, err := f.mode(); err != nil {
		return nil, err
	}
	dir, err := f.directory()
	if err != nil {
		return nil, err
	}
	s := &sessions{dir: dir, flags: f, engine: o}
	if _, err := os.Stat(dir); f.reading && errors.Is(err, fs.ErrNotExist) {
		s.none = true
	}
	s.Client = httpapi.NewClient(s.dial)
	// Errors of the store are told here, and not by the first request.
	conn, err := s.dial(ctx)
	if err != nil {
		return nil, err
	}
	return s, conn.Close()
}

// sayEmpty tells why a list has nothing in it.
func (s *sessions) sayEmpty() {
	if s.none {
		fmt.Fprintf(os.Stderr, "no store in %s yet; mayfly run --session NAME makes one\n", printable(s.dir))
	} else {
		fmt.Fprintf(os.Stderr, "no sessions in %s\n", printable(s.dir))
	}
}

// withSessions opens the store for f, and closes it.
func withSessions(c *cobra.Command, sf *storeFlags, f func(ctx context.Context, s *sessions) error) error {
	s, err := openSessions(c.Context(), sf, engine.Options{ReadySandboxes: -1})
	if err != nil {
		return engineError(err)
	}
	err = f(c.Context(), s)
	return finish(err, s.close(c.Context()))
}

// finish returns what a command ends with: its own error, or else that of closing the store.
func finish(err, closing error) error {
	var coded *exitError
	switch {
	case errors.As(err, &coded):
		return coded
	case err != nil:
		return engineError(err)
	case closing != nil:
		return &exitError{exitFailure, fmt.Sprintf("close the store: %v", closing), ""}
	}
	return nil
}

// remote tells whether another process has the store.
func (s *sessions) remote() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.own == nil
}

func (s *sessions) dial(ctx context.Context) (net.Conn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	dir := s.dir
	if s.none {
		dir = store.Memory
	}
	for start, wait := time.Now(), 2*time.Millisecond; ; wait = min(2*wait, 100*time.Millisecond) {
		if s.own != nil {
			return s.own.server.Dial(ctx)
		}
		if conn, err := s.dialSocket(ctx); err == nil {
			return conn, nil
		}
		own, err := hold(ctx, dir, s.flags, s.engine)
		if err == nil {
			s.own, s.socket = own, ""
			continue
		}
		var locked *store.LockedError
		if !errors.As(err, &locked) {
			return nil, err
		}
		s.socket = locked.Socket
		conn, err := s.dialSocket(ctx)
		if err == nil || errors.Is(err, httpapi.ErrStranger) {
			return conn, err
		}
		if time.Since(start) > holderPatience {
			return nil, lockedError(locked)
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (s *sessions) dialSocket(ctx context.Context) (net.Conn, error) {
	if s.socket == "" {
		return nil, net.ErrClosed
	}
	return httpapi.DialUnix(s.socket)(ctx)
}

// lockedError says what to do about a holder that does not answer.
func lockedError(l *store.LockedError) error {
	quiet := *l
	quiet.Socket = "" // it has been tried
	return fmt.Errorf("%w", &quiet)
}

// close ends this process's part. When it holds the store it first waits for the other processes that use it.
func (s *sessions) close(ctx context.Context) error {
	s.mu.Lock()
	own := s.own
	s.mu.Unlock()
	if own == nil {
		return nil
	}
	return own.close(ctx, s.flags.drain)
}

// holding is a store that this process has open and serves.
type holding struct {
	store   *store.Store
	engine  *engine.Engine
	handler *httpapi.Handler
	server  *httpapi.Server
	socket  string
	// noSocket is why others cannot use the store meanwhile.
	noSocket error
}

func hold(ctx context.Context, dir string, f *storeFlags, o engine.Options) (*holding, error) {
	durability, err := f.mode()
	if err != nil {
		return nil, err
	}
	h := &holding{}
	if h.store, err = store.Open(dir, &store.Options{Durability: durability, Logger: newLogger()}); err != nil {
		return nil, err
	}
	o.Store, o.Questions = h.store, true
	if h.engine, err = openEngine(ctx, o); err != nil {
		return nil, errors.Join(err, h.store.Close())
	}
	h.handler = httpapi.New(h.engine, &httpapi.Options{
		HostMounts: true, NewHost: newHost, OwnHost: o.Host != nil, Version: version().Version, Logger: newLogger(),
	})
	var listeners []net.Listener
	if dir != store.Memory {
		l, err := httpapi.ListenUnix(dir)
		if err == nil {
			listeners = append(listeners, l)
			h.socket = l.Addr().String()
		}
		h.noSocket = err
	}
	h.server = httpapi.Start(h.handler, newLogger(), listeners...)
	if h.socket != "" {
		h.noSocket = h.store.SetSocket(h.socket)
	}
	return h, nil
}

// close waits for what other processes still do. After a signal, which ends ctx, patience is limited; then executions
// are cancelled.
func (h *holding) close(ctx context.Context, patience time.Duration) error {
	waiting, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() {
		late := time.AfterFunc(patience, cancel)
		context.AfterFunc(waiting, func() { late.Stop() })
	})()
	soon, stop := context.WithTimeout(waiting, 500*time.Millisecond)
	err := h.server.Shutdown(soon)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "mayfly: waiting for other processes that use the store ...")
		err = h.server.Shutdown(waiting)
	}
	// Before what still runs loses its client: so a step that waits for a reply is kept, and not cancelled.
	closing := h.engine.Close()
	if err != nil {
		soon, stop := context.WithTimeout(context.WithoutCancel(ctx), answerPatience)
		if err = h.server.Shutdown(soon); err != nil {
			err = h.server.Close()
		}
		stop()
	}
	h.handler.Close() // after the engine, whose executions use what this ends
	return errors.Join(err, closing, h.store.Close())
}
