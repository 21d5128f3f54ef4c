# expect: error,lost
import builtins

builtins.__dict__.clear()
print("gone")
