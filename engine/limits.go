package engine

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/mayfly-run/mayfly/hostfns/cas"
	"github.com/mayfly-run/mayfly/hostfns/vfs"
)

// Limits are those of a Sandbox's fields that a program can run into, so that it matters to what it does. The journal has
// them for each execution.
type Limits struct {
	Memory    int64 `json:"memory"`
	Workspace int64 `json:"workspace"`
	Files     int   `json:"files"`
	Threads   int   `json:"threads"`
	Stacks    int64 `json:"stacks"`
}

func (sb *Sandbox) limits() Limits {
	return Limits{sb.Memory, sb.Workspace, sb.Files, sb.Threads, sb.Stacks}
}

func (sb *Sandbox) setLimits(l Limits) {
	sb.Memory, sb.Workspace, sb.Files, sb.Threads, sb.Stacks = l.Memory, l.Workspace, l.Files, l.Threads, l.Stacks
}

// limitsOf returns the limits that an execution had. Those that an import brought are no larger than the defaults.
func (j *Journal) limitsOf(rec *Record) (Limits, error) {
	sb := Sandbox{Language: j.head.Sandbox.Language}
	sb.setLimits(rec.Input.Limits)
	if rec.Step <= j.head.Imported {
		sb.Memory, sb.Workspace = min(sb.Memory, DefaultMemory), min(sb.Workspace, DefaultWorkspace)
		sb.Files, sb.Threads, sb.Stacks = min(sb.Files, DefaultFiles), min(sb.Threads, DefaultThreads), min(sb.Stacks, DefaultStacks)
	}
	sb, err := j.e.fillSandbox(sb)
	return sb.limits(), err
}

// fit gives the sandbox other limits.
func (s *wasmSandbox) fit(l Limits) error {
	if s.spec.limits() == l {
		return nil
	}
	old := s.spec.Memory
	s.spec.setLimits(l)
	s.files.own.SetLimits(l.Workspace, l.Files)
	if l.Memory == old {
		return nil
	}
	snapshot, err := s.mem.Snapshot()
	if err != nil {
		return err
	}
	m, err := newMemory(s.im, &s.spec)
	if err != nil {
		return err
	}
	if err := m.Restore(snapshot); err != nil {
		return errors.Join(err, m.Close())
	}
	s.forgetBefore()
	s.mem, m, s.base = m, s.mem, nil
	return m.Close()
}

// checkSmaller refuses limits below what a session has already: it could not be opened again.
func (e *Engine) checkSmaller(last *Record, from, to *Sandbox) error {
	if to.Workspace < from.Workspace || to.Files < from.Files {
		h := &sessionHead{Sandbox: *to}
		spec := e.spec(h, nil)
		fs, err := vfs.Open(e.opts.Store, last.State.Files, spec.fileOptions())
		if vfs.ErrnoOf(err) == vfs.ENOSPC || errors.Is(err, vfs.ENOSPC) {
			return requestError("remove files first", "the session's files are more than %d bytes or %d files", to.Workspace, to.Files)
		}
		if err == nil {
			err = fs.Close()
		}
		if err != nil {
			return storeError(err)
		}
	}
	if to.Memory < from.Memory && !last.State.Memory.IsZero() {
		size, err := memorySize(e.opts.Store, last.State.Memory)
		if err != nil {
			return storeError(err)
		}
		if size > to.Memory {
			return tooSmall(size, to.Memory)
		}
	}
	return nil
}

func tooSmall(size, limit int64) error {
	return requestError(fmt.Sprintf("give it at least %d MiB", (size+1<<20-1)>>20), "the session's memory has %d bytes, more than %d", size, limit)
}

// memorySize returns the size of a stored memory.
func memorySize(r cas.Reader, h cas.Hash) (int64, error) {
	o, err := r.Get(h)
	if err != nil {
		return 0, err
	}
	f, err := cas.ParseFrame(o, memoryKind)
	if err != nil {
		return 0, err
	}
	var head memoryHead
	var patch struct {
		Size int64 `json:"size"`
	}
	err = json.Unmarshal(f.Head, &head)
	if err == nil {
		err = json.Unmarshal(head.Patch, &patch)
	}
	return patch.Size, err
}
