package store

import (
	"fmt"
	"log/slog"
)

// Durability says what has happened to a commit when it is acknowledged.
type Durability int

const (
	// Sync means that it is on the disk. It survives a power failure.
	Sync Durability = iota
	// Async means that it was handed to the operating system, which has it on the disk about a second later. It survives the end of
	// the process, however it ends.
	Async
	// None is as Async, but the operating system decides when it goes to the disk.
	None
)

var durabilities = [...]string{"sync", "async", "none"}

// String returns "sync", "async" or "none".
func (d Durability) String() string {
	if d < 0 || int(d) >= len(durabilities) {
		return fmt.Sprintf("durability(%d)", int(d))
	}
	return durabilities[d]
}

// ParseDurability reads what String writes. The empty string is Sync.
func ParseDurability(s string) (Durability, error) {
	for i, n := range durabilities {
		if s == n {
			return Durability(i), nil
		}
	}
	if s == "" {
		return Sync, nil
	}
	return 0, fmt.Errorf("durability %.40q is unknown; it is sync, async or none", s)
}

// Options of a store. Nil and zero values are the defaults.
type Options struct {
	// Durability is Sync unless said otherwise.
	Durability Durability
	// Logger gets what goes on in the background, and nothing in normal operation above the level of debugging. Nil: nobody.
	Logger *slog.Logger
	// MinFree is the number of bytes that must stay free on the disk. 0: 128 MiB, or a quarter of a disk below 512 MiB.
	// Badger writes through memory mappings, where a full disk kills the process; so writes are refused before that.
	MinFree int64
	// Command and Socket tell others who has the store open, and where to reach it. Command is the program's arguments
	// unless said otherwise.
	Command, Socket string

	free func(dir string) (free, total int64, err error) // for tests
}

const (
	defaultMinFree = 128 << 20
	tinyDisk       = 4 * defaultMinFree
)

func (o *Options) withDefaults() Options {
	var r Options
	if o != nil {
		r = *o
	}
	if r.Logger == nil {
		r.Logger = slog.New(slog.DiscardHandler)
	}
	if r.free == nil {
		r.free = freeSpace
	}
	return r
}
