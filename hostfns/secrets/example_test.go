package secrets_test

import (
	"context"
	"fmt"

	"github.com/mayfly-run/mayfly/hostfns/secrets"
)

func Example() {
	set, err := secrets.New(context.Background(), []secrets.Spec{
		{Name: "TOKEN", Value: "hunter2-hunter2", Allow: []string{"tool:github.*", "http:api.github.com"}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	held, _ := set.Placeholder("TOKEN") // what guest code has
	sent, _ := set.Reveal("Bearer "+held, "http:api.github.com:443")
	_, err = set.Reveal("Bearer "+held, "http:example.com:443")
	fmt.Println(held)
	fmt.Println(sent)
	fmt.Println(err)
	fmt.Printf("%s\n", set.Scrub([]byte("you said "+sent)))
	// Output:
	// {{secret:TOKEN}}
	// Bearer hunter2-hunter2
	// secret TOKEN: the secret is not for this destination: http:example.com:443
	// you said Bearer {{secret:TOKEN}}
}
