package bench

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// ThreadsReport is what Threads measured: medians, with the unit at the end of each name.
type ThreadsReport struct {
	// Sandbox has the figures of threads in a sandbox.
	Sandbox map[string]float64 `json:"sandbox"`
	// Native has the same of native Python, if there was one.
	Native map[string]float64 `json:"native,omitempty"`

	Machine  Machine  `json:"machine"`
	Versions Versions `json:"versions"`
	// Notes say what a reader of the numbers should know.
	Notes []string `json:"notes,omitempty"`

	opts ThreadsOptions
}

// threadFigures are the figures in the order in which they are printed.
var threadFigures = []struct{ name, label, unit, how string }{
	{"thread_start_join_us", "thread", "µs", "create, start, join"},
	{"lock_switch_us", "switch by a Lock", "µs", "two threads that release each other's"},
	{"semaphore_switch_us", "switch by a Semaphore", "µs", "the same with threading.Semaphore"},
	{"queue_round_trip_us", "queue.Queue", "µs", "there and back through two of them"},
	{"simple_queue_round_trip_us", "queue.SimpleQueue", "µs", "the same"},
	{"executor_round_trip_us", "ThreadPoolExecutor", "µs", "submit and result"},
	{"to_thread_round_trip_us", "asyncio.to_thread", "µs", "awaited"},
	{"wait_100ms_20_threads_ms", "20 waits of 100 ms", "ms", "in 20 threads: start to the last join"},
	{"late_beside_1_mean_ms", "late beside 1 thread, mean", "ms", "a sleep of 5 ms while another thread computes"},
	{"late_beside_1_max_ms", "late beside 1 thread, most", "ms", "the latest of all repetitions"},
	{"late_beside_4_mean_ms", "late beside 4 threads, mean", "ms", "the same beside 4 threads that compute"},
	{"late_beside_4_max_ms", "late beside 4 threads, most", "ms", "the latest of all repetitions"},
	{"parked_thread_kib", "a parked thread", "KiB", "resident memory of the process, mean of 100 that wait"},
	{"parked_deep_thread_kib", "a parked thread, deep", "KiB", "the same below 100 levels of recursion in C"},
	{"process_start_join_ms", "multiprocessing.Process", "ms", "create, start, join"},
	{"pool_map_speedup_ratio", "multiprocessing.Pool", "times", "map of CPU-bound work, against one process"},
}

// WriteText prints the report as a table for people.
func (r *ThreadsReport) WriteText(out io.Writer) error {
	writeSetting(out, &r.Machine, &r.Versions)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "\tsandbox\tnative\tunit\thow")
	for _, f := range threadFigures {
		if _, ok := r.Sandbox[f.name]; ok {
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", f.label, figure(r.Sandbox, f.name), figure(r.Native, f.name), f.unit, f.how)
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(out, "\nmedians of %d", r.opts.Repeat)
	if r.Native != nil {
		fmt.Fprintf(out, "; native is %s at %s", r.Versions.Native, r.Versions.NativePath)
	}
	fmt.Fprintln(out)
	return writeNotes(out, r.Notes)
}

func figure(m map[string]float64, name string) string {
	x, ok := m[name]
	if !ok {
		return ""
	}
	return number(x)
}
