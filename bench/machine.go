package bench

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"strings"

	"github.com/mayfly-run/mayfly/wasm"
)

// Machine is what the numbers depend on. Fields that a system does not tell are empty.
type Machine struct {
	OS        string  `json:"os"`
	Arch      string  `json:"arch"`
	CPU       string  `json:"cpu,omitempty"`
	Cores     int     `json:"cores"`
	MemoryMiB int     `json:"memory_mib,omitempty"`
	Kernel    string  `json:"kernel,omitempty"`
	Load      float64 `json:"load_average_at_start"`
	Fork      string  `json:"fork"`
}

// Versions is what was measured.
type Versions struct {
	Mayfly     string `json:"mayfly,omitempty"`
	Go         string `json:"go"`
	Wazero     string `json:"wazero,omitempty"`
	Guest      string `json:"guest"`
	Native     string `json:"native,omitempty"`
	NativePath string `json:"native_path,omitempty"`
}

func versions(mayfly, wazero, guest string) Versions {
	return Versions{Mayfly: mayfly, Wazero: wazero, Go: runtime.Version(), Guest: guest}
}

// writeSetting prints what was measured, and on what.
func writeSetting(out io.Writer, m *Machine, v *Versions) {
	fmt.Fprintf(out, "%s/%s, %d cores", m.OS, m.Arch, m.Cores)
	if m.CPU != "" {
		fmt.Fprintf(out, ", %s", m.CPU)
	}
	if m.MemoryMiB > 0 {
		fmt.Fprintf(out, ", %.1f GiB", float64(m.MemoryMiB)/1024)
	}
	if m.Kernel != "" {
		fmt.Fprintf(out, ", kernel %s, load average %.1f at the start", m.Kernel, m.Load)
	}
	fmt.Fprintf(out, "\nforks: %s\n", m.Fork)
	fmt.Fprintf(out, "mayfly %s, %s, wazero %s, guest %s\n\n", v.Mayfly, v.Go, v.Wazero, v.Guest)
}

func writeNotes(out io.Writer, notes []string) error {
	if len(notes) > 0 {
		fmt.Fprintln(out)
	}
	for _, n := range notes {
		if _, err := fmt.Fprintln(out, "note:", n); err != nil {
			return err
		}
	}
	return nil
}

func machine() Machine {
	m := Machine{OS: runtime.GOOS, Arch: runtime.GOARCH, Cores: runtime.GOMAXPROCS(0), Fork: wasm.ForkMethod}
	m.CPU = procValue("/proc/cpuinfo", "model name")
	if kib, err := strconv.Atoi(strings.TrimSuffix(procValue("/proc/meminfo", "MemTotal"), " kB")); err == nil {
		m.MemoryMiB = kib / 1024
	}
	m.Kernel = firstWord("/proc/sys/kernel/osrelease")
	m.Load, _ = strconv.ParseFloat(firstWord("/proc/loadavg"), 64)
	return m
}

// procValue returns the first value of a key in a file of "key: value" lines, "" when there is none.
func procValue(file, key string) string {
	b, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(b)) {
		if k, v, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(k) == key {
			return strings.TrimSpace(v)
		}
	}
	return ""
}

func firstWord(file string) string {
	b, _ := os.ReadFile(file)
	word, _, _ := strings.Cut(strings.TrimSpace(string(b)), " ")
	return word
}
