# expect: timeout
import sys

m = sys.monitoring
m.use_tool_id(0, "evil")


def hook(*args):
    while True:
        try:
            while True:
                pass
        except BaseException:
            pass


for event in (m.events.RAISE, m.events.PY_UNWIND, m.events.EXCEPTION_HANDLED):
    m.register_callback(0, event, hook)
m.set_events(0, m.events.RAISE | m.events.PY_UNWIND | m.events.EXCEPTION_HANDLED)
while True:
    pass
