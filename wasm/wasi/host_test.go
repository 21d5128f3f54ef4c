package wasi

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/experimental/sys"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
)

// Our functions have the names and types of wazero's, so that a guest links with either.
func TestSignatures(t *testing.T) {
	ctx := context.Background()
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter())
	defer r.Close(ctx)
	ref, err := wasi_snapshot_preview1.NewBuilder(r).Compile(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Instantiate(ctx, r, processOf); err != nil {
		t.Fatal(err)
	}
	ours := r.Module(ModuleName).ExportedFunctionDefinitions()
	if len(ours) != 46 {
		t.Errorf("%d functions, want the 46 of preview 1", len(ours))
	}
	for name, def := range ref.ExportedFunctions() {
		our, ok := ours[name]
		if !ok {
			t.Errorf("%s is missing", name)
			continue
		}
		if !slices.Equal(def.ParamTypes(), our.ParamTypes()) || !slices.Equal(def.ResultTypes(), our.ResultTypes()) {
			t.Errorf("%s: (%v)->%v, want (%v)->%v", name, our.ParamTypes(), our.ResultTypes(),
				def.ParamTypes(), def.ResultTypes())
		}
	}
}

func TestExit(t *testing.T) {
	for name, cfg := range map[string]wazero.RuntimeConfig{
		"interpreter": wazero.NewRuntimeConfigInterpreter(),
		"default":     wazero.NewRuntimeConfig(),
	} {
		t.Run(name, func(t *testing.T) {
			g := newGuestOn(t, cfg, nil)
			for _, code := range []uint32{0, 3, 0xffffffff} {
				_, err := g.try(g.ctx, "proc_exit", uint64(code))
				var exit *ExitError
				if !errors.As(err, &exit) || exit.Code != code {
					t.Fatalf("error %v, want ExitError with code %d", err, code)
				}
			}
			g.want(success, "sched_yield") // the instance goes on
			if _, err := g.try(context.Background(), "proc_exit", 4); !errors.As(err, new(*ExitError)) {
				t.Errorf("without a process: %v", err)
			}
		})
	}
}

func TestNoProcess(t *testing.T) {
	g := newGuest(t, nil)
	for _, f := range functions {
		if f.name == "proc_exit" {
			continue
		}
		e, err := g.try(context.Background(), f.name, make([]uint64, len(f.params))...)
		if e != errNosys || err != nil {
			t.Errorf("%s: %d, %v", f.name, e, err)
		}
	}
}

// Two processes on one instance see nothing of each other.
func TestProcessesAreApart(t *testing.T) {
	var out1, out2 bytes.Buffer
	g := newGuest(t, &Options{FS: newMemFS(), Stdout: &out1, Args: []string{"one"}})
	fd := g.open("f", openCreat, readWrite)
	g.write(1, "first")
	other := NewProcess(&Options{Stdout: &out2})
	defer other.Close()
	first := g.ctx
	g.ctx = withProcess(context.Background(), other)
	g.want(errBadf, "fd_close", fd)
	g.want(errBadf, "fd_prestat_get", rootFD, resultAt)
	g.write(1, "second")
	g.want(success, "args_sizes_get", resultAt, resultAt+4)
	if n := g.u32(resultAt); n != 0 {
		t.Errorf("%d arguments", n)
	}
	g.ctx = first
	g.want(success, "fd_close", fd)
	if out1.String() != "first" || out2.String() != "second" {
		t.Errorf("output %q and %q", out1.String(), out2.String())
	}
}

