# expect: error,lost
import os

os.abort()
