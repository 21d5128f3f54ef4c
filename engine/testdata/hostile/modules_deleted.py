# expect: ok,error,lost
import sys

sys.modules.clear()
sys.path.clear()
sys.meta_path.clear()
sys.path_hooks.clear()
x = [1, 2, 3]
x
