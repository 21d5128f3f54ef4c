# expect: ok,error,timeout,memory_limit
class Again:
    def __del__(self):
        Again()


Again()
