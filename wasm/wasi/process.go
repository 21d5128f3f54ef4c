package wasi

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/tetratelabs/wazero/experimental/sys"
)

// DefaultMaxFiles is the limit of open file descriptors, standard streams and root included. It is what small systems
// give a process (ulimit -n); it bounds host memory, as each descriptor may hold a file of the host.
const DefaultMaxFiles = 256

// Options of a Process. The zero value is a process without arguments, environment and files, that reads nothing and
// whose output is dropped.
type Options struct {
	Args []string // argv, with the program's name first; default none
	Env  []string // "NAME=value"; entries without "=" are dropped; default none

	// FS is the root file system, pre-opened as "/" on descriptor 3. Default nil: no files.
	// It gets clean slash-separated paths relative to the root, "." for the root itself, never a trailing slash or
	// "..". It may implement [Lutimenser]. Host functions of one guest call it one at a time.
	FS sys.FS

	Stdin  *Stdin    // default nil: end of file at once
	Stdout io.Writer // default nil: dropped; see SetStdio
	Stderr io.Writer // default nil: dropped

	// Terminal makes descriptors 0-2 character devices, so that isatty is true. Default false.
	Terminal bool

	Rand      io.Reader            // source of random_get; default crypto/rand
	Walltime  func() time.Time     // clock 0; default time.Now
	Monotonic func() time.Duration // clock 1, since any fixed point; default the time since the host started
	CPUTime   func() time.Duration // clocks 2 and 3, CPU time of the guest; default Monotonic

	// ForkSources returns what a process that Fork makes has instead of Rand, Walltime, Monotonic and CPUTime; nil stands
	// for the same as its parent has. Fork calls it, in the goroutine of the guest. Default: the same as the parent.
	ForkSources func() (random io.Reader, walltime func() time.Time, monotonic, cputime func() time.Duration)

	// NoWait tells whether sleeps are over at once: while it is true, poll_oneoff does not wait when one of its
	// subscriptions is a clock; the earliest one has happened. Standard input comes first: its reader must not block then,
	// and nobody is told that it is not ready. For a guest that runs again with recorded clocks and input.
	// Default: never.
	NoWait func() bool

	// NotReady is called when a guest is told that standard input is not ready: by poll_oneoff, or by a read that does not
	// block. That depends on when input comes, not only on what it is. Default: nobody is told.
	NotReady func()

	// MaxFiles is the limit of open descriptors; default DefaultMaxFiles.
	MaxFiles int

	// Block runs f, which waits and touches no guest memory, and returns after it. A scheduler of green threads lets
	// another call of the same instance run meanwhile. Default: f is simply called.
	// It is also called by sched_yield, with an f that does nothing.
	Block func(ctx context.Context, f func())
	// Shared tells whether the guest has other threads than the one that calls. While it does, file operations run in Block
	// as well; what they read and write goes through a buffer. Guest memory must not move then. Default: never.
	Shared func(ctx context.Context) bool
}

// A Lutimenser is a file system that can set the times of a symbolic link itself, in nanoseconds since 1970 or
// sys.UTIME_OMIT. Without it such a call fails with ENOTSUP on links.
type Lutimenser interface {
	Lutimens(path string, atim, mtim int64) sys.Errno
}

// A Process is the WASI state of one sandbox: descriptors, arguments, environment, clocks, standard streams.
//
// Its methods may be called from any goroutine. Host functions of one Process must not run at the same time, save for
// the waits inside Options.Block; a guest cannot make them do so.
type Process struct {
	fs          sys.FS
	outside     *outside // what operations on files go through
	terminal    bool
	rand        io.Reader
	walltime    func() time.Time
	monotonic   func() time.Duration
	cputime     func() time.Duration
	block       func(ctx context.Context, f func())
	shared      func(ctx context.Context) bool
	noWait      func() bool
	notReady    func()
	forkSources func() (io.Reader, func() time.Time, func() time.Duration, func() time.Duration)
	hasStale    bool            // set while the guest does not run
	calling     context.Context // of the host function that runs; it belongs to the thread that runs

	mu     sync.Mutex // guards what follows; never held while a file, a stream or Block is called
	fds    fdTable
	args   []string
	env    []string
	stdin  *Stdin
	stdout io.Writer
	stderr io.Writer
	cached int // directory entries held by all descriptors, see maxCachedEntries
	closed bool
}

