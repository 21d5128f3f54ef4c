package engine

import (
	"archive/tar"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/mayfly-run/mayfly/hostfns/cas"
)

// An archive of a session is a tar file, compressed with zstd: archiveHead first, then for each step the objects that it
// needs and were not there before, and its record, and archiveEnd last.
const (
	archiveHead    = "mayfly.json"
	archiveObjects = "objects/"
	archiveRecords = "records/"
	archiveEnd     = "end.json"

	archiveFormat = 1
)

type archiveHeader struct {
	Format  int             `json:"format"`
	Session json.RawMessage `json:"session"`
}

type archiveTrailer struct {
	Records int      `json:"records"`
	Last    cas.Hash `json:"last"`
}

// ExportOptions of Engine.Export; nil means the defaults.
type ExportOptions struct {
	// LatestOnly leaves out the snapshots and files of the steps before the last one, as far as that does not need them. The
	// journal is whole in any case.
	LatestOnly bool
}

// Export writes a durable session to w as a compressed archive (.tar.zst): its journal, snapshots and files. The session
// may be running. Equal sessions give archives of equal content.
func (e *Engine) Export(ctx context.Context, session string, w io.Writer, o *ExportOptions) error {
	if o == nil {
		o = &ExportOptions{}
	}
	j, err := e.Journal(ctx, session)
	if err != nil {
		return err
	}
	z, err := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1))
	if err != nil {
		return err
	}
	if o.LatestOnly {
		j.head.Kept = max(j.head.Kept, j.head.Snapshot)
	}
	x := &exporter{j: j, tw: tar.NewWriter(z), seen: map[cas.Hash]bool{}}
	if err := x.write(ctx); err != nil {
		z.Close()
		if now, again := e.readHead(ctx, session); again == nil && isDamage(err) && now.Kept > j.head.Kept {
			return &Error{
				Err: fmt.Errorf("%w: session %s gave up old states while it was exported", ErrConflict, session), Phase: PhaseStore,
				Hint: "export it again",
			}
		}
		return storeError(err)
	}
	return storeError(z.Close())
}

type exporter struct {
	j    *Journal
	tw   *tar.Writer
	seen map[cas.Hash]bool
}

func (x *exporter) write(ctx context.Context) error {
	head, err := x.j.head.encode()
	if err != nil {
		return err
	}
	if err := x.json(archiveHead, archiveHeader{archiveFormat, head}); err != nil {
		return err
	}
	end := archiveTrailer{}
	for r, err := range x.j.Records(ctx, x.j.head.First) {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		if err := x.step(r); err != nil {
			return fmt.Errorf("step %d: %w", r.Step, err)
		}
		end.Records++
		end.Last = r.Hash()
	}
	if err := x.json(archiveEnd, end); err != nil {
		return err
	}
	return x.tw.Close()
}

// step writes the objects of a record, and the record. A state that was not kept is left out.
func (x *exporter) step(r *Record) error {
	for _, h := range r.holds() {
		if !x.j.head.keeps(r.Step) && slices.Contains(r.State.holds(), h) {
			continue
		}
		if err := x.object(h); err != nil {
			return err
		}
	}
	return x.file(fmt.Sprintf("%s%010d.json", archiveRecords, r.Step), r.raw)
}

// object writes an object after all that it names.
func (x *exporter) object(h cas.Hash) error {
	type visit struct {
		h    cas.Hash
		refs []cas.Hash // those that were not looked at
	}
	var todo []visit // one for each level, however often objects name one another
	enter := func(h cas.Hash) error {
		if x.seen[h] {
			return nil
		}
		x.seen[h] = true
		o, err := x.j.e.opts.Store.Get(h)
		if err != nil {
			return err
		}
		v, noted := visit{h: h}, map[cas.Hash]bool{}
		for _, ref := range o.Refs {
			if !x.seen[ref] && !noted[ref] {
				noted[ref] = true
				v.refs = append(v.refs, ref)
			}
		}
		todo = append(todo, v)
		return nil
	}
	if err := enter(h); err != nil {
		return err
	}
	for len(todo) > 0 {
		v := &todo[len(todo)-1]
		if len(v.refs) > 0 {
			ref := v.refs[0]
			v.refs = v.refs[1:]
			if err := enter(ref); err != nil {
				return err
			}
			continue
		}
		o, err := x.j.e.opts.Store.Get(v.h) // its data was not kept meanwhile
		if err != nil {
			return err
		}
		if err := x.file(archiveObjects+v.h.String(), encodeObject(o)); err != nil {
			return err
		}
		todo = todo[:len(todo)-1]
	}
	return nil
}

func (x *exporter) json(name string, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return x.file(name, b)
}

func (x *exporter) file(name string, b []byte) error {
	h := &tar.Header{Name: name, Mode: 0o600, Size: int64(len(b)), ModTime: time.Unix(0, 0), Format: tar.FormatUSTAR}
	if err := x.tw.WriteHeader(h); err != nil {
		return err
	}
	_, err := x.tw.Write(b)
	return err
}
