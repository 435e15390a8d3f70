"""Documentation pages: made by a tool or written plainly, so that structure says what is content.

Nothing is guessed here. The text region is the one the tool marks; navigation inside it is taken out.
"""

import re
from collections.abc import Iterable

from lxml import etree
from lxml.html import HtmlElement

from pincite.fetch.extractors.dom import body_of, remove, size_of

_GENERATORS = re.compile(
    r"\b(?:sphinx|docbook|asciidoc|mkdocs|docusaurus|doxygen|javadoc|rustdoc|mdbook|gitbook|antora|pod::|pod2html|groff|"
    r"mandoc|man2html|texinfo|makeinfo|latex2html|tex4ht|hevea|vitepress|vuepress|typedoc|jsdoc|yard|rdoc|pdoc|"
    r"ocamldoc|odoc|haddock|exdoc|dita|oxygen xml|quarto|jupyter|bookdown|readme\.io|hugo-book|docsify|nextra|"
    r"starlight|scaladoc|dokka|docfx|sandcastle|pkgdown|documenter\.jl|naturaldocs|pandoc)",
    re.IGNORECASE,
)


def _classed(name: str) -> str:
    return f"//div[contains(concat(' ', normalize-space(@class), ' '), ' {name} ')]"


# By the tag that carries them; a `div` only where it is the main part of the page by its role.
_FINGERPRINTS = {"div": frozenset({"document", "body"}), "body": frozenset({"manpage"}), "section": frozenset({"Sh"})}
_NAMES_OF_TOOLS = frozenset(
    {"sphinxsidebar", "navheader", "rst-content", "md-content", "theme-doc-markdown", "variablelist", "refentry"}
)
_REGIONS = ("//*[@role='main']", "//main", _classed("rst-content"), _classed("md-content"), "//article")
_ALWAYS_NAVIGATION = re.compile(
    r"\b(?:navheader|navfooter|sphinxsidebar|breadcrumbs?|rst-footer-buttons|wy-nav-side|prev-next-bottom|skip-?link)\b"
)
_NAVIGATION = re.compile(
    r"\b(?:nav|navbar|navheader|navfooter|navigation|sphinxsidebar|sidebar|breadcrumbs?|related|prev-?next|pagination|pager|"
    r"toc|toctree-wrapper-nav|contents|table-of-contents|page-?toc|edit-?(?:this-)?page|rst-footer-buttons|skip-?link|"
    r"footer|page-?footer|search(?:box|bar)?|clearer|mobile-nav|menu|bodywrapper-nav|headertabs)\b",
    re.IGNORECASE,
)
# Source: HTML Standard, link types; texinfo and LaTeX2HTML write all of these into the head of a page.
_LEADS_ELSEWHERE = frozenset("next prev previous up top start first last home index contents".split())
_WORD = re.compile(r"\w+")
_TEXT_PARTS = ("p", "pre", "h1", "h2", "h3", "h4", "h5", "h6")
_NAVIGATION_ROLES = frozenset({"navigation", "search", "banner", "contentinfo", "menu", "menubar", "complementary"})
# A link alone is never navigation: a heading may be a link to the table of contents ("toc-backref").
_CANDIDATES = (
    "descendant::*[self::nav or self::footer or self::form or (@role and not(self::a)) or (@class or @id) and ("
    "self::div or self::ul or self::ol or self::section or self::aside or self::header or self::table)]"
)
_IS_HEADER_MENU = etree.XPath(
    "boolean(self::*[self::nav or @role='navigation'][ancestor::header or ancestor::*[@role='banner']]"
    "[not(ancestor::main or ancestor::article or descendant::main or descendant::article or descendant::h1)]"
    "[not(ancestor::nav or ancestor::*[@role='navigation'])])"
)
_IS_DOXYGEN = "boolean(//meta[translate(@name, 'G', 'g')='generator'][starts-with(@content, 'Doxygen')])"
_DOXYGEN_EXTRAS = f"//div[@class='summary'] | {_classed('ttc')}"
_DOXYGEN_TITLE = "//div[@class='headertitle']/div[@class='title']"
_DOXYGEN_LISTINGS = "//div[@class='fragment'][div[@class='line']]"
_DOXYGEN_MEMBERS = "//td[starts-with(@class, 'memItem') or starts-with(@class, 'memTemplItem')]"
_DOXYGEN_SIGNATURES = "//table[@class='memname']"
_CONTENTS = re.compile(r"\b(?:toc|contents|table-of-contents|page-?toc)\b", re.IGNORECASE)
# A page of contents alone has less text beside its contents and is kept whole. Chosen, not measured, as the next three:
# an `article` holds most of a page that is one, `main` may be a tenth of a page of menus, a page of links is no prose.
_ENOUGH_CHARS = 400
_REGION_SHARE = 0.6
_MAIN_SHARE = 0.1
_PLAIN_LINK_SHARE = 0.35
# Tables in tables lay out a page; a manual may have a drawing made so.
_LAID_OUT_SHARE = 0.5


def is_documentation(root: HtmlElement) -> bool:
    """Whether a documentation tool made the page, or it is plain markup without the chrome of a web site."""
    for generator in root.xpath("//meta[translate(@name, 'GENRATO', 'genrato')='generator']/@content"):
        if _GENERATORS.search(generator):
            return True
    return any(map(_is_of_a_tool, root.iter(*_FINGERPRINTS))) or _is_plain(root)


