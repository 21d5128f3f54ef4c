package engine_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/mayfly-run/mayfly/engine"
	"github.com/mayfly-run/mayfly/engine/store"
	"github.com/mayfly-run/mayfly/hostfns/vfs"
)

// exampleStore returns an engine with a store in a temporary directory.
func exampleStore() (e *engine.Engine, end func()) {
	dir, err := os.MkdirTemp("", "example-")
	if err != nil {
		log.Fatal(err)
	}
	st, err := store.Open(dir+"/store", nil)
	if err != nil {
		log.Fatal(err)
	}
	o := options()
	o.Store = st
	if e, err = engine.New(context.Background(), o); err != nil {
		log.Fatal(err)
	}
	return e, func() {
		for _, err := range []error{e.Close(), st.Close(), os.RemoveAll(dir)} {
			if err != nil {
				log.Fatal(err)
			}
		}
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return v
}

// A durable session is there in the next process as well: variables, files, half-way generators.
func ExampleEngine_Open() {
	e, end := exampleStore()
	defer end()
	ctx := context.Background()
	s := must(e.Open(ctx, "demo", &engine.SessionOptions{Labels: map[string]string{"agent": "a7"}}))
	must(s.Exec(ctx, engine.Request{Code: "x = [1, 2, 3]; open('notes.txt', 'w').write('hi')"}))
	if err := s.Close(); err != nil { // it stays in the store
		log.Fatal(err)
	}
	s = must(e.Open(ctx, "demo", nil))
	r := must(s.Exec(ctx, engine.Request{Code: "x.append(4); x, open('notes.txt').read()"}))
	fmt.Println(r.Step, r.ResultRepr)
	// Output: 2 ([1, 2, 3, 4], 'hi')
}

// A rewind is a step of its own, so that it can be undone like any other.
func ExampleSession_Rewind() {
	e, end := exampleStore()
	defer end()
	ctx := context.Background()
	s := must(e.Open(ctx, "demo", nil))
	for _, code := range []string{"x = 1", "x = 2", "del x"} {
		must(s.Exec(ctx, engine.Request{Code: code}))
	}
	must(s.Rewind(ctx, 1))
	fmt.Println(must(s.Exec(ctx, engine.Request{Code: "x"})).ResultRepr)
	must(s.Rewind(ctx, 2))
	fmt.Println(must(s.Exec(ctx, engine.Request{Code: "x"})).ResultRepr)
	// Output:
	// 1
	// 2
}

func ExampleEngine_Fork() {
	e, end := exampleStore()
	defer end()
	ctx := context.Background()
	s := must(e.Open(ctx, "demo", nil))
	must(s.Exec(ctx, engine.Request{Code: "x = 1"}))
	f := must(e.Fork(ctx, "demo", engine.Latest, "other"))
	must(f.Exec(ctx, engine.Request{Code: "x = 'changed in the fork'"}))
	fmt.Println(must(s.Exec(ctx, engine.Request{Code: "x"})).ResultRepr)
	fmt.Println(f.Info().Parent.Session, f.Info().Parent.Step)
	// Output:
	// 1
	// demo 1
}

// The journal has what each step did; Verify runs the session again and compares.
func ExampleJournal() {
	e, end := exampleStore()
	defer end()
	ctx := context.Background()
	s := must(e.Open(ctx, "demo", nil))
	must(s.Exec(ctx, engine.Request{Code: "import random, time\nx = random.random(), time.time()"}))
	must(s.Exec(ctx, engine.Request{Code: "print(len(x))"}))
	j := must(e.Journal(ctx, "demo"))
	for r, err := range j.Records(ctx, 1) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("step %d: %s, %q\n", r.Step, r.Kind, must(j.Code(r)))
	}
	fmt.Printf("printed: %q\n", must(j.Record(ctx, engine.Latest)).Result.Stdout)
	v := must(j.Verify(ctx, nil))
	fmt.Println("run again:", v.Executed, "as recorded:", v.OK)
	// Output:
	// step 1: exec, "import random, time\nx = random.random(), time.time()"
	// step 2: exec, "print(len(x))"
	// printed: "2\n"
	// run again: 2 as recorded: true
}

// The host reads and writes a session's files without running code in it.
func ExampleSession_EditFiles() {
	e, end := exampleStore()
	defer end()
	ctx := context.Background()
	s := must(e.Open(ctx, "demo", nil))
	must(s.EditFiles(ctx, "upload", func(f *vfs.FS) error {
		return f.WriteFile("/workspace/numbers.txt", []byte("1 2 3"), 0o644)
	}))
	r := must(s.Exec(ctx, engine.Request{Code: "sum(map(int, open('numbers.txt').read().split()))"}))
	fmt.Println(r.ResultRepr)
	files := must(must(e.Journal(ctx, "demo")).Files(ctx, engine.Latest))
	defer files.Close()
	for _, i := range must(files.List("/workspace")) {
		fmt.Println(i.Path, i.Size)
	}
	// Output:
	// 6
	// workspace/numbers.txt 5
}
