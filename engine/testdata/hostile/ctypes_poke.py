# expect: ok
for name in ("ctypes", "_ctypes", "cffi", "mmap", "_testcapi", "_testinternalcapi", "fcntl", "resource", "_xxsubinterpreters", "_interpreters"):
    try:
        module = __import__(name)
    except ImportError as err:
        print(err)
        continue
    if name == "ctypes":
        try:
            module.string_at(0)
        except Exception as err:
            print(type(err).__name__)
