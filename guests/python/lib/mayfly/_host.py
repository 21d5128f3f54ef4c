"""Calls of the host: how a program's tools, models and secrets are asked for. hostfns/protocol.go describes the frames."""

import _mayfly
import asyncio
from json import JSONDecoder
from json.encoder import c_make_encoder, encode_basestring

from mayfly import _arguments, _values

OP_CALL, OP_START, OP_WAIT, OP_WAKE, OP_CANCEL = 1, 2, 3, 4, 5

# Bound early: the program may replace any of these.
_call = _mayfly.call
_scan = JSONDecoder().scan_once
_join, _str, _len, _isinstance = "".join, str, len, isinstance
_from_bytes, _to_bytes = int.from_bytes, int.to_bytes
_running_loop = asyncio.get_running_loop

_MAX_HEAD = 16 << 20  # of guests/README.md
_MAX_FRAME = 64 << 20
_START = b"\1\0\0\0"

_UNAVAILABLE = {
    "code": "unavailable",
    "message": "this sandbox has no host functions",
    "hint": "tools, models, HTTP and secrets are for whoever starts the sandbox to give: see mayfly run --help",
}
_ENDED = {
    "code": "cancelled",
    "message": "the execution in which the call was made has ended, and the call with it",
    "hint": "await what was started before the code ends, or call again",
}


class HostError(RuntimeError):
    """A call of the host failed.

    code says why, in one word; message and hint are for people. data is more about it, perhaps None. retry_after is the
    time in seconds after which to try again, if that is known. retryable tells that it is safe to call again.
    server and tool name the tool that was called, if it was one.
    """

    __module__ = "mayfly"

    def __init__(
        self, message="", *, code="server_error", hint=None, data=None, retry_after=None, retryable=False, server=None, tool=None
    ):
        super().__init__(message)
        self.message, self.code, self.hint, self.data = message, code, hint, data
        self.retry_after, self.retryable, self.server, self.tool = retry_after, retryable, server, tool

    @classmethod
    def of(cls, head):
        """Returns the error that the head of an answer describes."""
        code = head.get("code") or "server_error"
        return cls(
            head.get("message") or "the host failed",
            code=code,
            hint=head.get("hint") or (_UNAVAILABLE["hint"] if code == "unavailable" else None),
            data=head.get("data"),
            retry_after=head.get("retry_after"),
            retryable=head.get("retryable", False),
            server=head.get("server"),
            tool=head.get("tool"),
        )

    def __str__(self):
        return self.message

    def __reduce__(self):
        return _rebuild, (type(self), dict(self.__dict__), self.args)

    @property
    def mayfly_hint(self):
        return self.hint


def _rebuild(cls, fields, args):
    exc = cls.__new__(cls, *args)
    exc.__dict__.update(fields)
    return exc


# ---- frames

_encode = c_make_encoder(None, _arguments.refuse, encode_basestring, None, ":", ",", False, False, False)


def _encoded(value):
    """Returns arguments as UTF-8 of JSON."""
    try:
        return _join(_encode(value, 0)).encode()
    except (TypeError, ValueError, RecursionError, OverflowError):
        pass
    # The rare things: what has to be converted, and what cannot be sent.
    value = _arguments.plain(value)
    return _join(_encode(value, 0)).encode()


def _frame(op, head, body=b"", error=HostError):
    n = _len(head)
    if n > _MAX_HEAD:
        raise error.of({"code": "too_large", "message": f"the arguments have {n:,} bytes, the host takes {_MAX_HEAD:,}"})
    return b"".join((op, _to_bytes(n, 4, "little"), head, body))


def head_of(fn, args):
    """Returns the head of a call."""
    return b"".join((b'{"fn":', _encoded(fn), b',"args":', _encoded(args), b"}"))


