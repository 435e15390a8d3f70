"""HTML to a Document; and to the cleaned HTML that a model is shown to convert."""

import re
from collections.abc import Sequence
from urllib.parse import urljoin

from lxml import etree
from lxml.html import HtmlElement

from pincite.domain.errors import EmptyContent, PinciteError
from pincite.domain.page import Block, BlockKind, Document, Link
from pincite.fetch.extractors import VERSIONS
from pincite.fetch.extractors.blocks import BlockWalk, Found, blocks_of
from pincite.fetch.extractors.documentation import content_region, is_documentation
from pincite.fetch.extractors.dom import Page, body_of, parse, remove, size_of
from pincite.fetch.extractors.embedded import data_chars, embedded_text
from pincite.fetch.extractors.features import BlockFeatures
from pincite.fetch.extractors.formulas import settle_formulas
from pincite.fetch.extractors.hidden import NEVER_TEXT, drop_unseen
from pincite.fetch.extractors.items import PageItems
from pincite.fetch.extractors.layout import Layout
from pincite.fetch.extractors.main_content import (
    both_votes,
    cheap_votes,
    found_by_second,
    layout_of,
    select,
    without_controls,
)
from pincite.fetch.extractors.metadata import Metadata, language_of, read_metadata
from pincite.fetch.extractors.preformatted import unfolded
from pincite.fetch.extractors.revealed import place_streamed
from pincite.fetch.extractors.style_rules import apply_rules

EXTRACTOR = "html"
VERSION = VERSIONS["html"]


# A reader that finds a tenth of what another finds has missed the page.
_OUTWEIGHS = 10
# A page that shows some sentences has its text in the markup: four labelled pages show 1,180 characters and more and
# carry ten times as much data, of other products, translations or prompts (word F1 .05 instead of .58).
_SHELL_CHARS = 500
# A few hidden sentences are labels for screen readers.
_HIDDEN_CHARS = 500
_KEPT = frozenset(
    "h1 h2 h3 h4 h5 h6 p ul ol li dl dt dd blockquote pre code table caption tr th td a em strong b i br hr".split()
)
_AROUND = "//nav | //header[not(ancestor::article or ancestor::main)] | //footer | //aside | //form | //dialog"
_AFTER = re.compile(r"(</(?:h[1-6]|p|ul|ol|li|dl|dt|dd|blockquote|pre|table|caption|tr)>|<br>|<hr>)")
_INDENT = re.compile(r"^ +", re.MULTILINE)


def read_html(text: str, url: str) -> Document:
    """The document in an HTML page. Its `warnings` say where the text came from when not from the page's markup.

    Errors:
        ParseError, TooLarge: the page is built to break parsers.
        EmptyContent: no text a reader would see.
    """
    page, metadata, items, hidden = _visible(text, url)
    found, remarks, notes = _content(page, url, metadata, items)
    chars = sum(len(item.block.text) for item in found)
    is_shell = chars < _SHELL_CHARS and data_chars(page) > _OUTWEIGHS * chars
    if is_shell and (embedded := _embedded(page, metadata, chars)) is not None:
        (found, notes), remarks = embedded, []
    elif hidden > max(_OUTWEIGHS * chars, _HIDDEN_CHARS):
        notes = (*notes, f"{hidden:,} characters are hidden, and no script of the page is seen to show them")
    if not found:
        raise EmptyContent("the page has no text", reason="empty_page")
    return build(without_controls(found), metadata, notes, items, remarks)


def _content(
    page: Page, url: str, metadata: Metadata, items: PageItems
) -> tuple[list[Found], list[Found], tuple[str, ...]]:
    """The blocks that count, the comments of readers apart from them, and what must be said about the choice."""
    visible = size_of(body_of(page.root))
    walk = BlockWalk(metadata.base_url)
    remarks: list[Found] = []
    if is_documentation(page.root):
        found = walk.run(content_region(page.root))
    else:
        found = walk.run(page.root)
        found, remarks = select(found, page, url, metadata, items.stated()) if found else (found, remarks)
    read, said = (sum(len(item.block.text) for item in items) for items in (found, remarks))
    if visible - said > _OUTWEIGHS * read:
        found, notes = found_by_second(page, BlockWalk(metadata.base_url).run(page.root), found)
        return found, [] if notes else remarks, notes
    return found, remarks, ()


