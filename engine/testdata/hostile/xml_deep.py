# expect: ok,error,memory_limit
import xml.etree.ElementTree as ET

try:
    tree = ET.fromstring("<a>" * 100_000 + "</a>" * 100_000)
    del tree
except (ET.ParseError, RecursionError) as err:
    print(type(err).__name__)
