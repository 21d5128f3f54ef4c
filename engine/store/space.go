package store

import (
	"fmt"

	"github.com/mayfly-run/mayfly/engine"
)

// space refuses writes when the disk is nearly full. The writer goroutine uses it.
type space struct {
	dir     string
	minFree int64 // as asked for, 0 for the default
	free    func(dir string) (free, total int64, err error)
}

// freeing is what remains of the reserve for operations that give space back: they write little themselves, but a
// memtable may become full by them.
func freeing(reserve int64) int64 { return reserve / 4 }

// check returns engine.ErrStoreFull unless need bytes can be written. Frees tells that the operation gives space back.
func (s *space) check(need int64, frees bool) error {
	if s.free == nil {
		return nil
	}
	free, total, err := s.free(s.dir)
	if err != nil {
		return fmt.Errorf("free space of the store %s: %w", s.dir, err)
	}
	reserve := s.minFree
	if reserve <= 0 {
		reserve = defaultMinFree
		if total > 0 && total < tinyDisk {
			reserve = total / 4
		}
	}
	if frees {
		reserve = freeing(reserve)
	}
	if free-need >= reserve {
		return nil
	}
	return fmt.Errorf("%w: the disk of %s has %s free; %s are needed, of which %s must stay free; "+
		"make room, or remove sessions", engine.ErrStoreFull, s.dir, mib(free), mib(need+reserve), mib(reserve))
}

func mib(n int64) string {
	if n > -10<<10 && n < 10<<10 {
		return fmt.Sprintf("%d bytes", n)
	}
	return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
}
