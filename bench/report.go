package bench

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"
)

// Report is what Startup measured. Nil fields were not measured; Notes say why.
type Report struct {
	// ForkFirstResultUS is the time in microseconds of a sandbox's whole life: fork, 1+1, release.
	ForkFirstResultUS Quantiles `json:"fork_first_result_us"`
	// WarmExecUS is the time in microseconds of 1+1 in a session that is in use.
	WarmExecUS Quantiles `json:"warm_exec_us"`
	// ProcessStartMS is the time in milliseconds of a process that runs 1+1, with a warm cache.
	ProcessStartMS *Quantiles `json:"process_start_ms,omitempty"`
	// FirstRunMS is the same with an empty cache: the guest is compiled and initialised.
	FirstRunMS *float64 `json:"first_run_ms,omitempty"`
	// ForksPerCPUSecond is how many sandboxes' lives a second of one core is good for.
	ForksPerCPUSecond *float64 `json:"forks_per_cpu_second,omitempty"`
	// PrivateKiBPerIdleSession is the private memory of a fork in which nothing ran, with many of them open.
	PrivateKiBPerIdleSession *float64 `json:"private_kib_per_idle_session,omitempty"`
	// PrivateKiBPerUsedSession is the same for sessions that ran one small execution, with everything that the engine
	// holds for them.
	PrivateKiBPerUsedSession *float64 `json:"private_kib_per_used_session,omitempty"`
	// RSSMiB1000Sessions is the resident set size (VmRSS) of the process with 1000 used sessions open. The kernel counts a
	// page of the image that sessions share once for each session, so it says more than the machine gives.
	RSSMiB1000Sessions *float64 `json:"rss_mib_1000_sessions,omitempty"`
	// PSSMiB1000Sessions is the proportional set size at the same moment, which counts each page once: what the sessions
	// really take from the machine.
	PSSMiB1000Sessions *float64 `json:"pss_mib_1000_sessions,omitempty"`
	// CPURatioVsNative is how many times longer each workload takes in the guest than in native Python, and "geomean".
	CPURatioVsNative map[string]float64 `json:"cpu_ratio_vs_native,omitempty"`

	Machine  Machine  `json:"machine"`
	Versions Versions `json:"versions"`
	// Notes say what a reader of the numbers should know.
	Notes []string `json:"notes,omitempty"`

	// Workloads are the times behind the ratios.
	Workloads []Workload `json:"-"`

	// opts says how many samples there were.
	opts StartupOptions
}

// WriteText prints the report as tables for people.
func (r *Report) WriteText(out io.Writer) error {
	v := &r.Versions
	writeSetting(out, &r.Machine, v)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "\tp50\tp99\tunit\thow")
	o := r.opts
	two := func(name string, q *Quantiles, unit, how string, args ...any) {
		if q != nil {
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", name, number(q.P50), number(q.P99), unit, fmt.Sprintf(how, args...))
		}
	}
	one := func(name string, x *float64, unit, how string, args ...any) {
		if x != nil {
			fmt.Fprintf(w, "%s\t%s\t\t%s\t%s\n", name, number(*x), unit, fmt.Sprintf(how, args...))
		}
	}
	two("fork, 1+1, release", &r.ForkFirstResultUS, "µs", "new session, execution, close; %d times", o.Forks)
	two("warm execution of 1+1", &r.WarmExecUS, "µs", "in one session; %d times", o.Forks)
	two("process start to exit", r.ProcessStartMS, "ms", "mayfly run -c 1+1, warm cache; %d processes", o.Processes)
	one("first-ever run", r.FirstRunMS, "ms", "the same with an empty cache; once")
	one("forks", r.ForksPerCPUSecond, "per s", "the first line, per second of CPU time (user and system)")
	one("private memory, idle fork", r.PrivateKiBPerIdleSession, "KiB", "nothing ran in it; mean of %d", o.Sessions)
	one("private memory, used session", r.PrivateKiBPerUsedSession, "KiB", "after x = 1 + 1; mean of %d", o.Sessions)
	one("memory, 1000 used sessions", r.PSSMiB1000Sessions, "MiB", "PSS of this process, each page counted once; %d sessions", o.Sessions)
	one("the same as VmRSS", r.RSSMiB1000Sessions, "MiB", "pages that sessions share counted once for each")
	if err := w.Flush(); err != nil {
		return err
	}
	if len(r.CPURatioVsNative) > 0 {
		fmt.Fprintf(out, "\nCPU work against %s at %s, by turns, best of %d:\n", v.Native, v.NativePath, o.Rounds)
		w = tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
		fmt.Fprintln(w, "\tguest ms\tnative ms\tratio\t")
		for _, l := range r.Workloads {
			fmt.Fprintf(w, "%s\t%.1f\t%.1f\t%.2f\t\n", l.Name, ms(l.Guest), ms(l.Native), r.CPURatioVsNative[l.Name])
		}
		fmt.Fprintf(w, "geomean\t\t\t%.2f\t\n", r.CPURatioVsNative["geomean"])
		if err := w.Flush(); err != nil {
			return err
		}
	}
	return writeNotes(out, r.Notes)
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// number prints about three significant digits.
func number(x float64) string {
	switch {
	case x >= 100:
		return fmt.Sprintf("%.0f", x)
	case x >= 10:
		return fmt.Sprintf("%.1f", x)
	}
	return fmt.Sprintf("%.2f", x)
}