def exchange(frame, error):
    """Sends a frame, and returns the answer."""
    try:
        answer = _call(frame)
        if _len(answer) >= 8:
            return answer
        head = {"code": "server_error", "message": "the host's answer is no frame"}
    except ValueError as exc:
        head = _refused(exc, frame)
    except TimeoutError:
        raise  # the time limit of the execution
    except OSError as exc:
        head = {"code": "server_error", "message": _str(exc)}
    raise error.of(head)


def _refused(exc, frame):
    if "not a frame" not in _str(exc):
        return {"code": "too_large", "message": f"the call has {_len(frame):,} bytes, the host takes {_MAX_FRAME:,}"}
    return _UNAVAILABLE


def parse(answer, at, error):
    """Returns the value of an answer, which begins at an offset of bytes; or raises error."""
    start = at + 8
    end = start + _from_bytes(answer[at + 4 : start], "little")
    head = answer[start:end]
    if answer[at] == 0:
        if head == b'{"kind":"json"}':
            return _json_value(answer, end, error)
        if head == b'{"kind":"text"}':
            return _str(memoryview(answer)[end:], "utf-8", "replace")
    return parse_whole(answer, at, error)[1]


def parse_whole(answer, at, error):
    """Like parse, but returns the kind of the value as well, and the further fields that it came with, if any."""
    start = at + 8
    end = start + _from_bytes(answer[at + 4 : start], "little")
    head = _scan(_str(answer[start:end], "utf-8", "replace"), 0)[0]
    if answer[at] != 0:
        raise error.of(head)
    kind = head.get("kind", "none")
    if kind == "json":
        value = _json_value(answer, end, error)
    elif kind == "text":
        value = _str(memoryview(answer)[end:], "utf-8", "replace")
    elif kind == "bytes":
        value = answer[end:]
    elif kind == "blocks":
        value = _values.blocks(head["blocks"], answer, end)
    elif kind == "handle":
        value = _values.LargeResult(head)
    else:
        value = None
    return kind, value, head.get("head")


def _json_value(answer, at, error):
    try:
        return _scan(_str(memoryview(answer)[at:], "utf-8"), 0)[0]
    except RecursionError:
        problem = "is nested too deeply"
    except (ValueError, StopIteration) as exc:
        problem = f"cannot be read: {exc}"
    raise error.of({"code": "invalid_result", "message": f"the result {problem}"})


# ---- calls


def call(fn, args, body=b"", error=HostError):
    """Calls a function of the host and waits for its value. error is HostError or a class made from it."""
    return send(head_of(fn, args), body, error)


def send(head, body, error):
    """Like call, for a head that is made already."""
    return parse(exchange(_frame(_START, head, body, error), error), 0, error)


def request(fn, args, body=b"", error=HostError):
    """Like call, but returns (kind, value, further fields or None)."""
    return parse_whole(exchange(_frame(_START, head_of(fn, args), body, error), error), 0, error)


async def call_async(fn, args, body=b"", error=HostError):
    """Like call, but other tasks go on meanwhile. When the task is cancelled, so is the call."""
    return await send_async(head_of(fn, args), body, error)


async def send_async(head, body, error):
    """Like call_async, for a head that is made already."""
    loop = _running_loop()
    waits = getattr(loop, "host_calls", None)
    if waits is None:  # a loop of the program's own
        return await loop.run_in_executor(None, send, head, body, error)
    future, number = waits.start(loop, head, body, error)
    try:
        answer, at = await future
    except BaseException:
        waits.cancel(number)
        raise
    if answer is None:
        raise error.of(_ENDED)
    return parse(answer, at, error)


# ---- calls of an event loop


def _tell(frame):
    """Sends a frame whose answer does not matter."""
    try:
        _call(frame)
    except ValueError:
        pass  # there is no host, so there is nothing to tell


_waiting = set()  # the Calls that have some under way
_queues = 0
_MAX_QUEUES = 1 << 20
_START_OP, _WAIT_OP, _WAKE_OP, _CANCEL_OP = (_to_bytes(op, 4, "little") for op in (OP_START, OP_WAIT, OP_WAKE, OP_CANCEL))
_MAX_NS = (1 << 63) - 1


