# expect: ok,error
1 << 1_000_000
