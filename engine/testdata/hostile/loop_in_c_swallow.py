# expect: timeout
import itertools

while True:
    try:
        sum(itertools.count())
    except BaseException:
        continue
