"""HTML to a Document."""

from pincite.domain.errors import EmptyContent
from pincite.domain.page import Block, BlockKind, Document, Link
from pincite.fetch.extractors.blocks import BlockWalk, Found, blocks_of
from pincite.fetch.extractors.controls import without_controls
from pincite.fetch.extractors.documentation import content_region, is_documentation
from pincite.fetch.extractors.dom import Page, parse
from pincite.fetch.extractors.features import Votes
from pincite.fetch.extractors.hidden import drop_unseen
from pincite.fetch.extractors.main_content import select, votes_on
from pincite.fetch.extractors.metadata import Metadata, read_metadata
from pincite.fetch.extractors.natural_language import language_of

EXTRACTOR = "html"
VERSION = "5"


def read_html(text: str, url: str) -> Document:
    """The document in an HTML page.

    Errors:
        ParseError, TooLarge: the page is built to break parsers.
        EmptyContent: no text a reader would see.
    """
    page, metadata = _visible(text, url)
    walk = BlockWalk(metadata.base_url)
    if is_documentation(page.root):
        found = walk.run(content_region(page.root))
    else:
        found = walk.run(page.root)
        found = select(found, votes_on(page, url, metadata.types)) if found else found
    if not found:
        raise EmptyContent("the page has no text", reason="empty_page")
    return build(without_controls(found), metadata)


def candidates(text: str, url: str) -> tuple[list[Found], Votes]:
    """All blocks of a page and what the extractors chose from it: what the choice of content is trained on."""
    page, metadata = _visible(text, url)
    return BlockWalk(metadata.base_url).run(page.root), votes_on(page, url, metadata.types)


def _visible(text: str, url: str) -> tuple[Page, Metadata]:
    page = parse(text)
    metadata = read_metadata(page.root, url)
    drop_unseen(page)
    return page, metadata


def build(found: list[Found], metadata: Metadata) -> Document:
    """The document of these blocks."""
    blocks = blocks_of(found)
    return Document(
        extractor=EXTRACTOR,
        version=VERSION,
        blocks=blocks,
        title=metadata.title or _first_heading(blocks),
        byline=metadata.byline,
        site_name=metadata.site_name,
        description=metadata.description,
        published_at=metadata.published_at,
        modified_at=metadata.modified_at,
        language=metadata.language or language_of(blocks),
        canonical_url=metadata.canonical_url,
        links=links_of(blocks),
        signals=metadata.signals,
    )


def links_of(blocks: tuple[Block, ...]) -> tuple[Link, ...]:
    """Each target once, in order, with the words that first pointed at it."""
    seen: dict[str, str] = {}
    for block in blocks:
        for mark in block.marks:
            target = mark.href.partition("#")[0]
            if target and target not in seen:
                seen[target] = block.text[mark.start : mark.end]
    return tuple(Link(target, text, rank) for rank, (target, text) in enumerate(seen.items(), start=1))


def _first_heading(blocks: tuple[Block, ...]) -> str:
    return next((block.text for block in blocks if block.kind is BlockKind.HEADING), "")
