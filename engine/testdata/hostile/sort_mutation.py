# expect: ok,error
class Key:
    def __init__(self, n):
        self.n = n

    def __lt__(self, other):
        numbers.clear()
        numbers.extend(range(10))
        return NotImplemented if self.n % 3 == 0 else True


numbers = [Key(n) for n in range(1_000)]
try:
    numbers.sort()
except (ValueError, TypeError) as err:
    print(type(err).__name__)
