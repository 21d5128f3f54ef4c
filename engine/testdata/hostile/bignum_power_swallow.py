# expect: timeout
while True:
    try:
        10**10**8
    except BaseException:
        pass
