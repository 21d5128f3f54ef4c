# expect: timeout
while True:
    print("never enough")
