"""provenance.py LOCK INPUTS_SHA256 DIR: writes DIR/PROVENANCE.json for DIR/python.wasm and DIR/python.wasm.zst."""
import hashlib
import json
import os
import sys

lock, inputs, out = sys.argv[1:]
sources, tools = [], {}
with open(lock) as f:
    for line in f:
        kind, name, value = line.split() if not line.startswith('#') else ('', '', '')
        if kind == 'source':
            package, _, version = name.partition('_')
            sources.append({'package': package, 'file': name, 'sha256': value})
        elif kind == 'tool':
            tools[name] = value


def file(name):
    with open(os.path.join(out, name), 'rb') as f:
        data = f.read()
    return {'file': name, 'size': len(data), 'sha256': hashlib.sha256(data).hexdigest()}


doc = {
    'guest': 'python',
    'abi': 2,
    'python': '%d.%d.%d' % sys.version_info[:3],
    'wasm': file('python.wasm'),
    'artefact': file('python.wasm.zst'),
    'inputs_sha256': inputs,
    'source_date_epoch': int(os.environ['SOURCE_DATE_EPOCH']),
    'flags': {k.lower(): os.environ[k] for k in ('TARGET', 'OPT_FLAGS', 'PGO_FLAGS', 'LTO_FLAGS', 'LTO_LINK', 'WASM_OPT', 'STACK_SIZE')},
    'sources': sources,
    'tools': tools,
}
with open(os.path.join(out, 'PROVENANCE.json'), 'w') as f:
    json.dump(doc, f, indent=2)
    f.write('\n')
