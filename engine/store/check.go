package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/mayfly-run/mayfly/engine"
)

// Check examines the store in a directory, which nobody may have open, and repairs it if asked. What is wrong with the
// store is in the report; the error tells why it could not be examined: ErrLocked, ErrNewer, ErrNotStore,
// engine.ErrStoreFull, fs.ErrNotExist, or what the disk says.
func Check(ctx context.Context, dir string, o *CheckOptions) (*Report, error) {
	if o == nil {
		o = &CheckOptions{}
	}
	c := &checker{o: o, r: &Report{Dir: filepath.Clean(dir), Format: formatVersion, Started: time.Now().UTC()}}
	if err := c.run(ctx); err != nil {
		return nil, fmt.Errorf("check store: %w", explain(c.r.Dir, err))
	}
	c.r.finish()
	return c.r, nil
}

type checker struct {
	o *CheckOptions
	r *Report
	// badFiles tells that a file is damaged, badIndex that it is one of those that say which values there are.
	badFiles, badIndex bool
}

func (c *checker) options() Options {
	o := &Options{Logger: c.o.Logger, MinFree: c.o.MinFree, Command: c.o.Command, free: c.o.free}
	return o.withDefaults()
}

func (c *checker) run(ctx context.Context) error {
	dir := c.r.Dir
	if _, err := os.Stat(dir); err != nil {
		return err
	}
	opt := c.options()
	newFormat, err := c.format(dir)
	if err != nil {
		return err
	}
	lock, err := lockDir(dir, &opt)
	if err != nil {
		return err
	}
	clean := lock.left == nil
	defer func() { _ = lock.release(clean) }()
	if err := lock.announce(); err != nil {
		return err
	}
	if newFormat {
		if !c.o.Repair {
			return nil // there is a finding
		}
		if err := writeFormat(dir); err != nil {
			return err
		}
		c.r.did("wrote %s again", formatName)
		c.r.Findings[0].Repaired = true
	}
	data := filepath.Join(dir, badgerDir)
	if err := c.files(ctx, data); err != nil {
		return err
	}
	if c.o.Repair && c.badFiles {
		if err := c.salvage(ctx, data, &opt); err != nil {
			return fmt.Errorf("salvage: %w", err)
		}
		lock.left = nil
	}
	s, err := c.open(ctx, lock, &opt)
	if err != nil || s == nil {
		return err
	}
	if err = c.database(ctx, s); err == nil {
		err = c.notes(dir) // now, since opening may have made one
	}
	if cerr := s.shut(); err == nil {
		err = cerr
	}
	clean = err == nil
	return err
}

// format reports whether format.json must be written again.
func (c *checker) format(dir string) (again bool, err error) {
	_, fresh, err := readFormat(dir)
	switch {
	case errors.Is(err, engine.ErrStoreDamaged):
		c.r.add(Finding{Level: Error, File: formatName, Text: "it is missing or cannot be read"})
		return true, nil
	case err != nil:
		return false, err
	case fresh:
		return false, fmt.Errorf("%w: %s is empty", ErrNotStore, dir)
	}
	return false, nil
}

// notes reports what earlier calls of Open found.
func (c *checker) notes(dir string) error {
	ns, err := readNotes(dir)
	if err != nil {
		return err
	}
	for _, n := range ns {
		c.r.add(Finding{Level: Warning, File: notesName, Text: n.Time.Format(time.DateTime) + " " + n.Text, Repaired: c.o.Repair})
	}
	if len(ns) > 0 && c.o.Repair {
		return clearNotes(dir)
	}
	return nil
}

// files reads all files, and reports those that are damaged.
func (c *checker) files(ctx context.Context, data string) error {
	f, err := listFiles(data)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	done := 0
	each := func(name string, look func(b []byte) string) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		b, err := readSparse(filepath.Join(data, name))
		if err != nil {
			return err
		}
		if text := look(b); text != "" {
			c.badFiles = true
			c.badIndex = c.badIndex || !strings.HasSuffix(name, ".vlog")
			c.r.add(Finding{Level: Error, File: filepath.Join(badgerDir, name), Text: text})
		}
		if done++; c.o.Progress != nil {
			c.o.Progress(Progress{"files", done})
		}
		return nil
	}
	for _, id := range f.tables {
		err := each(filepath.Base(tablePath(data, id)), func(b []byte) string {
			bad, err := scanTable(b, nil)
			switch {
			case err != nil:
				return err.Error()
			case bad > 0:
				return fmt.Sprintf("%d blocks have a wrong checksum", bad)
			}
			return ""
		})
		if err != nil {
			return err
		}
	}
	for i, name := range append(f.values, f.logs...) {
		txns := i >= len(f.values)
		err := each(name, func(b []byte) string {
			switch st := scanLog(b, txns, false, nil); {
			case st.badHeader:
				return "it does not begin as it should"
			case st.more && (!txns || st.lost):
				return fmt.Sprintf("a damaged entry at byte %d, and intact ones after it", st.end)
			}
			return ""
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// open opens the database without a collector, which would delete by counts that may be wrong. It returns nil when the
// database cannot be opened and that is all there is to say.
func (c *checker) open(ctx context.Context, lock *dirLock, opt *Options) (*Store, error) {
	dir, data := c.r.Dir, filepath.Join(c.r.Dir, badgerDir)
	s, err := openForCheck(dir, lock, opt)
	if err == nil || !errors.Is(err, engine.ErrStoreDamaged) || c.r.Saved != "" {
		return s, err
	}
	c.r.add(Finding{Level: Error, Text: "the database cannot be opened: " + firstLine(err)})
	if !c.o.Repair {
		return nil, nil
	}
	c.badIndex = true
	if err := c.salvage(ctx, data, opt); err != nil {
		return nil, fmt.Errorf("salvage: %w", err)
	}
	lock.left = nil
	return openForCheck(dir, lock, opt)
}

func openForCheck(dir string, lock *dirLock, opt *Options) (*Store, error) {
	s := &Store{dir: dir, opt: *opt}
	if err := s.openData(lock); err != nil {
		return nil, err
	}
	s.pins.init()
	s.w.start(s)
	s.collect.prepare(s)
	s.syncing.start(s)
	return s, nil
}

// database examines what is in the database.
func (c *checker) database(ctx context.Context, s *Store) error {
	a, err := s.analyse(ctx, c.o)
	if err != nil {
		return err
	}
	for _, f := range a.findings {
		c.r.add(f)
	}
	if c.o.Repair {
		if c.o.Progress != nil {
			c.o.Progress(Progress{"repair", 0})
		}
		// Twice, since what one repair gives up may be what another one waits for.
		for range 2 {
			if err := s.repair(ctx, a, c.r); err != nil {
				return err
			}
			if a, err = s.analyse(ctx, c.o); err != nil {
				return err
			}
			if len(a.findings) == 0 {
				break
			}
		}
		c.r.merge(a.findings)
	}
	c.r.Stats = a.stats
	c.r.Stats.Disk, err = diskUse(c.r.Dir)
	return err
}
