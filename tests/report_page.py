"""Reads a page as a strict parser does, and prints what is in it: its tables and pictures.

    report_page.py PAGE >listing

Exits with 1, after a line that says why, where the page is not well-formed or asks for anything
outside of itself."""
import base64
import re
import sys
import zlib
from html.parser import HTMLParser

VOID = {"meta", "img", "br", "hr", "link", "input"}
FORBIDDEN = {"script", "link", "iframe", "object", "embed", "base", "form", "svg"}
HEADER = "data:image/svg+xml;base64,"


def fail(why):
    sys.exit("report_page: " + why)


class Page(HTMLParser):
    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.stack, self.ids, self.links, self.lines = [], set(), [], []
        self.row, self.widths, self.title, self.style = None, set(), "", ""
        self.caption = ""

    def handle_decl(self, declaration):
        self.lines.append("doctype " + declaration.lower())

    def handle_starttag(self, tag, pairs):
        attributes = dict(pairs)
        if len(attributes) != len(pairs):
            fail(f"<{tag}> has an attribute twice")
        if tag in FORBIDDEN or any(name.startswith("on") for name in attributes):
            fail(f"<{tag} {attributes}> is not for this page")
        if "id" in attributes:
            if attributes["id"] in self.ids or not re.fullmatch(r"[a-z0-9-]+", attributes["id"]):
                fail("id " + attributes["id"])
            self.ids.add(attributes["id"])
        if "href" in attributes:
            if not attributes["href"].startswith("#"):
                fail("href " + attributes["href"])
            self.links.append(attributes["href"][1:])
        if "src" in attributes:
            self.picture(tag, attributes)
        if tag == "th" and attributes.get("scope") not in ("row", "col"):
            fail("a th without its scope")
        if tag == "table":
            if "box" not in self.classes[-1:]:
                fail("a table that is not in a box of its own")
            self.widths, self.caption = set(), ""
        if tag == "html" and attributes.get("lang") != "en":
            fail("no language")
        if tag == "meta" and "charset" in attributes:
            self.lines.append("charset " + attributes["charset"])
        if tag == "tr":
            self.row = []
        if tag in ("td", "th"):
            self.row.append("")
        if tag not in VOID:
            self.stack.append((tag, attributes.get("class", "")))

    @property
    def classes(self):
        return [name for _, name in self.stack]

    def picture(self, tag, attributes):
        source = attributes["src"]
        if tag != "img" or not source.startswith(HEADER) or not attributes.get("alt"):
            fail("a picture that is not in the page, or has no text")
        data = base64.b64decode(source[len(HEADER):], validate=True)
        self.lines.append(f"image {len(data)} {zlib.crc32(data):08x}")

    def handle_endtag(self, tag):
        if not self.stack or self.stack[-1][0] != tag:
            fail(f"</{tag}> in {self.stack[-1:]}")
        self.stack.pop()
        if tag == "caption":
            self.lines.append("table " + self.caption)
        if tag == "tr":
            self.widths.add(len(self.row))
            self.lines.append(" | ".join(self.row))
        if tag == "table" and len(self.widths) != 1:
            fail(f"a table with rows of {sorted(self.widths)} cells")

    def handle_data(self, data):
        tag = self.stack[-1][0] if self.stack else ""
        if tag in ("td", "th"):
            self.row[-1] += data
        elif tag == "caption":
            self.caption += data
        elif tag == "title":
            self.title += data
        elif tag == "style":
            self.style += data
        elif not self.stack and data.strip():
            fail("text outside of the page: " + data)


def main():
    page = Page()
    with open(sys.argv[1], encoding="utf-8", errors="strict", newline="") as file:
        text = file.read()
    if re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", text):
        fail("control characters")
    for ampersand in re.finditer(r"&(?!(amp|lt|gt|quot|#39);)", text):
        fail("a bare & at %d" % ampersand.start())
    page.feed(text)
    page.close()
    if page.stack:
        fail(f"{page.stack} is still open at the end")
    if not set(page.links) <= page.ids:
        fail(f"links to nowhere: {set(page.links) - page.ids}")
    if re.search(r"url\(|@import|@font-face", page.style):
        fail("the style asks for something")
    if page.style.count("{") != page.style.count("}"):
        fail("braces in the style")
    print("title " + page.title)
    print("\n".join(page.lines))


main()
