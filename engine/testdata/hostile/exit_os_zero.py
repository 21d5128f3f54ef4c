# expect: ok,error
import os

os._exit(0)
