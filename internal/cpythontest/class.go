package cpythontest

import "strings"

// Class says in a word why a test was skipped or failed.
type Class string

// The first ones are properties of the sandbox, the later ones of the test or of the machine.
const (
	NoSubprocess Class = "no-subprocess"
	NoThreads    Class = "no-threads"
	NoSockets    Class = "no-sockets"
	NoSignals    Class = "no-signals"
	Filesystem   Class = "filesystem"
	NoModule     Class = "no-module" // a module that the guest was built without
	Frozen       Class = "frozen"    // the standard library is in the guest, not in files
	Recursion    Class = "recursion"
	Timeout      Class = "timeout"
	Resource     Class = "resource" // memory, or a resource of the test suite that is off
	Platform     Class = "platform" // about another system, build, locale or interpreter
	Other        Class = "other"
)

// The first rule with a word in the message wins, so the order matters. Words are in lower case.
var classes = []struct {
	class Class
	words []string
}{
	{NoSubprocess, []string{
		"subprocess", "does not support processes", "'fork'", "os.fork", "os.exec", "os.spawn", "os.popen", "'popen'",
		"os.pipe", "'pipe'", "multiprocessing", "'waitpid'", "'spawn", "'system'", "posix_spawn", "interpreters",
		"processpool",
	}},
	{NoThreads, []string{"threading support", "start new thread"}},
	{NoSockets, []string{
		"socket", "getaddrinfo", "network", "'select'", "poll(", "could not bind", "getsockname", "getpeername", "getnameinfo", "'sendto'",
		"'connect'", "so_reuse", "ipv6",
	}},
	{NoSignals, []string{"signal", "sigint", "sigalrm", "setitimer", "'kill'", "faulthandler", "os.kill"}},
	// "No module named" comes before words that module names contain.
	{NoModule, []string{
		"no module named", "cannot import name", "_testcapi", "_testlimitedcapi", "_testinternalcapi", "ndarray object required",
		"openssl", "module is needed", "requires the c ", "hypothesis", "numpy", "tzdata not installed", "need the ",
	}},
	{Frozen, []string{"frozen", "could not get source", "installed location"}},
	{Timeout, []string{"timeouterror", "timed out", "time limit", "deadline exceeded", "timeout"}},
	{Recursion, []string{"recursion", "stack overflow"}},
	{Filesystem, []string{
		"filenotfounderror", "permissionerror", "fileexistserror", "notadirectory", "isadirectory", "oserror",
		"symlink", "link(", "hard link", "readlink", "chmod", "chown", "fwalk", "chdir", "umask", "dup2", "'dup'", "os.dup", "mkfifo", "fifo",
		"file system", "filesystem", "xattr", "extended attribute", "sendfile", "[errno", "/dev/", "/proc", "st_mode", "root", "tty", "truncate", "mmap",
	}},
	{Resource, []string{"resource", "memoryerror", "memory_limit", "memory limit", "not enough memory", "bigmem"}},
	{Platform, []string{
		"windows", "win32", "macos", "mac os", "darwin", "android", "posix", "freebsd", "solaris", "aix", "linux", "wasi", "emscripten",
		"locale", "debug build", "cpython", "jit", " gil", "requires build", "timezone", "tzset", "docstrings", "platform",
		"musl", "code pages", "_getfinalpathname", "getuid", "getgid", "termios", "timerfd", "getrandom", "to be missing",
		"thread_time", "getcpuclockid", "pthread-stubs",
		"read-only type", "gettotalrefcount", "unixy", "64-bit", "32-bit",
	}},
}

// Classify sorts a skip reason, an exception or an engine's message into a class. It goes by words, so it is a guide
// for readers of the baseline, not a proof.
func Classify(message string) Class {
	message = strings.ToLower(message)
	for _, c := range classes {
		for _, word := range c.words {
			if strings.Contains(message, word) {
				return c.class
			}
		}
	}
	return Other
}
