# expect: error
raise KeyboardInterrupt
