# expect: error,memory_limit
"{:>{width}}".format("x", width=2**31 - 2)
