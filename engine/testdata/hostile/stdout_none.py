# expect: ok,error
import sys

sys.stdout = sys.stderr = sys.stdin = sys.__stdout__ = sys.__stderr__ = None
print("nowhere")
1 / 0
