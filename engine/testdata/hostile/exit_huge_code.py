# expect: ok,error
import sys

sys.exit(2**100)
