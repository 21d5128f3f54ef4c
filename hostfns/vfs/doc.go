// Package vfs holds the file systems that guest code sees.
//
// Every file system here implements wazero's experimental/sys.FS, so it can be
// handed to a WASI host layer or mounted directly:
//
//   - [FS] is a read-write POSIX-like file system with quotas, checkpoints to
//     go back to, an O(inodes) copy-on-write [FS.Clone] and a change log. It
//     is in memory, or in a store of content-addressed objects as well, to
//     which its states are committed. It also has a host API ([FS.ReadFile],
//     [FS.WriteFile], [FS.ImportTar], [FS.ExportDir], ...) for the Go side.
//   - [Host] exposes a host directory through [os.Root], read-only unless said.
//   - [FromFS] is a read-only view of an [io/fs.FS], for embedded files.
//   - [Tree] is a mount table that composes the others into one guest root.
//
// # Paths
//
// Guest paths are slash-separated and relative to the root of the file system;
// "." is the root and the empty path does not exist. A leading slash is
// accepted and means the same root. "." and ".." components are handled, and
// ".." never leaves the root. Symbolic links are followed inside the file
// system only: an absolute target starts at the root of the file system, or at
// the root of the [Tree] it is mounted in.
//
// # Permissions
//
// Mode bits are stored and reported, not enforced: a guest is the only user of
// its file system. What must not be written is mounted read-only.
//
// # States
//
// [FS.Checkpoint] and [FS.Rollback] undo what happened in between, in place.
// With [Options.Store], [FS.Commit] adds the objects of the present state to a
// batch that the caller stores, [FS.Committed] confirms that, and [Open] makes
// a file system of a state. A step that lasts is
//
//	fs.Checkpoint()
//	...                       // the guest runs
//	c, err := fs.Commit(&b)   // then store b together with c.Frame
//	fs.Committed()            // or fs.Rollback(), when it was not stored
//
// A state is a chain of frames (see package cas): a keyframe has all inodes
// and names, a delta those that changed. File data is in objects of its own,
// one for each 64 KiB.
//
// # Concurrency
//
// Every type is safe for concurrent use, open files included.
package vfs
