package wasm_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/mayfly-run/mayfly/wasm"
)

func TestFrame(t *testing.T) {
	tests := []struct {
		name string
		in   []byte
		want wasm.Frame
		ok   bool
	}{
		{"empty", nil, wasm.Frame{}, false},
		{"seven bytes", make([]byte, 7), wasm.Frame{}, false},
		{"nothing in it", make([]byte, 8), wasm.Frame{Head: []byte{}, Body: []byte{}}, true},
		{"head and body", []byte("\x02\x00\x00\x00\x02\x00\x00\x00{}body"), wasm.Frame{Code: 2, Head: []byte("{}"), Body: []byte("body")}, true},
		{"head only", []byte("\x02\x00\x00\x00\x02\x00\x00\x00{}"), wasm.Frame{Code: 2, Head: []byte("{}"), Body: []byte{}}, true},
		{"head too long", []byte("\x02\x00\x00\x00\x03\x00\x00\x00{}"), wasm.Frame{}, false},
		{"head of 4 GiB", []byte("\x02\x00\x00\x00\xff\xff\xff\xff{}"), wasm.Frame{}, false},
		{"head above its limit", append([]byte("\x02\x00\x00\x00\x01\x00\x00\x01"), make([]byte, wasm.MaxHead+1)...), wasm.Frame{}, false},
		{"frame above the limit", make([]byte, wasm.MaxFrame+1), wasm.Frame{}, false},
	}
	for _, tt := range tests {
		got, err := wasm.ParseFrame(tt.in)
		if (err == nil) != tt.ok || err != nil && !errors.Is(err, wasm.ErrFrame) {
			t.Errorf("%s: %v", tt.name, err)
		}
		if got.Code != tt.want.Code || !bytes.Equal(got.Head, tt.want.Head) || !bytes.Equal(got.Body, tt.want.Body) {
			t.Errorf("%s: %+v", tt.name, got)
		}
	}
	if got := string(wasm.BootFrame([]byte("run"), []byte("payload"))); got != "\x03\x00\x00\x00runpayload" {
		t.Errorf("boot frame %q", got)
	}
}

// An append to the head must not run into the body.
func TestFrameHeadIsClosed(t *testing.T) {
	b := wasm.Frame{Head: []byte("{}"), Body: []byte("body")}.Append(nil)
	f, err := wasm.ParseFrame(b)
	if err != nil {
		t.Fatal(err)
	}
	_ = append(f.Head, "XXXX"...)
	if string(f.Body) != "body" {
		t.Errorf("body is %q", f.Body)
	}
}

func FuzzParseFrame(f *testing.F) {
	f.Add([]byte(nil))
	f.Add(make([]byte, 8))
	f.Add([]byte("\x02\x00\x00\x00\x02\x00\x00\x00{}body"))
	f.Add([]byte("\x02\x00\x00\x00\xff\xff\xff\xff{}"))
	f.Fuzz(func(t *testing.T, b []byte) {
		frame, err := wasm.ParseFrame(b)
		if err != nil {
			if !errors.Is(err, wasm.ErrFrame) {
				t.Errorf("not an ErrFrame: %v", err)
			}
			return
		}
		if again := frame.Append(nil); !bytes.Equal(again, b) {
			t.Errorf("%x became %x", b, again)
		}
	})
}
