# expect: ok,error
class Evil:
    def __repr__(self):
        return 5

    __class__ = property(lambda self: 1 / 0)


Evil()
