# expect: timeout
# Threads that do nothing but wake each other.
import threading

condition = threading.Condition()


def play():
    while True:
        with condition:
            condition.notify_all()
            condition.wait(0.0001)


threads = [threading.Thread(target=play) for _ in range(100)]
for t in threads:
    t.start()
for t in threads:
    t.join()
