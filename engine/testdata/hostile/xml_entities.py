# expect: ok,error,memory_limit
# Billion laughs.
import xml.etree.ElementTree as ET

doc = "<!DOCTYPE x [<!ENTITY a 'aaaaaaaaaa'>" + "".join(
    f"<!ENTITY {chr(b + 1)} '{f'&{chr(b)};' * 10}'>" for b in range(ord("a"), ord("a") + 15)
)
try:
    ET.fromstring(doc + "]><x>&p;</x>")
except ET.ParseError as err:
    print(err)
