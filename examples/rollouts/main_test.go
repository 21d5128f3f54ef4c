package main

import (
	"context"
	"os"
)

func Example() {
	dir, err := os.MkdirTemp("", "rollouts-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	if err := run(context.Background(), dir, os.Stdout); err != nil {
		panic(err)
	}
	// Output:
	// mean: off by 1995.96
	// median: off by 0.06
	// fails: name 'sample' is not defined
	// trimmed: off by 0.10
	// kept: median, step 2
	// kept: study, step 1
}
