"""Runs modules of CPython's own test suite and prints one JSON line for each.

    runner.py [--root DIR] [--match TEXT] [--verbose] MODULE...

DIR (/cpython unless said otherwise, and only if it is there) is the parent of a directory "test" that holds CPython's
Lib/test; nothing else of Lib should be in it, so that the interpreter under test keeps its own standard library.
MODULE is a name inside that package, such as test_json or test_json.test_decode. Tests write to the current directory.

test.support takes it for granted that WASI has no threads, that an event loop needs sockets, and that a thread takes a
hundred megabytes. It is otherwise here: threads are on, and a module is not skipped as a whole for the lack of sockets.
Those of its tests that use one fail; tests and classes that say that they need one are skipped.

What regrtest does for one module is done here without regrtest, which needs processes: the module is loaded and run by
unittest with all optional resources off (network, largefile, cpu, ...) and its output is swallowed.
"""

import gc
import importlib.util
import io
import json
import os
import sys
import time
import traceback
import unittest
import warnings

MESSAGE_LIMIT = 300  # characters of an exception kept for each failed test
LIST_LIMIT = 200  # failed tests and skip reasons kept for each module


class Tee(io.StringIO):
    """Keeps what is written, and shows it."""

    def __init__(self, stream):
        super().__init__()
        self.stream = stream

    def write(self, text):
        self.stream.write(text)
        return super().write(text)


def clip(text):
    text = " ".join(str(text).split())
    return text if len(text) <= MESSAGE_LIMIT else text[: MESSAGE_LIMIT - 3] + "..."


def describe(err):
    """The exception's own line of a traceback, given sys.exc_info()."""
    lines = traceback.format_exception_only(err[0], err[1])
    return clip(lines[-1] if lines else repr(err[1]))


class Result(unittest.TestResult):
    """Counts outcomes by test; a test with several failed subtests is one failed test."""

    def __init__(self, output):
        super().__init__()
        self.output = output
        self.before = 0  # characters of it that are older than the test
        self.failed = {}  # test id -> {"kind", "message"}
        self.reasons = {}  # reason -> skipped tests
        self.passed = 0
        self.skipped_tests = 0
        self.expected = 0
        self.plain = False
        self.module_skip = None

    def startTest(self, test):
        super().startTest(test)
        self.plain = True  # until something else than success is reported
        self.before = 0 if self.output.closed else self.output.tell()

    def stopTest(self, test):
        super().stopTest(test)
        self.passed += self.plain

    def _fail(self, test, kind, message):
        self.plain = False
        name = test.id()
        known = self.failed.get(name)
        if known is None or (known["kind"] == "failure" and kind == "error"):
            self.failed[name] = {"kind": kind, "message": message}

    # The tracebacks that the base class would format and keep are not wanted: a module can have thousands.
    def addError(self, test, err):
        message = describe(err)
        if err[0].__name__ == "DeadlockError" and not self.output.closed:
            # Mostly because another thread has failed, and its output is all that there is to see of it.
            if output := self.output.getvalue()[self.before :].strip():
                message = clip("deadlock after: " + output.splitlines()[-1])
        self._fail(test, "error", message)

    def addFailure(self, test, err):
        self._fail(test, "failure", describe(err))

    def addSubTest(self, test, subtest, err):
        if err is not None:
            kind = "failure" if issubclass(err[0], test.failureException) else "error"
            self._fail(test, kind, describe(err))

    def addSkip(self, test, reason):
        reason = clip(reason)
        if not isinstance(test, unittest.TestCase):  # setUpModule or setUpClass said so
            self.module_skip = reason
        # A test with a skipped subtest still ran.
        if not isinstance(test, unittest.case._SubTest):
            self.skipped_tests += 1
            self.plain = False
        if reason in self.reasons or len(self.reasons) < LIST_LIMIT:
            self.reasons[reason] = self.reasons.get(reason, 0) + 1

    def addExpectedFailure(self, test, err):
        self.expected += 1
        self.plain = False

    def addUnexpectedSuccess(self, test):
        self._fail(test, "failure", "unexpected success")


