package main

import "context"

func Example() {
	if err := run(context.Background(), 10); err != nil {
		panic(err)
	}
	// Output: 10 orders, 510.75 in all
}
