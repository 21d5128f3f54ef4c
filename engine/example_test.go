package engine_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/mayfly-run/mayfly/engine"
	"github.com/mayfly-run/mayfly/guests/python"
)

// A program that runs one piece of code.
func Example() {
	ctx := context.Background()
	e, err := engine.New(ctx, &engine.Options{Guests: []engine.Guest{python.New()}})
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close()

	r, err := e.Run(ctx, engine.Request{Code: "sum(n * n for n in range(10))"})
	if err != nil {
		log.Fatal(err) // Mayfly could not run it; what the code does wrong is in r.Error
	}
	fmt.Println(r.Status, r.ResultRepr)
	// Output: ok 285
}

func ExampleEngine_Run() {
	e := exampleEngine()
	r, err := e.Run(context.Background(), engine.Request{
		Code:     "import sys\nprint('hello', sys.argv[1])\n1 / 0",
		Filename: "hello.py",
		Args:     []string{"world"},
		Timeout:  5 * time.Second,
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(r.Stdout)
	fmt.Println(r.Status, r.ExitCode, r.Error.Type, "in line", r.Error.Line)
	// Output:
	// hello world
	// error 1 ZeroDivisionError in line 3
}

func ExampleEngine_Run_mount() {
	e := exampleEngine()
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, "numbers.csv"), []byte("a,1\nb,2\n"), 0o600); err != nil {
		log.Fatal(err)
	}
	r, err := e.Run(context.Background(), engine.Request{
		Code:    "import csv\nsum(int(n) for _, n in csv.reader(open('/data/numbers.csv')))",
		Sandbox: &engine.Sandbox{Mounts: []engine.Mount{{Host: dir, Guest: "/data"}}},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(r.ResultRepr)
	// Output: 3
}

func ExampleSession_Exec() {
	e := exampleEngine()
	ctx := context.Background()
	s, err := e.NewSession(ctx, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	for _, code := range []string{"x = [1, 2, 3]", "x.append(4)", "x"} {
		r, err := s.Exec(ctx, engine.Request{Code: code})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("step %d: %s %q\n", r.Step, r.Status, r.ResultRepr)
	}
	// Output:
	// step 1: ok "[1, 2, 3]"
	// step 2: ok ""
	// step 3: ok "[1, 2, 3, 4]"
}

func ExampleRequest_onEvent() {
	e := exampleEngine()
	_, err := e.Run(context.Background(), engine.Request{
		Code: "for i in range(3):\n    print('line', i)",
		OnEvent: func(ev engine.Event) {
			fmt.Printf("%s while it runs: %s", ev.Kind, ev.Data)
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// stdout while it runs: line 0
	// stdout while it runs: line 1
	// stdout while it runs: line 2
}

func exampleEngine() *engine.Engine {
	e, err := shared()
	if err != nil {
		log.Fatal(err)
	}
	return e
}
