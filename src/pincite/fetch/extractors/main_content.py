"""Which blocks of a web page are its content.

Two content extractors vote (trafilatura, resiliparse), our own walk says how the page is built, and small decision
trees weigh votes, place, links and neighbours of each block. The blocks stay as they stand on the page: code,
quotations, captions, definition lists and repeated paragraphs are never rewritten.
"""

from collections.abc import Hashable, Sequence

from lxml import etree
from lxml.html import HtmlElement

from pincite.domain.page import Block, BlockKind
from pincite.fetch.extractors.blocks import BlockWalk, Found
from pincite.fetch.extractors.classifier import agreed, best_threshold, content_odds
from pincite.fetch.extractors.dom import Page
from pincite.fetch.extractors.features import Votes, features_of, is_made_of_records, is_plain, shape_of, shares_of

_MAX_VOTED_TAGS = 25_000
_TINY_WORDS = 80
"""A page this small has no room for choosing: all of it counts that is not plainly around the content."""
_FAR_LESS = 10
_LEADS_ON = frozenset({BlockKind.TERM, BlockKind.CAPTION})


def votes_on(page: Page, url: str, types: frozenset[str]) -> Votes:
    """What the two extractors choose from the page; the slow one is not asked about huge pages."""
    root = page.root
    main, comments = _slow_vote(root, url) if page.tag_count <= _MAX_VOTED_TAGS else ("", "")
    second = _cheap_vote(root)
    return Votes(main or second, comments, second, types)


def _cheap_vote(root: HtmlElement) -> str:
    from resiliparse.extract.html2text import extract_plain_text

    return str(extract_plain_text(etree.tostring(root, encoding="unicode", method="html"), main_content=True))


def found_by_second(page: Page, everything: list[Found], found: list[Found]) -> tuple[list[Found], tuple[str, ...]]:
    """What the cheap reader found, where that is more than ten times as much, and a note of it."""
    second = _cheap_vote(page.root)
    chars = sum(len(item.block.text) for item in found)
    if len(second) <= _FAR_LESS * chars:
        return found, ()
    whole = everything or BlockWalk("").run(page.root)
    shares = shares_of(whole, second)
    chosen_blocks = [item for item, share in zip(whole, shares, strict=True) if share >= 0.5] or whole
    return chosen_blocks, (f"the second reader's text: the first found {chars:,} of {len(second):,} characters",)


def _slow_vote(root: HtmlElement, url: str) -> tuple[str, str]:
    import trafilatura

    chosen = trafilatura.bare_extraction(root, url=url, include_comments=True, include_tables=True)
    if isinstance(chosen, trafilatura.settings.Document):
        return chosen.text or "", chosen.comments or ""
    return "", ""


def chosen(
    odds: Sequence[float], sizes: Sequence[int], shapes: Sequence[Hashable], types: frozenset[str]
) -> list[bool]:
    """Which blocks are kept, by what each is likely to be and by the kind of page."""
    if is_made_of_records(types):
        odds = agreed(odds, sizes, shapes)
    least = best_threshold(odds, sizes)
    return [odd >= least for odd in odds]


def _leads_on(block: Block, row: Sequence[float]) -> bool:
    """Whether a block belongs to what follows it: a term, a caption, a line that ends with a colon."""
    return block.kind in _LEADS_ON or (block.text.endswith(":") and is_plain(row))


def without_last_headings(kept: Sequence[bool], headings: Sequence[bool]) -> list[bool]:
    """What is kept, but for headings at its end whose own section was left out ("You may also like")."""
    shown = list(kept)
    last = max((index for index, keep in enumerate(shown) if keep), default=-1)
    while 0 <= last < len(shown) - 1 and headings[last] and any(shown[:last]):
        shown[last] = False
        last = max(index for index in range(last) if shown[index])
    return shown


def select(found: Sequence[Found], votes: Votes) -> list[Found]:
    """The blocks that are content; all of them when none stands out."""
    rows = features_of(found, votes)
    sizes = [len(item.block.text.split()) for item in found]
    kept = chosen(content_odds(rows), sizes, [shape_of(item) for item in found], votes.types)
    if sum(sizes) < _TINY_WORDS:
        kept = [keep or is_plain(row) for keep, row in zip(kept, rows, strict=True)]
    for index in range(len(found) - 1):
        if not kept[index] and kept[index + 1] and _leads_on(found[index].block, rows[index]):
            kept[index] = True
    kept = without_last_headings(kept, [item.block.kind is BlockKind.HEADING for item in found])
    return [item for item, keep in zip(found, kept, strict=True) if keep] or list(found)
