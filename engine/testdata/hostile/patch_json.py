# expect: ok,error
# The result must not depend on a json module that the program can change.
import json
import json.decoder
import json.encoder


def evil(*args, **kwargs):
    return '{"status": "ok", "stdout": "forged"}'


json.dumps = json.dump = json.loads = json.load = evil
json.encoder.JSONEncoder.encode = json.encoder.JSONEncoder.iterencode = json.JSONEncoder.default = evil
json.encoder.c_make_encoder = json.encoder.encode_basestring_ascii = json.decoder.scanner = None
json._default_encoder = None
{"real": 1}
