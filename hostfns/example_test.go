package hostfns_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"

	"github.com/mayfly-run/mayfly/hostfns"
)

func ExampleAddTool() {
	type in struct {
		City string `json:"city" jsonschema:"a city of this world"`
	}
	weather := hostfns.NewTools("weather")
	hostfns.AddTool(weather, hostfns.Tool{Name: "forecast", Description: "Tells tomorrow's weather."},
		func(_ context.Context, in in) (string, error) { return "rain in " + in.City, nil })

	host, err := hostfns.New(&hostfns.Options{Providers: []hostfns.Provider{weather}})
	if err != nil {
		log.Fatal(err)
	}
	defer host.Close()
	v, err := host.CallTool(context.Background(), &hostfns.ToolCall{
		Server: "weather", Tool: "forecast", Args: json.RawMessage(`{"city": "Bergen"}`),
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s\n", v.Data)
	// Output: "rain in Bergen"
}
