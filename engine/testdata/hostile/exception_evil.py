# expect: error
class Evil(Exception):
    def __str__(self):
        raise Evil

    __repr__ = __str__
    __cause__ = property(lambda self: self)
    __context__ = property(lambda self: 1 / 0)
    __notes__ = property(lambda self: [self] * 10)
    args = 5


raise Evil
