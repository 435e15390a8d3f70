"""A page's HTML without what a reader does not see, scripts, and attributes: what a model is shown to convert."""

import re
from urllib.parse import urljoin

from lxml import etree
from lxml.html import HtmlElement

from pincite.fetch.extractors.documentation import content_region, is_documentation
from pincite.fetch.extractors.dom import parse, remove
from pincite.fetch.extractors.hidden import NEVER_TEXT, drop_unseen
from pincite.fetch.extractors.metadata import read_metadata

_KEPT = frozenset(
    "h1 h2 h3 h4 h5 h6 p ul ol li dl dt dd blockquote pre code table caption tr th td a em strong b i br hr".split()
)
_AROUND = "//nav | //header[not(ancestor::article or ancestor::main)] | //footer | //aside | //form | //dialog"
_AFTER = re.compile(r"(</(?:h[1-6]|p|ul|ol|li|dl|dt|dd|blockquote|pre|table|caption|tr)>|<br>|<hr>)")
_INDENT = re.compile(r"^ +", re.MULTILINE)


def cleaned_lines(text: str, url: str) -> tuple[str, ...]:
    """The cleaned HTML, a block or a row of code a line; links are absolute.

    Errors:
        ParseError, TooLarge, EmptyContent: as for any page.
    """
    page = parse(text)
    base = read_metadata(page, url).base_url
    drop_unseen(page)
    if is_documentation(page.root):
        region = content_region(page.root)
    else:
        for element in page.root.xpath(_AROUND):
            if element.getparent() is not None:
                remove(element)
        body = page.root.find("body")
        region = page.root if body is None else body
    _strip(region, base)
    html = etree.tostring(region, encoding="unicode", method="html", with_tail=False)
    rows = (row.strip(" \t\r") for row in _AFTER.sub(r"\1\n", html).split("\n"))
    return tuple(row for row in rows if row.strip())


def _strip(region: HtmlElement, base: str) -> None:
    """Leave the tags that Markdown knows, links as their only attribute, white space as a page shows it."""
    for element in list(region.iter()):
        if element is region:
            element.attrib.clear()
        elif not isinstance(element.tag, str) or element.tag in NEVER_TEXT:
            if element.getparent() is not None:
                remove(element)
        elif element.tag not in _KEPT:
            element.drop_tag()
        else:
            href = urljoin(base, element.get("href", "")) if element.tag == "a" and element.get("href") else ""
            element.attrib.clear()
            if href.startswith(("http://", "https://")):
                element.set("href", href)
    for element in region.iter():
        quoted = any(above.tag == "pre" for above in [element, *element.iterancestors()])
        element.text = _shown(element.text, quoted=quoted)
        element.tail = _shown(element.tail, quoted=quoted and element.tag != "pre")


def _shown(text: str | None, *, quoted: bool) -> str | None:
    if not text:
        return text
    return _INDENT.sub(lambda match: "\u00a0" * len(match.group()), text) if quoted else re.sub(r"\s+", " ", text)
