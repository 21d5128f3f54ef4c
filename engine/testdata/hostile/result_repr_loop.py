# expect: timeout,ok,error
class Evil:
    def __repr__(self):
        while True:
            try:
                while True:
                    pass
            except BaseException:
                pass


Evil()
