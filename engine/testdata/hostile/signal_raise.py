# expect: ok,error,lost
import signal

for name in ("SIGINT", "SIGTERM", "SIGSEGV", "SIGABRT", "SIGKILL"):
    number = getattr(signal, name, None)
    if number is not None:
        try:
            signal.raise_signal(number)
        except (OSError, ValueError, KeyboardInterrupt, AttributeError) as err:
            print(name, type(err).__name__)