def select(suite, text):
    """The tests of suite whose id contains text."""
    chosen = unittest.TestSuite()
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            chosen.addTest(select(test, text))
        elif text in test.id():
            chosen.addTest(test)
    return chosen


def threadtest(size):
    """The decorator for tests whose "memuse" is that of a thread, with what is run by each."""

    def decorate(test):
        return lambda self: test(self, size)

    return decorate


def run_module(name, match=""):
    """Loads and runs one module. Returns what is to be printed."""
    out = {"module": name, "status": "error", "run": 0, "passed": 0}
    out |= {"failures": 0, "errors": 0, "skipped": 0, "reason": ""}
    started = time.perf_counter()
    result = Result(sys.stderr)
    try:
        try:
            module = importlib.import_module("test." + name)
            loader = unittest.TestLoader()
            suite = loader.loadTestsFromModule(module)
            if loader.errors:
                out["reason"] = clip(loader.errors[0].strip().splitlines()[-1])
                return out
        except unittest.SkipTest as skip:
            out["status"] = "skipped"
            out["reason"] = clip(skip)
            return out
        if match:
            suite = select(suite, match)
        with warnings.catch_warnings():
            suite.run(result)
    except KeyboardInterrupt:
        out["reason"] = "interrupted"
    except BaseException as err:  # a module that raises SystemExit must not end the run either
        out["reason"] = describe((type(err), err, None))
    finally:
        out["seconds"] = round(time.perf_counter() - started, 3)
    errors = sum(1 for f in result.failed.values() if f["kind"] == "error")
    out["run"] = result.testsRun
    out["passed"] = result.passed
    out["failures"] = len(result.failed) - errors
    out["errors"] = errors
    out["skipped"] = result.skipped_tests
    if result.expected:
        out["expected_failures"] = result.expected
    if result.failed:
        out["failed_tests"] = [{"test": test, **result.failed[test]} for test in sorted(result.failed)[:LIST_LIMIT]]
    if result.reasons:
        out["skip_reasons"] = dict(sorted(result.reasons.items()))
    if out["reason"]:
        return out  # it ended early: "error"
    if result.failed:
        out["status"] = "failed"
        out["reason"] = out["failed_tests"][0]["message"]
    elif result.passed + result.expected > 0:
        out["status"] = "passed"
    else:
        # All tests were skipped, or there were none.
        out["status"] = "skipped"
        out["reason"] = result.module_skip or max(result.reasons, key=result.reasons.get, default="no tests")
    return out


def main(args):
    root, match, verbose = "/cpython", "", False
    while args and args[0].startswith("--"):
        option = args.pop(0)
        if option == "--root":
            root = args.pop(0)
        elif option == "--match":
            match = args.pop(0)
        elif option == "--verbose":
            verbose = True
        else:
            print("unknown option " + option, file=sys.stderr)
            return 2
    if not args:
        print(__doc__, file=sys.stderr)
        return 2
    init = os.path.join(root, "test", "__init__.py")
    if os.path.exists(init):
        # Imported by hand: it works where a mount's parent cannot be listed, and nothing else can be found instead.
        sys.path.insert(0, root)
        spec = importlib.util.spec_from_file_location("test", init, submodule_search_locations=[os.path.dirname(init)])
        sys.modules["test"] = package = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(package)

    from test import support
    from test.support import threading_helper

    support.use_resources = ()
    support.verbose = 0
    threading_helper.can_start_thread = True
    working_socket, bigmemtest = support.requires_working_socket, support.bigmemtest
    support.requires_working_socket = lambda *, module=False: None if module else working_socket()
    support.bigmemtest = lambda size, memuse, **dry: bigmemtest(size, memuse, **dry) if memuse < 2**20 else threadtest(size)

    stdout, stderr = sys.stdout, sys.stderr
    for name in args:
        swallowed = Tee(stdout) if verbose else io.StringIO()
        sys.stdout = sys.stderr = swallowed
        support.record_original_stdout(swallowed)
        try:
            out = run_module(name, match)
        finally:
            sys.stdout, sys.stderr = stdout, stderr
        stdout.write(json.dumps(out) + "\n")
        stdout.flush()
        gc.collect()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
