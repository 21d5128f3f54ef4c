# expect: ok,error
import os

os.makedirs("a/b/c")
for source, target in (("a", "a/b/c/a"), ("a", "a"), ("a/b", "a"), (".", "x"), ("/", "/x"), ("a", "../x"), ("a", "/tmp/../../x"), ("..", "y")):
    try:
        os.rename(source, target)
        print("renamed", source, target)
    except OSError as err:
        print(source, target, type(err).__name__)
for work in (lambda: os.rmdir("/"), lambda: os.rmdir("."), lambda: os.unlink("."), lambda: os.link("a", "a/b/l"), lambda: os.symlink("s", "s"), lambda: open("s").read()):
    try:
        work()
    except (OSError, AttributeError) as err:
        print(type(err).__name__)
