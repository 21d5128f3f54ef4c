# expect: ok,error,timeout,lost
# An audit hook stays for ever, so it must die with the sandbox.
import sys


def hook(event, args):
    raise RuntimeError(event)


sys.addaudithook(hook)
7
