package engine

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/mayfly-run/mayfly/hostfns"
	"github.com/mayfly-run/mayfly/hostfns/cas"
)

// ErrArchive means that what was to be imported is not a whole archive of a session.
var ErrArchive = errors.New("not an intact archive of a session")

const importHint = "import it under another name: --as NAME"

// Limits of an import: the largest file in an archive, and the memory of the decompressor.
const (
	maxArchiveFile   = cas.MaxData + cas.MaxRefs*len(cas.Hash{}) + binary.MaxVarintLen64
	maxArchiveWindow = 64 << 20
)

// Import makes a durable session of an archive that Export wrote, under the name as, by default the one it had. Every
// object and record is checked against its hash. Nothing of the archive is trusted: mounts of host directories are left
// out, the limits are those of the defaults at most, and what the snapshots hold is checked when it is used. After an error
// there is no session.
func (e *Engine) Import(ctx context.Context, r io.Reader, as string) (*SessionInfo, error) {
	if e.opts.Store == nil {
		return nil, &Error{Err: ErrNoStore, Phase: PhaseRequest, Hint: "set Options.Store"}
	}
	if as != "" {
		if err := CheckSessionName(as); err != nil {
			return nil, err
		}
	}
	z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxArchiveWindow))
	if err != nil {
		return nil, archiveError(err)
	}
	defer z.Close()
	i := &importer{e: e, as: as, put: map[cas.Hash]bool{}}
	defer i.forget()
	defer i.release()
	err = i.read(ctx, tar.NewReader(z))
	if err == nil {
		err = drain(z)
	}
	if err == nil {
		err = i.finish(ctx) // last: from then on others may use the session
	}
	if err == nil {
		info := i.head.info()
		return &info, nil
	}
	if i.made {
		err = errors.Join(err, e.opts.Store.Remove(context.WithoutCancel(ctx), i.head.ID))
	}
	return nil, archiveError(err)
}

func archiveError(err error) error {
	var e *Error
	if err == nil || errors.As(err, &e) {
		return err
	}
	if !errors.Is(err, ErrArchive) && (errors.Is(err, ErrStoreDamaged) || isDamage(err)) {
		err = fmt.Errorf("%w: %w", ErrArchive, err)
	}
	if errors.Is(err, ErrArchive) {
		return &Error{Err: err, Phase: PhaseRequest, Hint: "export the session again"}
	}
	return storeError(err)
}

type importer struct {
	e     *Engine
	as    string
	head  *sessionHead // what the session becomes
	final *sessionHead // what it was
	made  bool
	// reserved tells that the name is in Engine.imports.
	reserved bool
	last     cas.Hash
	records  int
	put      map[cas.Hash]bool
}

func (i *importer) forget() {
	for h := range i.put {
		i.e.opts.Store.Forget(h)
	}
}

func (i *importer) read(ctx context.Context, tr *tar.Reader) error {
	for {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return fmt.Errorf("%w: it ends too early", ErrArchive)
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return i.damaged(ctx, err)
		}
		if h.Typeflag != tar.TypeReg || h.Size < 0 || h.Size > int64(maxArchiveFile) {
			return fmt.Errorf("%w: %.100q of type %q and %d bytes", ErrArchive, h.Name, h.Typeflag, h.Size)
		}
		b, err := io.ReadAll(tr)
		if err != nil {
			return i.damaged(ctx, err)
		}
		done, err := i.entry(ctx, h.Name, b)
		if err != nil || done {
			return err
		}
	}
}

// drain reads what comes after the last file, so that the checksum at the end is looked at.
func drain(r io.Reader) error {
	const padding = 64 << 10
	n, err := io.Copy(io.Discard, io.LimitReader(r, padding+1))
	if err == nil && n > padding {
		err = errors.New("something follows its end")
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrArchive, err)
	}
	return nil
}

// damaged tells an archive that cannot be read from a reader that was told to stop.
func (i *importer) damaged(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return fmt.Errorf("%w: %w", ErrArchive, err)
}

// entry takes one file of the archive. It returns true after the last one.
func (i *importer) entry(ctx context.Context, name string, b []byte) (bool, error) {
	if i.head == nil {
		if name != archiveHead {
			return false, fmt.Errorf("%w: it does not begin with %s", ErrArchive, archiveHead)
		}
		return false, i.begin(ctx, b)
	}
	switch {
	case strings.HasPrefix(name, archiveObjects):
		o, err := decodeObject(b)
		if err != nil {
			return false, err
		}
		want, err := cas.Parse(strings.TrimPrefix(name, archiveObjects))
		if err != nil || o.Sum() != want {
			return false, fmt.Errorf("%w: %.100s is damaged", ErrArchive, name)
		}
		if i.put[want] {
			return false, nil
		}
		// What somebody else has in this store is not to be had by naming it.
		if err := i.haveAll(o.Refs); err != nil {
			return false, err
		}
		if _, err := i.e.opts.Store.Put(o); err != nil {
			return false, err
		}
		i.put[want] = true
		return false, nil
	case strings.HasPrefix(name, archiveRecords):
		return false, i.record(ctx, b)
	case name == archiveEnd:
		var end archiveTrailer
		if err := json.Unmarshal(b, &end); err != nil {
			return false, fmt.Errorf("%w: %w", ErrArchive, err)
		}
		if end.Records != i.records || end.Last != i.last || i.records == 0 || i.last != i.final.Record || i.head.Step != i.final.Step {
			return false, fmt.Errorf("%w: records are missing", ErrArchive)
		}
		return true, nil
	}
	return false, fmt.Errorf("%w: unknown file %.100q", ErrArchive, name)
}

