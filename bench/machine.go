package bench

import (
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

func versions(o *StartupOptions, guest string) Versions {
	return Versions{Mayfly: o.Mayfly, Wazero: o.Wazero, Go: runtime.Version(), Guest: guest}
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
