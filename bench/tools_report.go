package bench

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// ToolsReport is what Tools measured. Units are in the names.
type ToolsReport struct {
	// Trips are round trips of single calls from Python to a function of this process.
	Trips []TripCost `json:"trips"`
	// ImportMS is the import of a tool of a server with a thousand, in a fresh sandbox.
	ImportMS Quantiles `json:"import_ms"`
	Imports  int       `json:"imports"`
	// Calls are series of calls.
	Calls   []CallsCost  `json:"calls"`
	Waiting *WaitingCost `json:"waiting,omitempty"`

	Machine  Machine  `json:"machine"`
	Versions Versions `json:"versions"`
	Notes    []string `json:"notes,omitempty"`
}

// TripCost is the time of one call in microseconds.
type TripCost struct {
	Call    string    `json:"call"`
	US      Quantiles `json:"us"`
	Samples int       `json:"samples"`
}

// CallsCost is the time of a series of calls in milliseconds; the median of several series.
type CallsCost struct {
	Where        string  `json:"where"`
	Calls        int     `json:"calls"`
	SequentialMS float64 `json:"sequential_ms"`
	GatheredMS   float64 `json:"gathered_ms"`
	// ClientMS is the same by a client of MCP that makes the calls one by one.
	ClientMS *float64 `json:"client_ms,omitempty"`
}

// WaitingCost is what sessions cost that wait for a tool at the same time.
type WaitingCost struct {
	Sessions int     `json:"sessions"`
	WaitS    float64 `json:"wait_s"`
	WallS    float64 `json:"wall_s"`
	// CPUS is the CPU time of the process, KiBPerSession its private memory while all of them wait.
	CPUS          *float64 `json:"cpu_s,omitempty"`
	KiBPerSession *float64 `json:"kib_per_session,omitempty"`
}

// WriteText prints the report as tables for people.
func (r *ToolsReport) WriteText(out io.Writer) error {
	writeSetting(out, &r.Machine, &r.Versions)
	for _, write := range []func(*tabwriter.Writer){r.writeTrips, r.writeCalls, r.writeWaiting} {
		fmt.Fprintln(out)
		w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
		write(w)
		if err := w.Flush(); err != nil {
			return err
		}
	}
	return writeNotes(out, r.Notes)
}

func (r *ToolsReport) writeTrips(w *tabwriter.Writer) {
	fmt.Fprintln(w, "one call from Python\tp50\tp99\tunit\tsamples")
	for _, t := range r.Trips {
		fmt.Fprintf(w, "%s\t%s\t%s\tµs\t%d\n", t.Call, number(t.US.P50), number(t.US.P99), t.Samples)
	}
	fmt.Fprintf(w, "import from a server of %d tools\t%s\t%s\tms\t%d\n", manyTools, number(r.ImportMS.P50), number(r.ImportMS.P99), r.Imports)
}

func (r *ToolsReport) writeCalls(w *tabwriter.Writer) {
	fmt.Fprintln(w, "many calls, ms\tcalls\tsequential\tgathered\tan MCP client, one by one")
	for _, c := range r.Calls {
		client := "-"
		if c.ClientMS != nil {
			client = number(*c.ClientMS)
		}
		fmt.Fprintf(w, "%s\t%d\t%s\t%s\t%s\n", c.Where, c.Calls, number(c.SequentialMS), number(c.GatheredMS), client)
	}
}

func (r *ToolsReport) writeWaiting(w *tabwriter.Writer) {
	c := r.Waiting
	if c == nil {
		return
	}
	optional := func(v *float64) string {
		if v == nil {
			return "-"
		}
		return number(*v)
	}
	fmt.Fprintln(w, "sessions that wait at once\teach, s\tall, s\tCPU, s\tKiB of a session")
	fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s\n", c.Sessions, number(c.WaitS), number(c.WallS), optional(c.CPUS), optional(c.KiBPerSession))
}
