# expect: ok,error,timeout
import sys


class Finder:
    def find_spec(self, name, path=None, target=None):
        raise SystemExit(4)


sys.meta_path.insert(0, Finder())
sys.path_importer_cache.clear()
5
