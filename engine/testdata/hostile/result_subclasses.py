# expect: ok,error,timeout,memory_limit
class Text(str):
    def __str__(self):
        raise ValueError

    def encode(self, *args):
        raise ValueError

    __iter__ = __len__ = __str__


class Number(int):
    def __repr__(self):
        return "not a number"

    __int__ = __index__ = __float__ = __repr__


class Mapping(dict):
    def items(self):
        while True:
            yield "k", "v"

    def __iter__(self):
        return self.items()

    keys = values = items


class Sequence(list):
    def __iter__(self):
        while True:
            yield self

    def __len__(self):
        return 2**40


[Text("t"), Number(5), Mapping(a=1), Sequence([1])]
