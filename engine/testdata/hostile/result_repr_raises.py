# expect: ok,error
class Evil:
    def __repr__(self):
        raise SystemExit(3)


[Evil(), Evil()]
