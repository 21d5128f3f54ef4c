"""Host calls in the template, against canned answers: what they import, specialise and cache is then in the image, and not in
each sandbox that makes a call."""

import asyncio
import json
import sys

from mayfly import _host, _json, _loop, _toolmodules

_PROGRAMS = (
    b"from tools.demo import f\nf(a=1, b='x')\nf(1, 'x')\nf(a=None)",
    b"from tools.demo import f\nprint(f(a=2), end='')\nf(a=3)",
    b"from tools.demo import f\nfor text in 'text', 'none':\n    f(b=text)",
    b"from tools.demo import f\nf(b='fails')",
    b"from tools.demo import f\nawait f.aio(a=1)",
    b"import asyncio\nfrom tools.demo import f\nr = await asyncio.gather(*(f.aio(a=i) for i in range(3)))\nr",
    b"import asyncio\nasync def main():\n    await asyncio.sleep(0)\nasyncio.run(main())",
)

_SERVERS = {"servers": [{"name": "demo", "server": "demo"}]}
_MODULE = {"server": "demo", "version": "1", "doc": "Tools.", "names": ["f", "g"]}
_SPEC = {
    "tools": [
        {
            "server": "demo",
            "tool": "f",
            "name": "f",
            "params": [{"name": "a", "key": "a", "type": "int"}, {"name": "b", "key": "b", "type": "str"}],
            "returns": "bool",
            "doc": "A tool.",
        }
    ]
}


def _encoded(value):
    return json.dumps(value, separators=(",", ":")).encode()  # as the host writes it


def _frame(code, head, body=b""):
    head = _encoded(head)
    return b"".join((code.to_bytes(4, "little"), len(head).to_bytes(4, "little"), head, body))


def _value(value):
    return _frame(0, {"kind": "json"}, _encoded(value))


class _Answers(dict):
    """What the host would answer. A lookup takes the place of _mayfly.call, so that the interpreter specialises its
    callers for a built-in function of one argument, which that is as well."""

    def __init__(self):
        self.started = []

    def __missing__(self, frame):
        end = 8 + int.from_bytes(frame[4:8], "little")
        head = _json.decode(frame[8:end])
        match int.from_bytes(frame[:4], "little"):
            case _host.OP_CALL:
                return self.call(head)
            case _host.OP_START:
                self.started.append(self.call(head))
                return _frame(0, {"id": len(self.started)})
            case _host.OP_WAIT:
                number = next((i for i, answer in enumerate(self.started) if answer), -1) + 1
                if not number:
                    self.started.clear()
                    return _frame(0, {"id": 0})
                answer, self.started[number - 1] = self.started[number - 1], None
                return _frame(0, {"id": number}, answer)
        return _frame(0, {})

    def call(self, head):
        match head["fn"]:
            case "tools.servers":
                return _value(_SERVERS)
            case "tools.module":
                return _value(_MODULE)
            case "tools.spec":
                return _value(_SPEC)
        match head["args"]["args"].get("b"):
            case "text":
                return _frame(0, {"kind": "text"}, b"text")
            case "none":
                return _frame(0, {"kind": "none"})
            case "fails":
                return _frame(1, {"code": "tool_failed", "message": "it failed", "server": "demo", "tool": "f"})
        return _value(True)


# Tasks without a name are numbered, and the first one of a program is to be number 1.
def _unnamed(coro, *, loop, name, context, task=asyncio.Task):
    return task(coro, loop=loop, name=name or "rehearsal", context=context)


def run(execute, times):
    """Calls execute with each program, as often as is said, and leaves nothing of them but what is warm."""
    call, task, policy = _host._call, asyncio.tasks.Task, asyncio.events._event_loop_policy
    _host._call = _Answers().__getitem__
    asyncio.tasks.Task = _unnamed
    try:
        for source in _PROGRAMS * times:
            execute(source)
            for name in ("tools", "tools.demo"):
                sys.modules.pop(name, None)
    finally:
        _loop.close()
        _host._call, asyncio.tasks.Task, asyncio.events._event_loop_policy = call, task, policy
        _host.settle()
        _toolmodules.settle()
