# expect: ok,error,memory_limit
class Evil:
    def __repr__(self):
        return "r" * (200 << 20)


Evil()
