"""Compiles the standard library and the time zones into one blob of frozen modules.

genfrozen.py LIB SYSCONFIGDATA ZONEINFO OUTDIR -> OUTDIR/blob.bin, frozen.c, blob.S

Run it in a fresh interpreter with a fixed PYTHONHASHSEED: marshal marks an object for sharing when it has more than one
reference, so what else the process did before would show in the bytes.
"""
import marshal
import os
import sys

EXCLUDE_DIRS = {
    'test', 'tests', 'idlelib', 'tkinter', 'turtledemo', 'ensurepip', 'venv', 'curses', '__phello__', 'ctypes', 'msilib',
    'lib2to3', '__pycache__', 'site-packages', 'dist-packages', 'idle_test', 'bundled', 'lib-dynload', 'pydoc_data',
}
EXCLUDE_FILES = {
    'turtle.py', 'antigravity.py', '_ios_support.py', '_apple_support.py', '_android_support.py',
    '_osx_support.py', '_aix_support.py',
}
# CPython freezes these itself.
EXCLUDE_MODULES = {'importlib._bootstrap', 'importlib._bootstrap_external', 'zipimport'}
LIB_PATH = '/usr/lib/python3.13/'

TZDATA = '''\
"""The IANA time zones (Debian's tzdata), frozen into the interpreter. Used by zoneinfo."""
_data = {data!r}
_keys = {keys!r}
_index = None

def _load():
    global _index
    _index = {{}}
    for line in _keys.split("\\n"):
        key, offset, size = line.split()
        _index[key] = (int(offset), int(size))
    return _index

def keys():
    return (_index or _load()).keys()

def get(key):
    place = (_index or _load()).get(key)
    return None if place is None else _data[place[0]:place[0] + place[1]]
'''


def sources(base):
    for folder, dirs, files in os.walk(base):
        dirs[:] = sorted(d for d in dirs if d not in EXCLUDE_DIRS)
        for name in sorted(files):
            if not name.endswith('.py') or name in EXCLUDE_FILES:
                continue
            path = os.path.join(folder, name)
            rel = os.path.relpath(path, base)
            module, package = rel[:-3].replace('/', '.'), 0
            if module.endswith('.__init__'):
                module, package = module[:-9], 1
            if module in EXCLUDE_MODULES:
                continue
            with open(path, 'rb') as f:
                yield module, package, LIB_PATH + rel, f.read()


def tzdata(base):
    data, seen, keys = bytearray(), {}, []
    for folder, dirs, files in os.walk(base):
        dirs[:] = sorted(d for d in dirs if not (folder == base and d in ('right', 'posix')))
        for name in sorted(files):
            path = os.path.join(folder, name)
            with open(path, 'rb') as f:
                zone = f.read()
            key = os.path.relpath(path, base)
            if not zone.startswith(b'TZif') or key in ('localtime', 'posixrules'):
                continue
            if zone not in seen:
                seen[zone] = len(data)
                data += zone
            keys.append('%s %d %d' % (key, seen[zone], len(zone)))
    return TZDATA.format(data=bytes(data), keys='\n'.join(sorted(keys))).encode()


def main(lib, sysconfigdata, zoneinfo, out):
    blob, table = bytearray(), []
    todo = [m for base in (lib, sysconfigdata) for m in sources(base)]
    todo.append(('_tzdata', 0, LIB_PATH + '_tzdata.py', tzdata(zoneinfo)))
    for module, package, filename, source in todo:
        code = compile(source, filename, 'exec', dont_inherit=True, optimize=0)
        data = marshal.dumps(code)
        blob += bytes(-len(blob) % 4)
        table.append((module, len(blob), len(data), package))
        blob += data
    with open(out + '/blob.bin', 'wb') as f:
        f.write(blob)
    with open(out + '/frozen.c', 'w') as f:
        f.write('#include <Python.h>\nextern const unsigned char guest_blob[];\n'
                'const struct _frozen guest_frozen_modules[] = {\n')
        for module, offset, size, package in table:
            f.write('{"%s", guest_blob+%d, %d, %d},\n' % (module, offset, size, package))
        f.write('{0,0,0,0}};\n')
    with open(out + '/blob.S', 'w') as f:
        f.write('\t.section .rodata.guest_blob,"",@\n\t.globl guest_blob\n\t.type guest_blob,@object\n\t.p2align 4\n'
                'guest_blob:\n\t.incbin "blob.bin"\n\t.size guest_blob, %d\n' % len(blob))
    print(len(table), 'frozen modules,', len(blob), 'bytes')


main(*sys.argv[1:])
