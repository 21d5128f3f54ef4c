# expect: error
# Everybody wants to be the one who ends the process.
import os
import threading
import time


def leave(code):
    time.sleep(0.01)
    os._exit(code)


for code in range(1, 20):
    threading.Thread(target=leave, args=(code,)).start()
time.sleep(100)
