package egress_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/mayfly-run/mayfly/hostfns"
	"github.com/mayfly-run/mayfly/hostfns/egress"
)

func ExampleParseRule() {
	for _, text := range []string{"api.example.com", "GET,POST https://API.example.com:8443/v1/", "http://localhost:8080"} {
		r, err := egress.ParseRule(text)
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(r, r.AllowPrivate)
	}
	// Output:
	// https://api.example.com/ false
	// GET,HEAD,POST https://api.example.com:8443/v1/ false
	// http://localhost:8080/ true
}

// A client without rules allows nothing, and says what would have to be allowed.
func ExampleNew() {
	c, err := egress.New(nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	request := c.Functions()[egress.FnRequest]
	_, err = request(context.Background(), &hostfns.FunctionCall{Args: []byte(`{"method": "POST", "url": "https://api.example.com/v1/items"}`)})
	var e *hostfns.Error
	if errors.As(err, &e) {
		fmt.Println(e.Message)
		fmt.Println(e.Hint)
	}
	// Output:
	// no rule allows POST https://api.example.com/v1/items
	// to allow it: --allow-http "POST https://api.example.com/"
}
