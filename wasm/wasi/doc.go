// Package wasi serves WASI preview 1 to guests whose module instance is shared by many sandboxes over time.
//
// wazero's own WASI keeps its file descriptors, arguments and clocks in the module instance. Here an instance is only a
// warm worker into which the memory of one sandbox after another is swapped, so that state would leak from one to the
// next. This package keeps all of it in a [Process], one for each sandbox, and finds the Process of a call through
// the context of the call.
//
// # Trust
//
// Everything a guest passes is hostile. Each pointer is checked, no allocation follows a length given by the guest
// without a bound, and no input makes a function panic, except that proc_exit panics with an [*ExitError] by design.
// The guest must have a memory; calling without one is an error of the host.
//
// # Waiting
//
// Only fd_read of standard input and poll_oneoff wait. They end early when the context of the call is done: a sleep
// succeeds then, since wasi-libc reports an interrupted one as ENOTSUP, and the guest is expected to look at its interrupt
// flag; a read of standard input fails with EINTR. No lock is held and no view of guest memory is kept while they wait, so
// other calls may run on the same instance meanwhile; see [Options.Block].
//
// # Restarts
//
// A guest's memory may be saved and go on in another process. What it knows of files are its descriptors, and of a
// directory that it lists the cookie of fd_readdir; [Process.Files] and [Process.Reopen] bring both along. A file that is no
// longer there fails with ESTALE. Listings are sorted by name, so that a cookie means the same in another process and a
// program that runs again meets the same order.
//
// # Deviations from POSIX and WASI
//
// Paths are resolved lexically: "a/../b" is "b" even if "a" does not exist or is a symbolic link. An absolute path, and
// ".." at the root, mean the root of the process as they do in a chroot. A directory descriptor remembers its path, so
// after a rename of that directory it resolves names at the old place. The pre-opened root (descriptor 3) cannot be
// closed or renumbered, because wasi-libc remembers it for the whole life of a memory and a session that lost it
// could never open a file again. Rights are reported, as fcntl(F_GETFL) needs them, but not enforced beyond reading and
// writing.
package wasi
