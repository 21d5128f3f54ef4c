package plugins_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/mayfly-run/mayfly/hostfns/tools/plugins"
)

func ExampleNew() {
	dir, err := os.MkdirTemp("", "plugins")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	p, err := plugins.New(dir, nil) // its *.wasm and *.json
	if err != nil {
		log.Fatal(err)
	}
	defer p.Close()
	for _, server := range p.Servers() {
		listing, err := p.Tools(context.Background(), server)
		fmt.Println(server, listing, err)
	}
	fmt.Println(len(p.Servers()), "plug-ins")
	// Output: 0 plug-ins
}
