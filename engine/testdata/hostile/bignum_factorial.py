# expect: timeout,memory_limit,error
import math

math.factorial(10**8)