// started is the origin of the default monotonic clock. One second is added to readings, since programs take zero for
// "never".
var started = time.Now()

// NewProcess makes a process; nil options are the defaults. Close it to close the files it opened.
func NewProcess(o *Options) *Process {
	if o == nil {
		o = &Options{}
	}
	p := &Process{
		fs: o.FS, terminal: o.Terminal, rand: o.Rand,
		walltime: o.Walltime, monotonic: o.Monotonic, cputime: o.CPUTime, block: o.Block, shared: o.Shared,
		noWait: o.NoWait, notReady: o.NotReady, forkSources: o.ForkSources,
	}
	p.outside = &outside{p: p, mu: new(sync.Mutex)}
	if p.fs != nil {
		p.fs = outsideFS{p.fs, p.outside}
	}
	if p.rand == nil {
		p.rand = rand.Reader
	}
	if p.walltime == nil {
		p.walltime = time.Now
	}
	if p.monotonic == nil {
		p.monotonic = func() time.Duration { return time.Since(started) + time.Second }
	}
	if p.cputime == nil {
		p.cputime = p.monotonic
	}
	if p.block == nil {
		p.block = func(_ context.Context, f func()) { f() }
	}
	if p.noWait == nil {
		p.noWait = func() bool { return false }
	}
	if p.notReady == nil {
		p.notReady = func() {}
	}
	p.fds.max = o.MaxFiles
	if p.fds.max <= 0 {
		p.fds.max = DefaultMaxFiles
	}
	p.SetArgs(o.Args)
	p.SetEnv(o.Env)
	p.SetStdio(o.Stdin, o.Stdout, o.Stderr)
	if p.fs != nil {
		p.fds.put(rootFD, &file{kind: kindRoot, path: ".", read: true})
	}
	return p
}

// SetArgs replaces the arguments for the calls that follow. An argument ends at its first NUL byte.
func (p *Process) SetArgs(args []string) {
	list := make([]string, len(args))
	for i, a := range args {
		list[i], _, _ = strings.Cut(a, "\x00")
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.args = list
}

// SetEnv replaces the environment ("NAME=value") for the calls that follow. Entries that have no name or hold a NUL
// byte are dropped.
func (p *Process) SetEnv(env []string) {
	var list []string
	for _, e := range env {
		if strings.IndexByte(e, '=') > 0 && strings.IndexByte(e, 0) < 0 {
			list = append(list, e)
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.env = list
}

// SetStdio replaces the standard streams for the calls that follow, and reopens those of descriptors 0-2 that the guest
// has closed, so that one execution cannot take the output of the next.
//
// A writer gets views of guest memory and must not keep them. It should not wait, as it holds up the whole guest; a
// limit of output is the writer's own affair. When it fails with a sys.Errno the guest gets that error, else EIO.
func (p *Process) SetStdio(stdin *Stdin, stdout, stderr io.Writer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stdin, p.stdout, p.stderr = stdin, stdout, stderr
	if p.closed {
		return
	}
	for fd, kind := range []fileKind{kindStdin, kindStdout, kindStderr} {
		if p.fds.get(uint32(fd)) == nil {
			p.fds.put(uint32(fd), &file{kind: kind, read: kind == kindStdin, write: kind != kindStdin})
		}
	}
}

// OpenFiles returns how many descriptors are open besides the standard streams and the root.
func (p *Process) OpenFiles() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for _, f := range p.fds.files {
		if f != nil && f.kind == kindFile {
			n++
		}
	}
	return n
}

// Close closes every descriptor and returns what went wrong in that. Later calls of the guest find no descriptor.
// It must not run while the guest does. The standard streams belong to the caller and stay as they are.
func (p *Process) Close() error {
	p.mu.Lock()
	files := p.fds.files
	p.fds.files, p.cached, p.closed, p.calling = nil, 0, true, nil // a call that was killed is calling still
	p.mu.Unlock()
	var errs []error
	for fd, f := range files {
		if f == nil || f.f == nil || f.borrowed {
			continue
		}
		if e := f.f.Close(); e != 0 {
			errs = append(errs, fmt.Errorf("wasi: close descriptor %d: %w", fd, e))
		}
	}
	return errors.Join(errs...)
}
