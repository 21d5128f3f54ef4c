package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/mayfly-run/mayfly/bench"
	"github.com/mayfly-run/mayfly/internal/nativepython"
)

func newBench() *cobra.Command {
	c := &cobra.Command{
		Use:   "bench",
		Short: "Measure mayfly on this machine",
		Args:  cobra.NoArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newBenchStartup(), newBenchThreads(), newBenchState(), newBenchRestore(), newBenchTools(), newBenchToolServer())
	return c
}

func newBenchStartup() *cobra.Command {
	var o bench.StartupOptions
	var asJSON bool
	c := &cobra.Command{
		Use:   "startup",
		Short: "Measure what a sandbox costs: start, memory, and speed beside native Python",
		Long: `Measures forks, warm executions, the start of the process, memory per session, and
six small workloads against a native python3 that runs by turns with the sandbox.
It takes a minute or two. Times are wall-clock times: other load on the machine
makes them worse, so look at the load average that is printed with them.`,
		Example: `  mayfly bench startup
  mayfly bench startup --quick
  mayfly bench startup --json --native /usr/bin/python3.13`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			var err error
			if o.Sessions <= 0 {
				return usageError("write for example --sessions 100", "--sessions %d is not positive", o.Sessions)
			}
			if o.Native, err = findNative(o.Native); err != nil {
				return err
			}
			self, err := os.Executable()
			if err != nil {
				return err
			}
			v := version()
			o.Mayfly, o.Wazero = v.Version, v.Wazero
			o.Command = []string{self, "run", "-c", "1+1"}
			o.CacheDir = os.Getenv("MAYFLY_CACHE")
			o.Progress = benchProgress
			o.EngineProgress = (&progress{w: os.Stderr}).step
			r, err := bench.Startup(c.Context(), &o)
			if err != nil {
				return engineError(err)
			}
			return writeReport(r, asJSON)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.Flags().BoolVar(&o.Quick, "quick", false, "take fewer samples, and leave the first-ever run out")
	c.Flags().IntVar(&o.Sessions, "sessions", 1000, "sessions to hold open for the memory figures")
	addNative(c, &o.Native)
	return c
}

func newBenchThreads() *cobra.Command {
	var o bench.ThreadsOptions
	var asJSON bool
	c := &cobra.Command{
		Use:   "threads",
		Short: "Measure what threads and processes in a sandbox cost",
		Long: `Measures threads (start, switches, queues, executors, waits, memory) and processes
of a program in the sandbox, and of the same program in a native python3 by turns.
It takes half a minute. Times are wall-clock times: other load on the machine makes
them worse.`,
		Example: `  mayfly bench threads
  mayfly bench threads --json --repeat 9
  mayfly bench threads --native /usr/bin/python3.13`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			var err error
			if o.Repeat <= 0 {
				return usageError("write for example --repeat 5", "--repeat %d is not positive", o.Repeat)
			}
			if o.Native, err = findNative(o.Native); err != nil {
				return err
			}
			v := version()
			o.Mayfly, o.Wazero = v.Version, v.Wazero
			o.CacheDir = os.Getenv("MAYFLY_CACHE")
			o.Progress = benchProgress
			o.EngineProgress = (&progress{w: os.Stderr}).step
			r, err := bench.Threads(c.Context(), &o)
			if err != nil {
				return engineError(err)
			}
			return writeReport(r, asJSON)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.Flags().IntVar(&o.Repeat, "repeat", 5, "how often everything is measured; the medians are printed")
	addNative(c, &o.Native)
	return c
}

func newBenchState() *cobra.Command {
	var o bench.StateOptions
	var asJSON bool
	c := &cobra.Command{
		Use:   "state",
		Short: "Measure what it costs to keep sessions in a store",
		Long: `Measures durable steps against the same steps in memory, forks, rewinds, the restore
of a session in another process, files, and the size of a store on the disk. The
stores are in a temporary directory, which should be on the disk that your own
store is on. It takes some minutes and 5 GiB of the disk for a while. Times are
wall-clock times: other load on the machine, or on its disk, makes them worse.`,
		Example: `  mayfly bench state
  mayfly bench state --quick --store-dir .
  mayfly bench state --json --native /usr/bin/python3.13`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			var err error
			if o.Dir, err = benchDir(o.Dir); err != nil {
				return err
			}
			if o.Native, err = findNative(o.Native); err != nil {
				return err
			}
			self, err := os.Executable()
			if err != nil {
				return err
			}
			v := version()
			o.Mayfly, o.Wazero = v.Version, v.Wazero
			o.Command = []string{self, "bench", "restore"}
			o.CacheDir = os.Getenv("MAYFLY_CACHE")
			o.Progress = benchProgress
			o.EngineProgress = (&progress{w: os.Stderr}).step
			r, err := bench.State(c.Context(), &o)
			if err != nil {
				return engineError(err)
			}
			return writeReport(r, asJSON)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.Flags().BoolVar(&o.Quick, "quick", false, "take few samples")
	c.Flags().StringVar(&o.Dir, "store-dir", "",
		"make the temporary stores in `DIR`; default: the user's data directory, or the current one when that is not on a disk")
	addNative(c, &o.Native)
	return c
}

// newBenchRestore is what mayfly bench state starts again and again.
func newBenchRestore() *cobra.Command {
	return &cobra.Command{
		Use:    "restore [STORE SESSION]",
		Short:  "Go on with a session of a store, and print how long that took as JSON",
		Hidden: true,
		Args:   cobra.MaximumNArgs(2),
		RunE: func(c *cobra.Command, args []string) error {
			args = append(args, "", "")
			t, err := bench.Restore(c.Context(), os.Getenv("MAYFLY_CACHE"), args[0], args[1])
			if err != nil {
				return engineError(err)
			}
			return writeJSON(os.Stdout, t)
		},
	}
}

// benchDir returns where temporary stores are made: beside the user's own store, if that is on a disk.
func benchDir(dir string) (string, error) {
	if dir != "" {
		if fi, err := os.Stat(dir); err != nil || !fi.IsDir() {
			return "", usageError("name a directory that is there", "--store-dir %s is no directory", dir)
		}
		return dir, nil
	}
	own, err := (&storeFlags{}).directory()
	if err != nil {
		return ".", nil //nolint:nilerr // there is no home then
	}
	dir = filepath.Dir(own)
	if os.MkdirAll(dir, 0o700) != nil || bench.InMemory(dir) {
		return ".", nil
	}
	return dir, nil
}

func addNative(c *cobra.Command, path *string) {
	c.Flags().StringVar(path, "native", "",
		"compare with this `PYTHON`; default: $"+nativepython.PathVariable+", else python3.13 or python3 on the PATH")
}

func benchProgress(s string) { fmt.Fprintln(os.Stderr, "mayfly: bench:", s) }

func writeReport(r interface{ WriteText(io.Writer) error }, asJSON bool) error {
	if asJSON {
		return writeJSON(os.Stdout, r)
	}
	return r.WriteText(os.Stdout)
}

// findNative returns the path of the native Python to compare with, "" when nobody named one and none is there.
func findNative(name string) (string, error) {
	if name != "" {
		path, err := exec.LookPath(name)
		if err != nil {
			return "", usageError("give the path of a native python3, or leave --native out", "--native: %v", err)
		}
		return path, nil
	}
	path, ok := nativepython.Find()
	if name := os.Getenv(nativepython.PathVariable); name != "" {
		if !ok {
			return "", usageError("unset it, or let it name a native python3",
				"%s=%s: no such program", nativepython.PathVariable, name)
		}
		return path, nil
	}
	if ok && runs(path) {
		return path, nil
	}
	if path, err := exec.LookPath("python3"); err == nil && runs(path) {
		return path, nil
	}
	return "", nil
}

// runs tells whether a program found on the PATH is a Python at all: version managers put stand-ins there.
func runs(path string) bool { return exec.Command(path, "-I", "-S", "-c", "import json").Run() == nil }