func TestArgsAndEnv(t *testing.T) {
	g := newGuest(t, &Options{Args: []string{"py", "a\x00b", ""}, Env: []string{"A=1", "bad", "=x", "N=\x00", "B="}})
	strs := func(name string, want ...string) {
		t.Helper()
		g.want(success, name+"_sizes_get", resultAt, resultAt+4)
		n, size := g.u32(resultAt), g.u32(resultAt+4)
		g.want(success, name+"_get", resultAt, dataAt)
		var got []string
		for i := range n {
			at := g.u32(resultAt + 4*i)
			s, _, _ := strings.Cut(string(g.bytes(at, dataAt+size-at)), "\x00")
			got = append(got, s)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	strs("args", "py", "a", "")
	strs("environ", "A=1", "B=")
	g.p.SetArgs(nil)
	g.p.SetEnv([]string{"C=3"})
	strs("args")
	strs("environ", "C=3")
	g.want(errFault, "environ_get", memSize-2, dataAt)
	g.want(errFault, "environ_get", resultAt, memSize-3)
	g.want(errFault, "environ_get", resultAt, 0xffffffff)
	g.want(errFault, "environ_sizes_get", resultAt, memSize-1)
}

func TestClocks(t *testing.T) {
	g := newGuest(t, &Options{
		Walltime:  func() time.Time { return time.Unix(5, 6) },
		Monotonic: func() time.Duration { return 7 },
		CPUTime:   func() time.Duration { return 8 },
	})
	for id, want := range []uint64{5e9 + 6, 7, 8, 8} {
		g.want(success, "clock_time_get", uint64(id), 0, resultAt)
		if got := g.u64(resultAt); got != want {
			t.Errorf("clock %d: %d, want %d", id, got, want)
		}
		g.want(success, "clock_res_get", uint64(id), resultAt)
	}
	g.want(errInval, "clock_time_get", 4, 0, resultAt)
	g.want(errInval, "clock_res_get", 4, resultAt)
	g.want(errFault, "clock_time_get", 0, 0, memSize-7)

	g = newGuest(t, nil)
	g.want(success, "clock_time_get", clockMonotonic, 0, resultAt)
	before := g.u64(resultAt)
	g.want(success, "clock_time_get", clockMonotonic, 0, resultAt)
	if after := g.u64(resultAt); before == 0 || after < before {
		t.Errorf("monotonic clock: %d then %d", before, after)
	}
}

func TestRandom(t *testing.T) {
	g := newGuest(t, &Options{Rand: strings.NewReader("abcdef")})
	g.want(success, "random_get", dataAt, 4)
	if got := string(g.bytes(dataAt, 4)); got != "abcd" {
		t.Errorf("got %q", got)
	}
	g.want(errIO, "random_get", dataAt, 4)
	g.want(errFault, "random_get", memSize-1, 2)
	g.want(errInval, "random_get", 0, maxIO+1)
	g = newGuest(t, nil)
	g.want(success, "random_get", dataAt, 16)
	if bytes.Equal(g.bytes(dataAt, 16), make([]byte, 16)) {
		t.Error("default source gave zeros")
	}
}

func TestSocketsAndSignals(t *testing.T) {
	g := newGuest(t, nil)
	g.want(errNotsock, "sock_accept", 0, 0, resultAt)
	g.want(errNotsock, "sock_shutdown", 1, 0)
	g.want(errBadf, "sock_send", 9, 0, 0, 0, resultAt)
	g.want(errBadf, "sock_recv", 9, 0, 0, 0, resultAt, resultAt)
	g.want(errNosys, "proc_raise", 6)
}

func TestErrnoMapping(t *testing.T) {
	seen := map[errno]sys.Errno{}
	for e := sys.Errno(1); e < 0x200; e++ {
		got := toErrno(e)
		if got == errIO {
			continue
		}
		if old, dup := seen[got]; dup {
			t.Errorf("%v and %v both map to %d", old, e, got)
		}
		seen[got] = e
	}
	for e, want := range map[sys.Errno]errno{
		0: 0, sys.EACCES: 2, sys.EIO: 29, sys.EROFS: 69, sys.ENOTDIR: 54, sys.EINTR: 27, sys.ELOOP: 32,
		ENOSPC: 51, EDQUOT: 19, EMFILE: 33, ENAMETOOLONG: 37, EXDEV: 75, EFBIG: 22, 0xffff: 29,
	} {
		if got := toErrno(e); got != want {
			t.Errorf("%v: %d, want %d", e, got, want)
		}
	}
	if len(seen) != 31 {
		t.Errorf("%d errors have a number of their own, want 31", len(seen))
	}
}