def _is_of_a_tool(element: HtmlElement) -> bool:
    names = (element.get("class") or "").split()
    if element.tag != "div":
        return not _FINGERPRINTS[element.tag].isdisjoint(names)
    known = _NAMES_OF_TOOLS | _FINGERPRINTS["div"] if element.get("role") == "main" else _NAMES_OF_TOOLS
    return not known.isdisjoint(names)


def _is_plain(root: HtmlElement) -> bool:
    """Markup of a hand-written or converted document: no landmarks, no forms, hardly a class, most text unlinked."""
    body = root.find("body")
    if body is None or body.xpath("boolean(.//nav or .//header or .//footer or .//aside or .//form or .//article)"):
        return False
    elements = sum(1 for _ in body.iter())
    classed = len(body.xpath(".//*[@class]"))
    if classed > 0.1 * elements or len(body.xpath(".//script")) > 3:
        return False
    words = size_of(body)
    linked = sum(size_of(anchor) for anchor in body.iter("a") if anchor.get("href"))
    laid_out = sum(map(size_of, body.xpath(".//table[.//table and not(ancestor::table)]")))
    return words > 0 and linked < _PLAIN_LINK_SHARE * words and laid_out < _LAID_OUT_SHARE * words


def content_region(root: HtmlElement) -> HtmlElement:
    """The element that holds the text, with navigation taken out of it."""
    _settle_doxygen(root)
    region = body_of(root)
    total = size_of(region)
    for path in _REGIONS:
        largest = max(root.xpath(path), key=size_of, default=None)
        least = (_REGION_SHARE if path == "//article" else _MAIN_SHARE) * total
        if largest is not None and size_of(largest) >= least:
            region = largest
            break
    # What the page's head names as its next, previous and upper page, its index and its contents.
    neighbours = frozenset(
        link.get("href") or ""
        for link in root.iterfind("head/link[@rel]")
        if not _LEADS_ELSEWHERE.isdisjoint((link.get("rel") or "").lower().split())
    )
    _drop_navigation(region, neighbours)
    return region


def _settle_doxygen(root: HtmlElement) -> None:
    """Give Doxygen's boxes and layout tables the elements of what they show: title, listings, signatures.

    A listing is boxes of lines, then what shows when a mouse points at a name; a signature is a table of one cell a
    part; a list of members has the type in one cell and the name in the next.

    Source: Doxygen's HTML output (1.8 to 1.9), whose class names its style sheet outside of the page lays out.
    """
    if not root.xpath(_IS_DOXYGEN):
        return
    for element in root.xpath(_DOXYGEN_EXTRAS):
        remove(element)
    for title in root.xpath(_DOXYGEN_TITLE):
        title.tag = "h1"
    for listing in root.xpath(_DOXYGEN_LISTINGS):
        listing.tag = "pre"
        for line in listing:
            line.tail = "\n"
    for cell in root.xpath(_DOXYGEN_MEMBERS):
        cell.tag = "span"
    for signature in root.xpath(_DOXYGEN_SIGNATURES):
        said, tail = " ".join(signature.text_content().split()), signature.tail
        signature.clear()
        signature.tag, signature.tail = "p", tail
        etree.SubElement(signature, "code").text = said


def _drop_navigation(region: HtmlElement, neighbours: frozenset[str]) -> None:
    """Take navigation out; tables of contents stay where they are all there is."""
    size = size_of(region)
    contents: list[HtmlElement] = []
    navigation = [element for element in region.iter() if element.tag == "nav" or element.get("role") == "navigation"]
    for menu in header_menus(navigation):
        inside = size_of(menu)
        if inside < size:
            size -= inside
            remove(menu)
    for element in region.xpath(_CANDIDATES):
        if not _is_navigation(element) and not _leads_to(element, neighbours):
            continue
        if _CONTENTS.search(element.get("class") or ""):
            contents.append(element)
        elif (inside := size_of(element)) < 0.5 * size:
            size -= inside
            remove(element)
    if size - sum(size_of(element) for element in contents) >= _ENOUGH_CHARS:
        for element in contents:
            remove(element)


def header_menus(navigation: Iterable[HtmlElement]) -> list[HtmlElement]:
    """What navigation stands in a page's header, however long; not what holds more text than links, or the content.

    A header that was never closed may hold the whole page.
    """
    return [
        menu for menu in filter(_IS_HEADER_MENU, navigation) if 2 * sum(map(size_of, menu.iter("a"))) > size_of(menu)
    ]


def _is_navigation(element: HtmlElement) -> bool:
    if element.tag in {"nav", "footer", "form"} or (element.get("role") or "") in _NAVIGATION_ROLES:
        return True
    names = f"{element.get('class') or ''} {element.get('id') or ''}"
    if _ALWAYS_NAVIGATION.search(names):
        return True
    if not _NAVIGATION.search(names):
        return False
    if "navigation" in (element.get("class") or "").split() and next(element.iter(*_TEXT_PARTS), None) is None:
        return True  # labels may be longer than the titles they stand before
    linked = sum(size_of(anchor) for anchor in element.iter("a"))
    return linked > 0.5 * size_of(element)


def _leads_to(element: HtmlElement, neighbours: frozenset[str]) -> bool:
    """Whether the element is the line "Next: ..., Previous: ..., Up: ...": links to neighbours, a word before each."""
    if not neighbours:
        return False
    anchors = [anchor for anchor in element.iter("a") if anchor.get("href")]
    return (
        len(anchors) > 1
        and all(anchor.get("href") in neighbours for anchor in anchors)
        and len(_WORD.findall(element.text_content())) - len(anchors)
        <= sum(len(_WORD.findall(anchor.text_content())) for anchor in anchors)
    )
