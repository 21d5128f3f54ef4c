package bench

import (
	"bufio"
	"bytes"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
)

// readMemory asks the kernel what this process takes, after a garbage collection that gives back what it can.
func readMemory() (memoryUse, bool) {
	debug.FreeOSMemory()
	rollup, err := os.ReadFile("/proc/self/smaps_rollup")
	if err != nil {
		return memoryUse{}, false
	}
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return memoryUse{}, false
	}
	private := kibField(rollup, "Private_Clean") + kibField(rollup, "Private_Dirty")
	return memoryUse{private: private, pss: kibField(rollup, "Pss"), rss: kibField(status, "VmRSS")}, private > 0
}

// kibField returns the number of a line like "VmRSS:  1640 kB" in a file of /proc, 0 when there is none.
func kibField(file []byte, name string) float64 {
	s := bufio.NewScanner(bytes.NewReader(file))
	for s.Scan() {
		key, value, ok := strings.Cut(s.Text(), ":")
		if !ok || strings.TrimSpace(key) != name {
			continue
		}
		n, err := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(value, "kB")), 64)
		if err != nil {
			return 0
		}
		return n
	}
	return 0
}
