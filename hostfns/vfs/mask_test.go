package vfs

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero/experimental/sys"
)

// stars overwrites a word.
func stars(word string) func([]byte) bool {
	return func(b []byte) (changed bool) {
		for {
			i := bytes.Index(b, []byte(word))
			if i < 0 {
				return changed
			}
			copy(b[i:], strings.Repeat("*", len(word)))
			changed = true
		}
	}
}

func TestMask(t *testing.T) {
	const word = "open sesame"
	for _, c := range []struct {
		name string
		at   []int64 // where the word is in the file
		size int64
	}{
		{"small", []int64{0}, 20},
		{"none", nil, 200_000},
		{"across chunks", []int64{chunkSize - 5, 3*chunkSize - 1, 3*chunkSize + 100}, 4 * chunkSize},
		{"at the end", []int64{5*chunkSize + 10}, 5*chunkSize + 10 + int64(len(word))},
		{"far away", []int64{100 * chunkSize, 1 << 30}, 1<<30 + 4096},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := New(&Options{MaxBytes: 4 << 20})
			m.Mark()
			f, errno := m.OpenFile("f", sys.O_RDWR|sys.O_CREAT, 0o600)
			if errno != 0 {
				t.Fatal(errno)
			}
			if errno := f.Truncate(c.size); errno != 0 {
				t.Fatal(errno)
			}
			for _, at := range c.at {
				if _, errno := f.Pwrite([]byte(word), at); errno != 0 {
					t.Fatal(errno)
				}
			}
			got, err := m.Mask(stars(word), len(word)-1)
			if err != nil || (len(got) > 0) != (len(c.at) > 0) || len(got) > 1 {
				t.Fatalf("%q %v", got, err)
			}
			for _, at := range c.at {
				b := make([]byte, len(word))
				if _, errno := f.Pread(b, at); errno != 0 || string(b) != strings.Repeat("*", len(word)) {
					t.Errorf("at %d: %q %v", at, b, errno)
				}
			}
			if st, errno := f.Stat(); errno != 0 || st.Size != c.size {
				t.Errorf("size %d %v", st.Size, errno)
			}
			f.Close()
			if again, err := m.Mask(stars(word), len(word)-1); err != nil || len(again) > 0 {
				t.Errorf("a second time: %q %v", again, err)
			}
		})
	}
}

func TestMaskOfWhatWasChanged(t *testing.T) {
	m := New(nil)
	write := func(path string) {
		t.Helper()
		f, errno := m.OpenFile(path, sys.O_RDWR|sys.O_CREAT, 0o600)
		if errno != 0 {
			t.Fatal(errno)
		}
		if _, errno := f.Write([]byte("a secret")); errno != 0 {
			t.Fatal(errno)
		}
		f.Close()
	}
	m.Mkdir("dir", 0o700)
	write("dir/before")
	m.Mark()
	write("dir/after")
	m.Link("dir/after", "another name")
	got, err := m.Mask(stars("secret"), 5)
	if err != nil || len(got) != 1 {
		t.Errorf("%q %v", got, err)
	}
	m.Mark()
	for i := range MaxChanges + 1 {
		write(fmt.Sprintf("f%d", i))
	}
	if got, err = m.Mask(stars("secret"), 5); err != nil || len(got) != MaxChanges+2 || !slices.Contains(got, "dir/before") {
		t.Errorf("%d files, %v", len(got), err)
	}
}
