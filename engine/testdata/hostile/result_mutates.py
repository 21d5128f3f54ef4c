# expect: ok,error
# Changes while it is being read.
class Evil(dict):
    def __getitem__(self, key):
        self[object()] = 1
        return self


d = Evil(a=1)


class Key:
    def __hash__(self):
        d.clear()
        return 1

    def __str__(self):
        d.update({str(n): n for n in range(100)})
        return "k"

    __repr__ = __str__


d[Key()] = Key()
d