class Calls:
    """The calls that the tasks of one event loop wait for."""

    __slots__ = ("pending", "lost", "_tail", "_queue", "_idle", "_skip", "__weakref__")

    def __init__(self):
        self.pending = {}  # futures by the host's number of the call
        self.lost = []  # futures of calls that the host does not know any more
        self._tail = self._queue = None
        self._idle = self._skip = 0

    def start(self, loop, head, body, error):
        """Starts a call. Returns a future of its answer, a pair of bytes and offset, and its number."""
        if self._tail is None:
            global _queues
            _queues = (_queues + 1) % _MAX_QUEUES
            self._queue = b'{"queue":%d' % _queues
            self._tail = b',"queue":%d}' % _queues
        answer = exchange(_frame(_START_OP, head[:-1] + self._tail, body, error), error)
        end = 8 + _from_bytes(answer[4:8], "little")
        told = _scan(_str(answer[8:end], "utf-8"), 0)[0]
        if answer[0]:
            raise error.of(told)
        number, future = told["id"], loop.create_future()
        self.pending[number] = future
        _waiting.add(self)
        return future, number

    def cancel(self, number):
        """Forgets a call that is still under way, and has the host end it."""
        if self.pending.pop(number, None) is not None:
            if not self.pending:
                _waiting.discard(self)
            _tell(_frame(_CANCEL_OP, b'{"id":%d}' % number))

    def wait(self, timeout):
        """Waits for calls to end, timeout seconds at most, or without end if it is None. Returns pairs of a future and an
        answer; none when the time was over or wake came."""
        if self.lost:
            return self._lost()
        if timeout is not None and timeout <= 0:
            # A loop that is busy asks less and less often.
            if self._skip < self._idle:
                self._skip += 1
                return []
            self._skip, ns = 0, 0
        else:
            ns = -1 if timeout is None else min(int(timeout * 1e9) + 1, _MAX_NS)
        done, pending = [], self.pending
        while True:
            answer = _call(_frame(_WAIT_OP, b'%b,"timeout_ns":%d}' % (self._queue, ns)))
            end = 8 + _from_bytes(answer[4:8], "little")
            if answer[0]:  # the host has no answers any more
                self.lose()
                _waiting.discard(self)
                return done + self._lost()
            number = _scan(_str(answer[8:end], "utf-8"), 0)[0]["id"]
            if number == 0:
                break
            ns = 0
            # It is not there any more when its task was cancelled meanwhile.
            if (future := pending.pop(number, None)) is not None:
                done.append((future, (answer, end)))
                if not pending:
                    _waiting.discard(self)
                    break
        if done or ns:
            self._idle = 0
        else:
            self._idle = min(2 * self._idle + 1, 63)
        return done

    def wake(self):
        """Ends the present wait, or the next one. For other threads."""
        _tell(_frame(_WAKE_OP, self._queue + b"}"))

    def _lost(self):
        lost, self.lost = self.lost, []
        return [(future, (None, 0)) for future in lost]

    def lose(self):
        """Ends all calls without an answer."""
        self.lost += self.pending.values()
        self.pending.clear()

    def close(self):
        """Cancels all calls, when the loop is closed."""
        for number in list(self.pending):
            self.cancel(number)
        self.lost.clear()


#: The number of the present execution in this sandbox, in a list.
execution = [0]


def begin():
    """An execution begins. Calls of others have ended with them, or never were, as far as the host knows: the memory may be
    that of an earlier step, or a copy."""
    execution[0] += 1
    if _waiting:
        for calls in list(_waiting):
            calls.lose()
        _waiting.clear()


def settle():
    """Moves what each execution changes to the objects that are made now."""
    global execution, _waiting, _queues
    execution, _waiting, _queues = [0], set(), 0
