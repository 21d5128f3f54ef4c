package engine

import (
	"context"
	"fmt"

	"github.com/mayfly-run/mayfly/hostfns/cas"
	"github.com/mayfly-run/mayfly/hostfns/vfs"
)

// EditFiles lets the host change the session's files, between two executions. It is a step, with a note for people; when
// edit returns an error nothing is changed. edit must not keep the file system.
func (s *Session) EditFiles(ctx context.Context, note string, edit func(*vfs.FS) error) (rec *Record, err error) {
	err = s.durableTurn(ctx, func(ctx context.Context) error {
		if err := s.checkSuspended(nil); err != nil {
			return err
		}
		if _, err := s.open(ctx); err != nil {
			return err
		}
		box, ok := s.box.(*wasmSandbox)
		if !ok {
			return &Error{Err: fmt.Errorf("%w: files of executor %s", ErrUnavailable, s.e.exec.Name()), Phase: PhaseRequest}
		}
		box.files.own.Checkpoint()
		stored := false
		defer func() {
			if !stored { // also when edit panics
				box.files.own.Rollback()
			}
		}()
		if err := edit(box.files.own); err != nil {
			return err
		}
		r := s.record(RecordFiles)
		r.Note = cutNote(note)
		b := &cas.Batch{}
		st, err := box.Save(b, false)
		if err == nil {
			r.State = *st
			err = s.append(ctx, r, b)
		}
		if err != nil {
			return storeError(err)
		}
		stored = true
		box.Kept()
		box.files.own.Mark()
		rec = r
		return nil
	})
	return rec, err
}

// SnapshotInfo describes a stored snapshot of an interpreter's memory.
type SnapshotInfo struct {
	Step  int      `json:"step"`
	Frame cas.Hash `json:"frame"`
	// Bytes is the size of what this snapshot added, before compression.
	Bytes int64 `json:"bytes"`
}

// Snapshot stores the interpreter's memory as it is now, whatever the policy says. Unless the last step has a snapshot
// already, this is a step of its own.
func (s *Session) Snapshot(ctx context.Context) (info *SnapshotInfo, err error) {
	err = s.durableTurn(ctx, func(ctx context.Context) error {
		if _, err := s.open(ctx); err != nil {
			return err
		}
		if err := s.checkSuspended(nil); err != nil {
			return err
		}
		if !s.kept.last.State.stored() {
			rec := s.record(RecordSnapshot)
			if err := s.save(ctx, s.box.(keeper), rec); err != nil {
				return err
			}
		}
		last := s.kept.last
		info = &SnapshotInfo{Step: last.Step, Frame: last.State.Memory}
		if info.Frame.IsZero() {
			return nil // nothing ran yet
		}
		o, err := s.kept.store.Get(info.Frame)
		if err != nil {
			return storeError(err)
		}
		f, err := cas.ParseFrame(o, memoryKind)
		info.Bytes = f.Size
		return storeError(err)
	})
	return info, err
}
