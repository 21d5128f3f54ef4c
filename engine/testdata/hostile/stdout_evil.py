# expect: timeout,error
import sys


class Evil:
    def write(self, text):
        while True:
            try:
                while True:
                    pass
            except BaseException:
                pass

    flush = write
    encoding = property(lambda self: 1 / 0)

    def __getattr__(self, name):
        return self.write


sys.stdout = sys.stderr = Evil()
print("x")
