package vfs

import (
	"io/fs"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tetratelabs/wazero/experimental/sys"

	"github.com/mayfly-run/mayfly/hostfns/cas"
)

// Limits and defaults. Quotas can be set in [Options]; the rest is fixed.
const (
	// DefaultMaxBytes is the workspace size of one session: room for a data set
	// or a build, small enough that a few runaway sandboxes do not exhaust a
	// host. It counts allocated bytes, not logical sizes.
	DefaultMaxBytes int64 = 1 << 30
	// DefaultMaxFiles is the number of names (files, directories, links). At
	// about 300 bytes each it bounds the bookkeeping to some 30 MiB.
	DefaultMaxFiles = 100_000
	// DefaultMaxFileSize is the longest logical size of a file, in bytes. It is
	// ext4's, so that sparse files work as on a disk; the bytes that are really
	// written are bounded by MaxBytes.
	DefaultMaxFileSize int64 = 16 << 40
	// MaxName is the longest name of a directory entry, in bytes.
	MaxName = 255
	// MaxPath is the longest path and the longest symbolic link target, in
	// bytes.
	MaxPath = 4096
	// MaxSymlinks is the number of symbolic links followed in one resolution.
	MaxSymlinks = 40
	// MaxDepth is the number of directories that may be nested. Renames could
	// otherwise build a tree that no path can name.
	MaxDepth = 1024
	// MaxLinks is the number of hard links to one file.
	MaxLinks = 1000
)

// Options configures a [FS]. The zero value means the defaults.
type Options struct {
	// MaxBytes bounds allocated bytes: file data in blocks of 512 bytes to
	// 64 KiB, and symbolic link targets. Default DefaultMaxBytes; negative
	// means no bound.
	MaxBytes int64
	// MaxFiles bounds the names in the file system plus the files that are
	// unlinked but still open. Default DefaultMaxFiles; negative means no bound.
	MaxFiles int
	// MaxFileSize bounds the logical size of a file in bytes. Default
	// DefaultMaxFileSize.
	MaxFileSize int64
	// Device is the device number that Stat reports. Default 1. A [Tree]
	// replaces it so that its mounts differ.
	Device uint64
	// Now returns the time used for time stamps, in nanoseconds since the
	// epoch. Default the wall clock. It is called with the file system locked.
	Now func() int64
	// Store is where file data and states are kept. Default none: everything is in memory, and [FS.Commit] fails. It
	// must keep a state as long as the file system it was opened by, or one of its clones, is in use.
	Store cas.ReadWriter
	// CacheBytes bounds the file data in memory that the store has as well. Default DefaultCacheBytes; negative means no
	// bound.
	CacheBytes int64
	// DirtyBytes bounds the file data in memory that the store does not have: more is put there ahead of the commit.
	// Default DefaultDirtyBytes; negative means no bound.
	DirtyBytes int64
	// Audit is told of every operation of a guest or of the host, in the order in which they take effect. It is called
	// with the file system locked and must not use it. Default none.
	Audit func(Operation)
}

// FS is a POSIX-like file system. It implements wazero's sys.FS.
//
// It is in memory, unless there is a [Options.Store]: then its states can be committed to the store and opened from it,
// and memory holds the names, and of the data what is in use.
//
// All methods are safe for concurrent use; one mutex serialises them. An empty FS without a store costs one small
// allocation, so a host may keep thousands.
//
// Access times are set when a file is made and by utimens only, as on a disk
// mounted noatime.
type FS struct {
	sys.UnimplementedFS

	mu          sync.Mutex
	maxBytes    int64
	maxFiles    int
	maxFileSize int64
	device      uint64
	now         func() int64

	// generation marks the chunks this FS may write in place; a chunk of another
	// generation may belong to a clone or to an earlier state and is copied
	// before a write.
	generation uint64
	nextIno    uint64
	bytes      int64        // allocated
	files      int          // names, plus unlinked files that are open
	symlinks   atomic.Int64 // symbolic links; lets a Tree skip resolution
	log        *changeLog   // nil until the first Mark
	audit      func(Operation)
	disk       *disk               // nil without a store
	orphans    map[*inode]struct{} // without a name, and open or waiting for OpenInode
	byIno      map[uint64]*inode   // nil when unknown

	layers        []*layer // see layer; empty until the first Checkpoint or Commit
	top           *layer   // the last one
	epochs        uint64
	checkpoint    int // layer that begins at the checkpoint
	hasCheckpoint bool

	root inode
}

var generations atomic.Uint64

// New returns an empty file system: a root directory and nothing in it.
// It never fails; nil options are the defaults.
func New(options *Options) *FS {
	m := &FS{
		maxBytes:    DefaultMaxBytes,
		maxFiles:    DefaultMaxFiles,
		maxFileSize: DefaultMaxFileSize,
		device:      1,
		generation:  generations.Add(1),
		nextIno:     2,
	}
	if o := options; o != nil {
		m.maxBytes = bound(o.MaxBytes, DefaultMaxBytes)
		m.maxFiles = int(bound(int64(o.MaxFiles), DefaultMaxFiles))
		if o.MaxFileSize > 0 {
			m.maxFileSize = o.MaxFileSize
		}
		if o.Device != 0 {
			m.device = o.Device
		}
		m.now, m.audit = o.Now, o.Audit
		if o.Store != nil {
			m.disk = newDisk(o)
		}
	}
	m.root.ino = 1
	m.root.mode = fs.ModeDir | 0o755
	m.root.nlink = 2
	m.root.setTimes(m.clock())
	return m
}

// bound turns an option into a limit: zero is the default, negative is none.
func bound(v, def int64) int64 {
	const none = 1 << 62
	switch {
	case v == 0:
		return def
	case v < 0:
		return none
	}
	return v
}

func (m *FS) clock() int64 {
	if m.now != nil {
		return m.now()
	}
	return time.Now().UnixNano()
}

// Usage is what a file system holds and what it may hold.
type Usage struct {
	// Bytes is the number of allocated bytes; MaxBytes its bound.
	Bytes, MaxBytes int64
	// Files is the number of names; MaxFiles its bound. The root is not counted.
	Files, MaxFiles int
}

// Usage returns the current use of the quotas. Chunks shared with a clone count
// in full in both.
func (m *FS) Usage() Usage {
	m.mu.Lock()
	defer m.mu.Unlock()
	return Usage{Bytes: m.bytes, MaxBytes: m.maxBytes, Files: m.files, MaxFiles: m.maxFiles}
}

// hasLinks implements linkProber for Tree: resolution may be skipped while
// there are no symbolic links.
func (m *FS) hasLinks(string, bool) bool { return m.symlinks.Load() > 0 }

// SetLimits replaces MaxBytes and MaxFiles as Options has them. What is there already stays, be it more.
func (m *FS) SetLimits(maxBytes int64, maxFiles int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.maxBytes, m.maxFiles = bound(maxBytes, DefaultMaxBytes), int(bound(int64(maxFiles), DefaultMaxFiles))
}
