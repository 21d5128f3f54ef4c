# expect: error
# Reads more than there is.
while True:
    input("anybody? ")
