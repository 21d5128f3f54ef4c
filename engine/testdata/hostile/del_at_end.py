# expect: ok,error,timeout
# Left over at the end of the program.
class Late:
    def __del__(self):
        print("late")
        while True:
            pass


late = Late()
late.loop = late
