"""HTML text to a guarded element tree.

Guards come before the parser, because every parser known to us stalls or dies on some input: scripts, styles and
comments are cut out by a scan, then tags and attributes are counted. Depth is checked on the tree, which libxml2 itself
bounds, before anything else walks it. What a reader of the page does not see is
taken out in `hidden`.
"""

import re
from collections.abc import Callable
from html import escape

from lxml import etree
from lxml import html as lxml_html
from lxml.html import HtmlElement

from pincite.domain.errors import EmptyContent, ParseError, TooLarge
from pincite.domain.frozen import dataclass

# Browsers close elements from 512 deep on (Chromium); deeper trees are made to exhaust recursion.
MAX_NESTING = 512
# libxml2 compares each with all before it: the time grows with their square.
MAX_ATTRIBUTES = 5_000
# A page of `MAX_HTML_BYTES` with nothing but tags has about a million: beyond any text.
MAX_TAGS = 400_000
# Structured data of a page with all its products; longer ones are catalogues.
_MAX_JSON_LD_CHARS = 300_000

# Written out, not with IGNORECASE: then the engine looks for the "<" as fast as memory is read.
_RAW_START = re.compile(
    r"<(?:(?P<comment>!--)"
    r"|(?P<script>[sS][cC][rR][iI][pP][tT])\b[^<>]{0,5000}>"
    r"|(?P<style>[sS][tT][yY][lL][eE])\b[^<>]{0,5000}>)"
)
_RAW_ENDS = {
    "comment": re.compile(r"--!?>"),
    "script": re.compile(r"</[sS][cC][rR][iI][pP][tT]\s*>"),
    "style": re.compile(r"</[sS][tT][yY][lL][eE]\s*>"),
}
# Always matches once it starts and consumes what it looked at, so the scan is linear whatever the input.
_TAG = re.compile(r"""<[a-zA-Z][^<>"']*+(?:(?:"[^"]{0,5000}"|'[^']{0,5000}')[^<>"']*+)*+""")
_QUOTED = re.compile(r""""[^"]*"|'[^']*'""")
# Shorter tags can't hold so many attributes: only long ones are counted.
_FEW_CHARS = 2_000
_HEAD_TAGS = frozenset("title meta link base basefont bgsound script style noscript noframes template object".split())
_DEEP = etree.XPath("boolean(//body" + "/*" * MAX_NESTING + ")")
_SIZE = etree.XPath("string-length(normalize-space(.))")
# Looked up in C; lxml.html's own lookup is a Python call for every element that is touched, for classes of forms.
_ONE_CLASS = etree.ElementDefaultClassLookup(element=HtmlElement)
# Attributes that somebody looks for on the whole page. One walk finds them all: an XPath over attributes takes as long
# as this does, each.
_LOOKED_FOR = frozenset(
    "style hidden aria-hidden aria-modal role itemprop itemscope property typeof rel aria-controls data-toggle "
    "data-bs-toggle".split()
)
# Data that scripts build the page from; what is longer is the program itself.
_MAX_SCRIPT_CHARS = 3_000_000
_STREAMS = ("$RC(", "$RR(", "$RS(", "function $af")
_BOUNDARIES = {
    "<!--$-->": "start",
    "<!--$?-->": "start",
    "<!--$!-->": "start",
    "<!--$~-->": "start",
    "<!--/$-->": "end",
}
# Marks in the tree where the comments of a streamed page begin and end a part that may come later.
BOUNDARY = "data-boundary"


@dataclass(frozen=True, slots=True)
class Page:
    """A parsed page: the tree without scripts, styles and comments, and the style sheets and scripts that stood in it.

    `data` is what scripts of a data type hold (JSON), by id or type. `is_streamed`: scripts move parts of the page.
    `source` is the HTML that was parsed. `elements` holds on to the tree's elements: lxml makes the Python object of
    one anew whenever nobody does. `noted` are those with an attribute that says what a part of the page is, in order.
    """

    root: HtmlElement
    styles: str
    scripts: tuple[str, ...] = ()
    data: tuple[tuple[str, str], ...] = ()
    is_streamed: bool = False
    source: str = ""
    elements: tuple[HtmlElement, ...] = ()
    noted: tuple[HtmlElement, ...] = ()

    def still_noted(self) -> list[HtmlElement]:
        """Those of `noted` that nobody has taken out of the tree."""
        return [element for element in self.noted if self.root in element.iterancestors()]


