package bench

import "testing"

func TestKiBField(t *testing.T) {
	file := []byte("556277a79000-7ffe382a1000 ---p 00000000 00:00 0  [rollup]\nRss:                1640 kB\nPss:   330 kB\nName: x\n")
	for name, want := range map[string]float64{"Rss": 1640, "Pss": 330, "Name": 0, "Swap": 0} {
		if got := kibField(file, name); got != want {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
	}
}

func TestReadMemory(t *testing.T) {
	m, ok := readMemory()
	if !ok {
		t.Skip("/proc/self/smaps_rollup cannot be read here")
	}
	if m.private <= 0 || m.rss < m.private || m.pss < m.private {
		t.Errorf("got %+v", m)
	}
}
