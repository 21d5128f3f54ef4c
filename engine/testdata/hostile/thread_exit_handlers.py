# expect: timeout,memory_limit
# Each exit of a thread is the beginning of another one, and the main thread never sees the end.
import sys
import threading
import weakref


class Local(threading.local):
    def __del__(self):
        threading.Thread(target=work).start()


local = Local()


class Phoenix:
    def __del__(self):
        t = threading.Thread(target=work)
        weakref.finalize(t, work)
        t.start()


def work():
    local.x = Phoenix()
    sys.exit(Phoenix())


threading.Thread(target=work).start()
