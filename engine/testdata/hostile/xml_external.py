# expect: ok,error
# External entities must not reach files.
import xml.etree.ElementTree as ET
import xml.sax

doc = '<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]><x>&e;</x>'
try:
    text = ET.fromstring(doc).text
    assert not text, text
except ET.ParseError as err:
    print(err)


class Handler(xml.sax.ContentHandler):
    def characters(self, content):
        assert "root:" not in content


xml.sax.parseString(doc.encode(), Handler())