def parse(text: str) -> Page:
    """The element tree of an HTML page.

    Errors:
        ParseError: a tag with more than `MAX_ATTRIBUTES` attributes.
        TooLarge: more than `MAX_TAGS` tags.
        EmptyContent: no element and no text.
    """
    styles: list[str] = []
    scripts: list[str] = []
    data: list[tuple[str, str]] = []
    is_streamed = any(map(text.__contains__, _STREAMS))

    def settled(name: str, opening: str, inside: str, whole: str) -> str:
        """What stands in the place of a comment, script or style sheet."""
        if name == "style":
            styles.append(inside)
        elif name == "script":
            kind = opening.lower()
            if "ld+json" in kind and len(inside) < _MAX_JSON_LD_CHARS:
                return whole
            if "math/tex" in kind:
                return _formula(inside, display="mode=display" in kind)
            if len(inside) < _MAX_SCRIPT_CHARS:
                if "json" in kind:
                    data.append((kind, inside))
                else:
                    scripts.append(inside)
        elif is_streamed and whole in _BOUNDARIES:
            return f"<template {BOUNDARY}={_BOUNDARIES[whole]}></template>"
        return ""  # nothing: "<b>1</b><!-- -->2" shows as 12

    text = _without_raw(text.replace("\0", ""), settled)
    tag_count = _guard(text)
    parser = etree.HTMLParser(encoding="utf-8", huge_tree=True, remove_comments=True, remove_pis=True)
    parser.set_element_class_lookup(_ONE_CLASS)
    try:
        root = lxml_html.document_fromstring(text.encode("utf-8", "replace"), parser=parser)
    except etree.ParserError as error:
        raise EmptyContent("the page has no content", reason="empty_page") from error
    except (etree.XMLSyntaxError, etree.LxmlError, ValueError) as error:
        raise ParseError("the page can't be parsed as HTML", reason="html_malformed") from error
    _empty_head(root)
    if tag_count > MAX_NESTING and _DEEP(root):
        raise ParseError(f"tags are nested more than {MAX_NESTING} deep", reason="too_deep")
    elements = tuple(root.iter())
    noted = tuple(element for element in elements if not _LOOKED_FOR.isdisjoint(element.keys()))
    sheets = "\n".join(styles)
    return Page(root, sheets, tuple(scripts), tuple(data), is_streamed, text, elements, noted)


def _without_raw(text: str, settled: Callable[[str, str, str, str], str]) -> str:
    """The text with what `settled` makes of each comment, script and style sheet; one that never ends is the rest."""
    pieces: list[str] = []
    place = 0
    while (start := _RAW_START.search(text, place)) is not None:
        name = start.lastgroup or ""
        end = _RAW_ENDS[name].search(text, start.end())
        inside_end, whole_end = end.span() if end else (len(text), len(text))
        pieces.append(text[place : start.start()])
        inside = text[start.end() : inside_end]
        pieces.append(settled(name, start.group(), inside, text[start.start() : whole_end]))
        place = whole_end
    return "".join((*pieces, text[place:]))


def _formula(source: str, *, display: bool) -> str:
    """TeX that a script would set as a formula, as an element of ours.

    Source: MathJax 2 and 3, `<script type="math/tex; mode=display">`.
    """
    sign = "$$" if display else "$"
    return f"<math-tex>{sign}{escape(source.strip())}{sign}</math-tex>" if source.strip() else ""


def _empty_head(root: HtmlElement) -> None:
    """Move what is no metadata from the head to the body.

    libxml2 doesn't know `main`, `section` and their like: on a page without a `<body>` tag it leaves them in the head.

    Source: WHATWG HTML §13.2.6.4.4, "in head": anything else ends the head.
    """
    head = root.find("head")
    if head is None:
        return
    first = next((i for i, child in enumerate(head) if child.tag not in _HEAD_TAGS), None)
    if first is None:
        return
    body = root.find("body")
    if body is None:
        body = etree.SubElement(root, "body")
    moved = list(head)[first:]
    for place, child in enumerate(moved):
        body.insert(place, child)  # its tail comes along
    if body.text and body.text.strip():  # it stood after what was moved
        moved[-1].tail = (moved[-1].tail or "") + body.text
        body.text = None


def _guard(text: str) -> int:
    """The number of tags, after checking their number and their attributes."""
    tags = _TAG.findall(text)
    count = len(tags)
    if any(len(_QUOTED.sub("", tag).split()) > MAX_ATTRIBUTES for tag in tags if len(tag) > _FEW_CHARS):
        raise ParseError(f"a tag has more than {MAX_ATTRIBUTES:,} attributes", reason="too_many_attributes")
    if count > MAX_TAGS:
        raise TooLarge(f"the page has more than {MAX_TAGS:,} tags", reason="too_many_tags")
    return count


def remove(element: HtmlElement) -> None:
    """Take `element` out of its tree; the text after it stays. Where it parts two figures an empty one stays, too."""
    parent = element.getparent()
    if parent is None:
        return
    tail = element.tail
    if tail:
        previous = element.getprevious()
        before = parent.text if previous is None else previous.tail
        if before and before[-1].isdigit() and tail[0].isdigit():
            element.clear(keep_tail=True)
            element.tag = "img" if element.tag == "svg" else "wbr"
            return
        if previous is None:
            parent.text = (parent.text or "") + tail
        else:
            previous.tail = (previous.tail or "") + tail
    parent.remove(element)


def body_of(root: HtmlElement) -> HtmlElement:
    """The body of a page, or all of a page that has none."""
    body = root.find("body")
    return root if body is None else body


def size_of(element: HtmlElement) -> int:
    """How many characters of text the element holds, white space collapsed."""
    return int(_SIZE(element))
