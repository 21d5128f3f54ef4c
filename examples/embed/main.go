// Command embed shows a Go program that lets untrusted Python decide something a thousand times a second: a pricing rule
// that somebody else wrote is loaded into a session once, and called for each order.
//
//	go run ./examples/embed
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/mayfly-run/mayfly/engine"
	"github.com/mayfly-run/mayfly/guests/python"
)

const rule = `
def price(order):
    total = sum(item["price"] * item["quantity"] for item in order["items"])
    if order["country"] == "NO":
        total *= 1.25
    return round(total, 2)
`

type order struct {
	Country string `json:"country"`
	Items   []item `json:"items"`
}

type item struct {
	Price    float64 `json:"price"`
	Quantity int     `json:"quantity"`
}

func main() {
	if err := run(context.Background(), 200); err != nil {
		log.New(os.Stderr, "", 0).Fatal(err)
	}
}

func run(ctx context.Context, n int) error {
	e, err := engine.New(ctx, &engine.Options{Guests: []engine.Guest{python.New()}, Timeout: time.Second})
	if err != nil {
		return err
	}
	defer e.Close()
	s, err := e.NewSession(ctx, nil)
	if err != nil {
		return err
	}
	defer s.Close()
	r, err := s.Exec(ctx, engine.Request{Code: "import json" + rule, Filename: "rule.py"})
	if err != nil {
		return err
	}
	if r.Error != nil {
		return fmt.Errorf("load the rule: %s", r.Error.Traceback)
	}
	start := time.Now()
	var sum float64
	for i := range n {
		data, err := json.Marshal(order{Country: []string{"NO", "SE"}[i%2], Items: []item{{9.99, i}, {0.5, 2}}})
		if err != nil {
			return err
		}
		r, err := s.Exec(ctx, engine.Request{Code: fmt.Sprintf("price(json.loads(%q))", data)})
		if err != nil {
			return err
		}
		if r.Error != nil { // the rule failed, not Mayfly: say so with its own line
			return fmt.Errorf("order %d: %s", i, r.Error.Traceback)
		}
		var price float64
		if err := json.Unmarshal(r.Result, &price); err != nil {
			return err
		}
		sum += price
	}
	fmt.Printf("%d orders, %.2f in all\n", n, sum)
	fmt.Fprintf(os.Stderr, "%v each\n", (time.Since(start) / time.Duration(n)).Round(time.Microsecond))
	return nil
}
