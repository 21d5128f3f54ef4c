package engine

import (
	"context"
	"errors"
	"fmt"
)

// reserve takes the name for as long as the import goes on, which may be as long as the sender likes.
func (i *importer) reserve(ctx context.Context) error {
	e, name := i.e, i.head.ID
	e.mu.Lock()
	taken := e.imports[name]
	if !taken {
		e.imports[name], i.reserved = true, true
	}
	e.mu.Unlock()
	if taken {
		return &Error{Err: fmt.Errorf("%w: %s is being imported", ErrSessionExists, name), Phase: PhaseRequest, Hint: importHint}
	}
	// The engine removes what is left of an earlier import when it starts, but leaves names alone that are taken.
	return e.removeUnfinished(ctx, name)
}

// release gives the name back.
func (i *importer) release() {
	if i.reserved {
		i.e.mu.Lock()
		delete(i.e.imports, i.head.ID)
		i.e.mu.Unlock()
	}
}

// finish makes a session of what was imported.
func (i *importer) finish(ctx context.Context) error {
	h := *i.head
	h.Importing, h.Imported = false, h.Step
	head, err := h.encode()
	if err == nil {
		err = i.e.opts.Store.SetHead(ctx, h.ID, head)
	}
	i.head = &h
	return err
}

// dropImports removes what is left of imports that the end of an earlier process ended.
func (e *Engine) dropImports(ctx context.Context) error {
	for b, err := range e.opts.Store.Heads(ctx) {
		if err != nil {
			return err
		}
		h, err := parseHead(b)
		if err != nil || !h.Importing {
			continue
		}
		if err := e.dropImport(ctx, h.ID); err != nil {
			return err
		}
	}
	return nil
}

// dropImport removes one, unless it is a session or an import that goes on.
func (e *Engine) dropImport(ctx context.Context, name string) error {
	e.mu.Lock()
	taken := e.imports[name]
	if !taken {
		e.imports[name] = true // so that nobody begins meanwhile
	}
	e.mu.Unlock()
	if taken {
		return nil
	}
	defer func() {
		e.mu.Lock()
		delete(e.imports, name)
		e.mu.Unlock()
	}()
	return e.removeUnfinished(ctx, name)
}

// removeUnfinished removes what an import has left, if there is anything. The caller has taken the name.
func (e *Engine) removeUnfinished(ctx context.Context, name string) error {
	b, err := e.opts.Store.Head(ctx, name)
	if errors.Is(err, ErrNoSession) {
		return nil
	}
	if err != nil {
		return err
	}
	if h, err := parseHead(b); err != nil || !h.Importing {
		return nil // it came to its end since
	}
	return e.opts.Store.Remove(ctx, name)
}
