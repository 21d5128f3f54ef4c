# expect: timeout,memory_limit,error
import sys

sys.set_int_max_str_digits(0)
print(len(str(1 << 400_000_000)))
