package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/mayfly-run/mayfly/hostfns/cas"
	"github.com/mayfly-run/mayfly/wasm"
)

// memoryKind is the kind of frames of memory.
const memoryKind = "memory"

// memoryHead is the head of a frame of memory.
type memoryHead struct {
	// Image is the sum of the image that the keyframe is relative to.
	Image string `json:"image"`
	// Patch is the patch's head.
	Patch json.RawMessage `json:"patch"`
}

// memoryBase is the frame that the sandbox's memory had at its last checkpoint.
type memoryBase struct {
	hash  cas.Hash
	frame cas.Frame
}

// Save implements keeper.
func (s *wasmSandbox) Save(b *cas.Batch, snapshot bool) (*State, error) {
	c, err := s.files.own.Commit(b)
	if err != nil {
		return nil, fmt.Errorf("files: %w", err)
	}
	st := &State{
		Guest: s.guest, Image: s.im.Sum(), Files: c.Frame, Tree: c.Tree, Fresh: s.fresh, Reseed: s.reseed,
		Monotonic: s.spec.tape.Base(),
	}
	if err := st.setOpen(s.process.Files(), b); err != nil {
		return nil, err
	}
	s.next = nil
	switch {
	case s.fresh:
	case !s.ran && s.base != nil: // nothing changed
		s.next = s.base
	case snapshot:
		if s.next, err = s.saveMemory(b); err != nil {
			return nil, fmt.Errorf("memory: %w", err)
		}
	}
	if s.next != nil {
		st.Memory = s.next.hash
	}
	return st, nil
}

// saveMemory adds the memory to b: what the last execution changed, or all that differs from the image.
func (s *wasmSandbox) saveMemory(b *cas.Batch) (*memoryBase, error) {
	var base *cas.Frame
	var baseHash cas.Hash
	since := s.before
	if s.base == nil || since == nil || s.base.frame.Due() {
		since = nil
	} else {
		base, baseHash = &s.base.frame, s.base.hash
	}
	patch, err := s.mem.Patch(since)
	if err != nil {
		return nil, err
	}
	var parts []cas.Hash
	size := int64(0)
	for _, data := range patch.Parts(cas.MaxData) {
		h, err := b.Add(cas.Object{Data: data})
		if err != nil {
			return nil, err
		}
		parts, size = append(parts, h), size+int64(len(data))
	}
	head, err := json.Marshal(memoryHead{s.im.Sum(), patch.Head()})
	if err != nil {
		return nil, err
	}
	n := &memoryBase{frame: cas.NewFrame(base, baseHash, parts, size, head)}
	o, err := n.frame.Object(memoryKind)
	if err != nil {
		return nil, err
	}
	n.hash, err = b.Add(o)
	return n, err
}

// Kept implements keeper.
func (s *wasmSandbox) Kept() {
	s.files.own.Committed()
	s.base, s.next, s.ran = s.next, nil, false
	s.forgetBefore()
}

// Undo implements keeper.
func (s *wasmSandbox) Undo() error {
	s.next = nil
	if !s.ran {
		s.files.own.Rollback()
		return nil
	}
	return s.restore(nil)
}

func (s *wasmSandbox) forgetBefore() {
	if s.before != nil {
		s.before.Release()
		s.before = nil
	}
}

// errGuestBuild means that a snapshot is of another build of the guest than the engine has.
var errGuestBuild = errors.New("the snapshot is of another build of the guest")

// resume makes a sandbox of a stored state. With mem, that is its memory already.
func (w *wasmExecutor) resume(ctx context.Context, spec Spec, st *State, mem *wasm.Memory) (_ *wasmSandbox, err error) {
	im, err := w.image(ctx, spec.Language)
	if err != nil {
		return nil, err
	}
	fs, err := openFiles(&spec, st.Files)
	if err != nil {
		return nil, fmt.Errorf("files: %w", err)
	}
	s := w.sandbox(im, mem, fs, spec)
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close(ctx))
		}
	}()
	s.fresh, s.reseed = st.Fresh, st.Reseed
	spec.tape.SetBase(st.Monotonic)
	if mem == nil {
		if s.mem, err = newMemory(im, &spec); err != nil {
			return nil, err
		}
		if !st.Fresh {
			if s.base, err = loadMemory(s.mem, spec.Memory, im, spec.store, st.Memory); err != nil {
				return nil, err
			}
		}
	}
	open, err := st.openFiles(spec.store)
	if err == nil {
		err = s.process.Reopen(open, fs.reopen)
	}
	if err != nil {
		return nil, fmt.Errorf("open files: %w", err)
	}
	fs.own.DropOrphans()
	fs.own.Mark()
	return s, nil
}

// loadMemory brings m, which may have limit bytes, to a stored state.
func loadMemory(m *wasm.Memory, limit int64, im *wasm.Image, r cas.Reader, h cas.Hash) (*memoryBase, error) {
	chain, err := cas.ReadChain(r, h, memoryKind)
	if err != nil {
		return nil, fmt.Errorf("memory: %w", err)
	}
	patches := make([]wasm.PatchData, len(chain))
	// As chains are made, the deltas since the keyframe have as many bytes as that at most, and the last one more.
	room := 4*limit + 1<<20
	for i, f := range chain {
		var head memoryHead
		if err := json.Unmarshal(f.Head, &head); err != nil {
			return nil, fmt.Errorf("memory: %w: %w", cas.ErrDamaged, err)
		}
		if head.Image != im.Sum() {
			return nil, errGuestBuild
		}
		patches[i].Head = head.Patch
		for _, p := range f.Parts {
			o, err := r.Get(p)
			if err != nil {
				return nil, fmt.Errorf("memory: %w", err)
			}
			if room -= int64(len(o.Data)); room < 0 {
				return nil, fmt.Errorf("memory: %w: the patches are far larger than a memory", cas.ErrDamaged)
			}
			patches[i].Parts = append(patches[i].Parts, o.Data)
		}
	}
	if err := m.Apply(patches); err != nil {
		return nil, fmt.Errorf("memory: %w", err)
	}
	return &memoryBase{h, chain[len(chain)-1]}, nil
}
