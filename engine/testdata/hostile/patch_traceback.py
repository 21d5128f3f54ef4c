# expect: error
import linecache
import sys
import traceback

traceback.print_exc = traceback.format_exception = traceback.TracebackException = linecache.getline = None
linecache.cache = None
sys.tracebacklimit = -5
1 / 0
