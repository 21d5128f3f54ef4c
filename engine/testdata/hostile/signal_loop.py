# expect: timeout,error
import signal

for number in range(1, 32):
    try:
        signal.signal(number, lambda *args: None)
    except (OSError, ValueError, AttributeError):
        pass
while True:
    try:
        while True:
            pass
    except KeyboardInterrupt:
        pass
