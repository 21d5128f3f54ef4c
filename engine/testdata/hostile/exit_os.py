# expect: ok,error
import os

print("before", flush=True)
os._exit(7)
