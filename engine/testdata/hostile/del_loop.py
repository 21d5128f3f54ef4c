# expect: timeout
class Undying:
    def __del__(self):
        while True:
            try:
                while True:
                    pass
            except BaseException:
                pass


Undying()