// begin takes over what the session was.
func (i *importer) begin(ctx context.Context, b []byte) error {
	var a archiveHeader
	if err := json.Unmarshal(b, &a); err != nil {
		return fmt.Errorf("%w: %w", ErrArchive, err)
	}
	if a.Format != archiveFormat {
		return fmt.Errorf("%w: format %d; this Mayfly knows %d", ErrArchive, a.Format, archiveFormat)
	}
	old, err := parseHead(a.Session)
	if err != nil {
		return err
	}
	if err := checkLabels(old.Labels); err != nil {
		return fmt.Errorf("%w: %w", ErrArchive, errors.Unwrap(err))
	}
	h := *old
	if p := h.Parent; p != nil && (CheckSessionName(p.Session) != nil || p.Step < 0) {
		h.Parent = nil
	}
	if i.as != "" {
		h.ID = i.as
	}
	sb, err := i.e.fillSandbox(Sandbox{
		Language: old.Sandbox.Language, Memory: min(max(old.Sandbox.Memory, 0), DefaultMemory),
		Workspace: min(max(old.Sandbox.Workspace, 0), DefaultWorkspace), Files: min(max(old.Sandbox.Files, 0), DefaultFiles),
	})
	if err != nil {
		return err
	}
	if sb.Policy, err = importedPolicy(old.Sandbox.Policy); err != nil {
		return err
	}
	h.Sandbox, h.Tenant, h.IdleTTL, h.MaxAge = sb, "", i.e.opts.IdleTTL, i.e.opts.MaxAge
	h.Active = time.Now().UTC()
	if h.MaxAge > 0 {
		h.Created = h.Active
	}
	h.Importing, h.Waiting = true, nil
	i.head, i.final = &h, old
	if err := i.e.checkTenant(ctx, h.Tenant); err != nil {
		return err
	}
	return i.reserve(ctx)
}

// importedPolicy is what an import may say about host functions: what it forbids still is, but it cannot raise a limit
// above the default, as whoever made the archive is not whoever set the host up.
func importedPolicy(p *hostfns.Policy) (*hostfns.Policy, error) {
	if p == nil {
		return nil, nil
	}
	const most, longest = 200, 16 << 10
	n, size := 0, 0
	for _, list := range [][]string{p.Allow, p.Deny, p.Approve, p.Functions} {
		n += len(list)
		for _, pattern := range list {
			size += len(pattern)
		}
	}
	if n > most || size > longest {
		return nil, fmt.Errorf("%w: its policy has %d patterns of %d bytes; at most %d of %d bytes are taken", ErrArchive, n, size, most, longest)
	}
	own := *p
	own.MaxCalls = min(p.MaxCalls, hostfns.DefaultMaxCalls)
	own.MaxBytes = min(p.MaxBytes, hostfns.DefaultMaxBytes)
	own.MaxParallel = min(p.MaxParallel, hostfns.DefaultMaxParallel)
	own.CallTimeout = min(p.CallTimeout, hostfns.DefaultCallTimeout)
	own.Retries = min(p.Retries, hostfns.DefaultRetries)
	return &own, nil
}

// haveAll refuses hashes of objects that the archive did not bring.
func (i *importer) haveAll(hashes []cas.Hash) error {
	for _, h := range hashes {
		if !i.put[h] {
			return fmt.Errorf("%w: object %v is missing", ErrArchive, h)
		}
	}
	return nil
}

// record stores one step.
func (i *importer) record(ctx context.Context, b []byte) error {
	r, err := parseRecord(b)
	if err != nil {
		return err
	}
	step := i.final.First + i.records
	if r.Step != step || r.Step > i.final.Step || i.records > 0 && r.Previous != i.last {
		return fmt.Errorf("%w: the record of step %d does not follow the one before it", ErrArchive, r.Step)
	}
	h := *i.head
	h.Step, h.Record = r.Step, r.Hash()
	h.Kept = min(i.final.Kept, r.Step)
	h.Dropped = h.Kept
	if r.State.stored() || i.records == 0 {
		h.Snapshot = r.Step
	}
	head, err := h.encode()
	if err != nil {
		return err
	}
	// A state that was not kept is not in the archive, and cannot be held.
	var holds []cas.Hash
	for _, hash := range r.holds() {
		if i.put[hash] || i.final.keeps(r.Step) || !slices.Contains(r.State.holds(), hash) {
			holds = append(holds, hash)
		}
	}
	if err := i.haveAll(holds); err != nil {
		return err
	}
	err = i.e.opts.Store.Commit(ctx, &Commit{
		Session: h.ID, Create: i.records == 0, Step: r.Step, Head: head, Record: b, Objects: &cas.Batch{}, Holds: holds,
	})
	if errors.Is(err, ErrSessionExists) {
		return &Error{Err: fmt.Errorf("%w: %s", ErrSessionExists, h.ID), Phase: PhaseRequest, Hint: importHint}
	}
	if err != nil {
		return err
	}
	i.made = true
	i.head, i.last = &h, r.Hash()
	i.records++
	return nil
}

// encodeObject and decodeObject are the form of objects in archives: the number of references, these, and the data.
func encodeObject(o cas.Object) []byte {
	b := binary.AppendUvarint(nil, uint64(len(o.Refs)))
	for _, r := range o.Refs {
		b = append(b, r[:]...)
	}
	return append(b, o.Data...)
}

func decodeObject(b []byte) (o cas.Object, err error) {
	n, k := binary.Uvarint(b)
	const size = len(cas.Hash{})
	if k <= 0 || n > cas.MaxRefs || uint64(len(b)-k) < n*uint64(size) {
		return o, fmt.Errorf("%w: an object is damaged", ErrArchive)
	}
	b = b[k:]
	for range n {
		o.Refs = append(o.Refs, cas.Hash(b[:size]))
		b = b[size:]
	}
	o.Data = bytes.Clone(b)
	return o, o.Check()
}
