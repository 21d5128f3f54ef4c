# expect: timeout
def spin():
    try:
        while True:
            pass
    finally:
        spin()


spin()
