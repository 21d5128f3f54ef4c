// Package vfs holds the file systems that guest code sees.
//
// Every file system here implements wazero's experimental/sys.FS, so it can be
// handed to a WASI host layer or mounted directly:
//
//   - [FS] is a read-write POSIX-like file system in memory with quotas, an
//     O(inodes) copy-on-write [FS.Clone] and a change log. It also has a
//     host API ([FS.ReadFile], [FS.WriteFile], [FS.ImportTar], ...)
//     for the Go side.
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
// # Concurrency
//
// Every type is safe for concurrent use, open files included.
package vfs
