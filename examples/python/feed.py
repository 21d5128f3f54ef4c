"""Reads an Atom and an RSS feed, merges them without duplicates and writes a new feed."""

import html
import re
import xml.etree.ElementTree as ET
from datetime import datetime, timezone
from email.utils import format_datetime, parsedate_to_datetime
from xml.sax.saxutils import escape

ATOM = """<?xml version="1.0" encoding="utf-8"?>
<feed xmlns="http://www.w3.org/2005/Atom" xmlns:media="http://search.yahoo.com/mrss/">
  <title>Planet Orchard</title>
  <updated>2024-05-02T08:30:00Z</updated>
  <entry>
    <title type="html">Grafting &amp;amp; pruning &lt;em&gt;old&lt;/em&gt; trees</title>
    <link rel="alternate" href="https://orchard.example/grafting"/>
    <link rel="enclosure" href="https://orchard.example/grafting.mp3" length="81234"/>
    <id>tag:orchard.example,2024:1</id>
    <updated>2024-05-01T18:00:00+02:00</updated>
    <author><name>Ángela Ruiz</name></author>
    <category term="trees"/><category term="how-to"/>
    <content type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml"><p>Cut <b>late</b>, cut clean.</p></div></content>
  </entry>
  <entry>
    <title>Frost warning</title>
    <link href="https://orchard.example/frost"/>
    <id>tag:orchard.example,2024:2</id>
    <updated>2024-04-22T05:15:00Z</updated>
    <summary>Cover the blossom tonight: &#8722;3&#160;&#176;C expected.</summary>
    <category term="weather"/>
  </entry>
</feed>"""

RSS = """<?xml version="1.0"?>
<rss version="2.0" xmlns:dc="http://purl.org/dc/elements/1.1/">
<channel><title>Cider Weekly</title><link>https://cider.example/</link>
  <item><title>Frost warning</title><link>https://orchard.example/frost</link>
    <pubDate>Mon, 22 Apr 2024 06:00:00 GMT</pubDate><dc:creator>Tom</dc:creator></item>
  <item><title>Ten presses compared</title><link>https://cider.example/presses</link>
    <pubDate>Tue, 30 Apr 2024 21:10:00 -0500</pubDate><category>tools</category><category>trees</category>
    <description><![CDATA[<p>We pressed <i>400&nbsp;kg</i> of apples &mdash; and measured.</p>]]></description></item>
</channel></rss>"""

BROKEN = ATOM.replace("</entry>", "", 1)
NS = {"a": "http://www.w3.org/2005/Atom", "dc": "http://purl.org/dc/elements/1.1/"}


def plain(text):
    """Text without mark-up, in one line."""
    return " ".join(html.unescape(re.sub(r"<[^>]+>", "", text or "")).split())


def parse(source):
    root = ET.fromstring(source.encode())
    if root.tag == "rss":
        for item in root.iterfind("channel/item"):
            yield {
                "title": plain(item.findtext("title")),
                "link": item.findtext("link"),
                "date": parsedate_to_datetime(item.findtext("pubDate")),
                "author": item.findtext("dc:creator", "unknown", NS),
                "tags": [c.text for c in item.iterfind("category")],
                "text": plain(item.findtext("description")),
            }
    else:
        for entry in root.iterfind("a:entry", NS):
            content = entry.find("a:content", NS)
            text = "".join(content.itertext()) if content is not None else entry.findtext("a:summary", "", NS)
            link = entry.find("a:link[@rel='alternate']", NS)
            link = entry.find("a:link", NS) if link is None else link
            yield {
                "title": plain(html.unescape(entry.findtext("a:title", "", NS))),
                "link": link.get("href"),
                "date": datetime.fromisoformat(entry.findtext("a:updated", "", NS)),
                "author": entry.findtext("a:author/a:name", "unknown", NS),
                "tags": [c.get("term") for c in entry.iterfind("a:category", NS)],
                "text": plain(text),
            }


def write(entries):
    rss = ET.Element("rss", version="2.0")
    channel = ET.SubElement(rss, "channel")
    ET.SubElement(channel, "title").text = "Apples & more"
    for entry in entries:
        item = ET.SubElement(channel, "item")
        ET.SubElement(item, "title").text = entry["title"]
        ET.SubElement(item, "link").text = entry["link"]
        ET.SubElement(item, "pubDate").text = format_datetime(entry["date"].astimezone(timezone.utc), usegmt=True)
    ET.indent(rss)
    return ET.tostring(rss, encoding="unicode")


def main():
    entries = {}
    for source in (ATOM, RSS):
        for entry in parse(source):
            known = entries.setdefault(entry["link"], entry)
            known["tags"] = sorted(set(known["tags"]) | set(entry["tags"]))
    newest = sorted(entries.values(), key=lambda e: e["date"], reverse=True)
    for entry in newest:
        print(f"{entry['date'].astimezone(timezone.utc):%Y-%m-%d %H:%M} {entry['title']} ({entry['author']})")
        print(f"    {entry['text'] or '-'} [{', '.join(entry['tags'])}]")
    output = write(newest)
    print("\n" + output)
    print("reads back:", [i.findtext("title") for i in ET.fromstring(output).iter("item")], escape("a<b"))
    try:
        ET.fromstring(BROKEN.encode())
    except ET.ParseError as err:
        print("broken feed:", err, "at", err.position)


if __name__ == "__main__":
    main()
