# expect: timeout
# No bytecode runs in the meantime.
import collections
import itertools

collections.deque(itertools.repeat(None), maxlen=0)
