package main

import (
	"fmt"
	"strconv"
	"strings"
)

// byteSize is a flag value like 512MiB.
type byteSize int64

var units = []struct {
	suffix string
	factor int64
}{
	{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30},
	{"K", 1 << 10}, {"M", 1 << 20}, {"G", 1 << 30},
	{"KB", 1000}, {"MB", 1000_000}, {"GB", 1000_000_000}, {"B", 1}, {"", 1},
}

func (b *byteSize) Set(s string) error {
	for _, u := range units {
		num, ok := strings.CutSuffix(s, u.suffix)
		if !ok {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSpace(num), 10, 64)
		if err != nil || n <= 0 || n > (1<<40)/u.factor {
			continue
		}
		*b = byteSize(n * u.factor)
		return nil
	}
	return fmt.Errorf("%q is not a size; write for example 512MiB or 1GiB", s)
}

func (b *byteSize) String() string {
	n := int64(*b)
	for _, u := range []struct {
		suffix string
		factor int64
	}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}} {
		if n >= u.factor && n%u.factor == 0 {
			return strconv.FormatInt(n/u.factor, 10) + u.suffix
		}
	}
	return strconv.FormatInt(n, 10)
}

// Type is the name of the value in help texts.
func (b *byteSize) Type() string { return "SIZE" }