def _embedded(page: Page, metadata: Metadata, chars: int) -> tuple[list[Found], tuple[str, ...]] | None:
    """The text of the page's data where it outweighs what the markup shows, with a note of it."""
    embedded = embedded_text(page)
    if embedded is None or len(embedded.html) <= _OUTWEIGHS * chars:
        return None
    try:
        inner = parse(embedded.html)
    except PinciteError:
        return None
    drop_unseen(inner)
    found = BlockWalk(metadata.base_url).run(inner.root)
    if sum(len(item.block.text) for item in found) <= _OUTWEIGHS * chars:
        return None
    return found, (f"the text is from the page's {embedded.source}: its markup shows {chars:,} characters",)


def labelled(text: str, url: str) -> tuple[list[Found], Layout, list[list[float]], list[list[float]], str | None]:
    """What the choice of content is trained on: blocks, layout, their features by the cheap reader and by both.

    The last is the text of a page whose markup says which part counts; nothing is chosen there.
    """
    page, metadata, items, _ = _visible(text, url)
    found = BlockWalk(metadata.base_url).run(page.root)
    features = BlockFeatures(found, metadata.types)
    cheap = cheap_votes(page)
    one, both = features.rows(cheap), features.rows(both_votes(page, url, cheap))
    layout = layout_of(found, one, page, metadata, items.stated())
    if not is_documentation(page.root):
        return found, layout, one, both, None
    region = BlockWalk(metadata.base_url).run(content_region(page.root))
    return found, layout, one, both, "\n\n".join(item.block.text for item in region)


def _visible(text: str, url: str) -> tuple[Page, Metadata, PageItems, int]:
    """The page without what nobody sees, what it says of itself and its parts, and how many characters were hidden."""
    page = parse(text)
    metadata = read_metadata(page, url)
    items = PageItems(page, metadata.linked, metadata.base_url)
    place_streamed(page)
    settle_formulas(page)
    apply_rules(page)
    return page, metadata, items, drop_unseen(page)


def build(
    found: list[Found],
    metadata: Metadata,
    notes: tuple[str, ...] = (),
    items: PageItems | None = None,
    remarks: Sequence[Found] = (),
) -> Document:
    """The document of these blocks; `remarks` are comments of readers, which are no text of the page."""
    blocks = unfolded(blocks_of(found))
    return Document(
        extractor=EXTRACTOR,
        version=VERSION,
        blocks=blocks,
        title=metadata.title or next((block.text for block in blocks if block.kind is BlockKind.HEADING), ""),
        byline=metadata.byline,
        site_name=metadata.site_name,
        description=metadata.description,
        published_at=metadata.published_at,
        modified_at=metadata.modified_at,
        language=metadata.language or language_of(blocks),
        canonical_url=metadata.canonical_url,
        links=links_of(blocks),
        warnings=notes,
        signals=metadata.signals,
        structure=items.placed(found, blocks, metadata.types, remarks) if items is not None else (),
    )


def fragment_blocks(text: str, url: str, first: int = 0) -> tuple[Block, ...]:
    """All blocks of HTML that is a part of a file, or stands for one; they begin at place `first`.

    Errors:
        ParseError, TooLarge, EmptyContent: as for any page.
    """
    page = parse(text)
    drop_unseen(page)
    return blocks_of(BlockWalk(url).run(page.root), first)


def file_document(kind: str, version: str, blocks: Sequence[Block], url: str, *, title: str | None = None) -> Document:
    """The document of a file; `title` is that of its first heading where the format has none of its own.

    Errors: EmptyContent.
    """
    if not blocks:
        raise EmptyContent("the file has no text", reason="empty_page")
    named = next((block.text for block in blocks if block.kind is BlockKind.HEADING), "") if title is None else title
    found = tuple(blocks)
    return Document(kind, version, found, title=named, canonical_url=url.partition("#")[0], links=links_of(found))


def links_of(blocks: tuple[Block, ...]) -> tuple[Link, ...]:
    """Each target once, in order, with the words that first pointed at it."""
    seen: dict[str, str] = {}
    for block in blocks:
        for mark in block.marks:
            target = mark.href.partition("#")[0]
            if target and target not in seen:
                seen[target] = block.text[mark.start : mark.end]
    return tuple(Link(target, text, rank) for rank, (target, text) in enumerate(seen.items(), start=1))


def cleaned_lines(text: str, url: str) -> tuple[str, ...]:
    """The HTML without what a reader does not see, scripts and attributes: a block or a row of code a line.

    Links are absolute.

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
        region = body_of(page.root)
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
