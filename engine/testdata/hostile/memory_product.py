# expect: error,memory_limit,timeout
import itertools

list(itertools.product(range(1000), repeat=1000))
