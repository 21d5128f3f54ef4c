package engine

import (
	"context"
	"slices"
	"strings"

	"github.com/mayfly-run/mayfly/hostfns/cas"
	"github.com/mayfly-run/mayfly/hostfns/vfs"
)

// Diff is what differs between two steps of a session.
type Diff struct {
	From      int            `json:"from"`
	To        int            `json:"to"`
	Files     []FileDiff     `json:"files"`
	Variables []VariableDiff `json:"variables"`
}

// FileDiff is a file that is not the same at two steps.
type FileDiff struct {
	Path string `json:"path"`
	// Op is created, modified or deleted.
	Op      string `json:"op"`
	OldSize int64  `json:"old_size"`
	Size    int64  `json:"size"`
}

// VariableDiff is a variable that does not print the same at two steps.
type VariableDiff struct {
	Name string `json:"name"`
	// Op is created, modified or deleted.
	Op  string    `json:"op"`
	Old *Variable `json:"old,omitempty"`
	New *Variable `json:"new,omitempty"`
}

// Diff compares the files and the variables of two steps. A variable differs when its type or what it prints does; an
// object that prints the same in both counts as unchanged.
func (j *Journal) Diff(ctx context.Context, from, to int) (*Diff, error) {
	a, err := j.record(ctx, from)
	if err != nil {
		return nil, err
	}
	b, err := j.record(ctx, to)
	if err != nil {
		return nil, err
	}
	d := &Diff{From: a.Step, To: b.Step, Files: []FileDiff{}, Variables: []VariableDiff{}}
	if a.State.Tree != b.State.Tree {
		if d.Files, err = j.diffFiles(ctx, a.Step, b.Step); err != nil {
			return nil, err
		}
	}
	if a.State.Memory.IsZero() || a.State.Memory != b.State.Memory {
		if d.Variables, err = j.diffVariables(ctx, a.Step, b.Step); err != nil {
			return nil, err
		}
	}
	return d, nil
}

func (j *Journal) diffVariables(ctx context.Context, from, to int) ([]VariableDiff, error) {
	was, err := j.Variables(ctx, from)
	if err != nil {
		return nil, err
	}
	is, err := j.Variables(ctx, to)
	if err != nil {
		return nil, err
	}
	before := map[string]*Variable{}
	for i := range was {
		before[was[i].Name] = &was[i]
	}
	out := []VariableDiff{}
	for i := range is {
		v := &is[i]
		switch old := before[v.Name]; {
		case old == nil:
			out = append(out, VariableDiff{v.Name, string(vfs.Created), nil, v})
		case *old != *v:
			out = append(out, VariableDiff{v.Name, string(vfs.Modified), old, v})
		}
		delete(before, v.Name)
	}
	for i := range was {
		if v := &was[i]; before[v.Name] != nil {
			out = append(out, VariableDiff{v.Name, string(vfs.Deleted), v, nil})
		}
	}
	return out, nil
}

func (j *Journal) diffFiles(ctx context.Context, from, to int) ([]FileDiff, error) {
	was, err := j.fileSums(ctx, from)
	if err != nil {
		return nil, err
	}
	is, err := j.fileSums(ctx, to)
	if err != nil {
		return nil, err
	}
	out := []FileDiff{}
	for path, f := range is {
		old, ok := was[path]
		switch {
		case !ok:
			out = append(out, FileDiff{path, string(vfs.Created), 0, f.size})
		case old != f:
			out = append(out, FileDiff{path, string(vfs.Modified), old.size, f.size})
		}
	}
	for path, f := range was {
		if _, ok := is[path]; !ok {
			out = append(out, FileDiff{path, string(vfs.Deleted), f.size, 0})
		}
	}
	slices.SortFunc(out, func(a, b FileDiff) int { return strings.Compare(a.Path, b.Path) })
	return out, nil
}

// fileSum is what makes two files the same.
type fileSum struct {
	size int64
	sum  cas.Hash
}

// fileSums lists all files of a step; directories are not among them.
func (j *Journal) fileSums(ctx context.Context, step int) (map[string]fileSum, error) {
	fs, err := j.Files(ctx, step)
	if err != nil {
		return nil, err
	}
	defer fs.Close()
	sums := map[string]fileSum{}
	err = fs.WalkDir(".", func(i vfs.Info) error {
		if err := ctx.Err(); err != nil || i.IsDir() {
			return err
		}
		sum, err := fs.Sum(i.Path)
		sums["/"+i.Path] = fileSum{i.Size, sum}
		return err
	})
	return sums, storeError(err)
}
