package cas_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/mayfly-run/mayfly/hostfns/cas"
)

const kind = "test"

// chain stores n frames of the given sizes, each relative to the one before it unless that is due.
func chain(t *testing.T, m *cas.Memory, n int, size int64) (cas.Frame, cas.Hash) {
	t.Helper()
	var f cas.Frame
	var h cas.Hash
	for i := range n {
		part := put(t, m, cas.Object{Data: fmt.Append(nil, i)})
		var base *cas.Frame
		if i > 0 && !f.Due() {
			b := f
			base = &b
		}
		f = cas.NewFrame(base, h, []cas.Hash{part}, size, json.RawMessage(fmt.Sprint(i)))
		o, err := f.Object(kind)
		if err != nil {
			t.Fatal(err)
		}
		h = put(t, m, o)
	}
	return f, h
}

func TestChain(t *testing.T) {
	m := &cas.Memory{}
	_, h := chain(t, m, 5, 10)
	frames, err := cas.ReadChain(m, h, kind)
	if err != nil || len(frames) != 5 {
		t.Fatalf("%d frames, %v", len(frames), err)
	}
	for i, f := range frames {
		if f.Depth != i || string(f.Head) != fmt.Sprint(i) || len(f.Parts) != 1 || f.Base.IsZero() != (i == 0) {
			t.Errorf("frame %d: %+v", i, f)
		}
	}
	if last := frames[4]; last.Key != 10 || last.Since != 40 || last.Size != 10 {
		t.Errorf("%+v", last)
	}
}

// TestDue: chains are bounded, in frames and in bytes.
func TestDue(t *testing.T) {
	for _, size := range []int64{1, 1 << 10, 1 << 20} {
		m := &cas.Memory{}
		for _, n := range []int{1, 2, 10, cas.MaxChain, cas.MaxChain + 1, 2*cas.MaxChain + 3} {
			f, h := chain(t, m, n, size)
			frames, err := cas.ReadChain(m, h, kind)
			if err != nil {
				t.Fatalf("%d frames of %d bytes: %v", n, size, err)
			}
			if len(frames) > cas.MaxChain || len(frames) > 1 && f.Since > max(f.Key, 64<<10)+size {
				t.Errorf("%d frames of %d bytes: %d to read, %d bytes since a keyframe of %d", n, size, len(frames), f.Since, f.Key)
			}
		}
	}
}

func TestDamagedFrames(t *testing.T) {
	m := &cas.Memory{}
	_, h := chain(t, m, 3, 10)
	part := put(t, m, cas.Object{Data: []byte("part")})
	for name, o := range map[string]cas.Object{
		"no JSON":             {Data: []byte("x")},
		"other kind":          {Data: []byte(`{"version":1,"kind":"other","size":1,"key":1}`)},
		"newer version":       {Data: []byte(`{"version":2,"kind":"test","size":1,"key":1}`)},
		"based at depth 0":    {Refs: []cas.Hash{h}, Data: []byte(`{"version":1,"kind":"test","based":true,"size":1,"key":1}`)},
		"depth without base":  {Data: []byte(`{"version":1,"kind":"test","depth":1,"size":1,"key":1}`)},
		"base is missing":     {Data: []byte(`{"version":1,"kind":"test","based":true,"depth":1,"size":1,"key":1}`)},
		"too deep":            {Refs: []cas.Hash{h}, Data: []byte(`{"version":1,"kind":"test","based":true,"depth":256,"size":1,"key":1}`)},
		"wrong depth":         {Refs: []cas.Hash{h}, Data: []byte(`{"version":1,"kind":"test","based":true,"depth":2,"size":1,"key":1}`)},
		"negative":            {Data: []byte(`{"version":1,"kind":"test","size":-1,"key":1}`)},
		"base is no frame":    {Refs: []cas.Hash{part}, Data: []byte(`{"version":1,"kind":"test","based":true,"depth":1,"size":1,"key":1}`)},
		"huge":                {Data: []byte(`{"version":1,"kind":"test","size":1,"key":1e99}`)},
		"deep JSON in a head": {Data: []byte(`{"version":1,"kind":"test","size":1,"key":1,"head":` + strings.Repeat("[", 20_000))},
	} {
		if frames, err := cas.ReadChain(m, put(t, m, o), kind); !errors.Is(err, cas.ErrDamaged) {
			t.Errorf("%s: %+v, %v", name, frames, err)
		}
	}
	if _, err := cas.ReadChain(m, cas.Hash{1}, kind); !errors.Is(err, cas.ErrMissing) {
		t.Error(err)
	}
}

func FuzzParseFrame(f *testing.F) {
	f.Add([]byte(`{"version":1,"kind":"test","size":1,"key":1}`), 1)
	f.Add([]byte(`{"version":1,"kind":"test","based":true,"depth":3,"size":1,"key":1,"head":{"a":[1]}}`), 2)
	f.Fuzz(func(t *testing.T, data []byte, refs int) {
		o := cas.Object{Data: data}
		for i := range min(max(refs, 0), 4) {
			o.Refs = append(o.Refs, cas.Hash{byte(i + 1)})
		}
		frame, err := cas.ParseFrame(o, kind)
		if err != nil {
			return
		}
		again, err := frame.Object(kind)
		if err != nil {
			t.Fatal(err)
		}
		if back, err := cas.ParseFrame(again, kind); err != nil || back.Depth != frame.Depth || back.Base != frame.Base {
			t.Errorf("%+v, %v", back, err)
		}
	})
}
