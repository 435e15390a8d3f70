"""Which blocks of a web page are its content.

A cheap extractor (resiliparse) votes, our own walk says how the page is built, and small decision trees weigh vote,
place, links and neighbours of each block. Where that leaves them unsure, a costly extractor (trafilatura) is asked as
well. The blocks stay as they stand on the page: code, quotations, captions, definition lists and repeated paragraphs
are never rewritten.
"""

import re
from collections.abc import Hashable, Sequence
from dataclasses import replace
from itertools import compress

from lxml import etree
from lxml.html import HtmlElement

from pincite.domain.page import Block, BlockKind
from pincite.fetch.extractors.blocks import Found
from pincite.fetch.extractors.classifier import BOTH, ONE, agreed, best_threshold, content_odds
from pincite.fetch.extractors.documentation import header_menus
from pincite.fetch.extractors.dom import Page
from pincite.fetch.extractors.features import (
    BlockFeatures,
    Votes,
    is_around,
    is_made_of_records,
    is_mostly_links,
    is_plain,
    shape_of,
    shares_of,
)
from pincite.fetch.extractors.metadata import Metadata

# The expected word F1 of a page from which on no second opinion is asked: it changes next to nothing. By cross-
# validation over 833 labelled pages (words, segments): never asked .860, .914; for half the pages .862, .922; for all
# .862, .926.
_SURE = 0.95
# The costly reader's time grows with the page, what it adds does not.
_MAX_ASKED_BLOCKS = 300
# A page this small has no room for choosing: all of it counts that is not plainly around the content.
_TINY_WORDS = 80
# Structured data names the page's own text on one page in ten. By cross-validation over the same pages: words .864 to
# .866 (products .665 to .673, collections .738 to .743), nothing lost elsewhere; with .7 for the odds half of that.
_STATED_SHARE, _STATED_ODDS = 0.8, 0.9
# A reader that finds a tenth of what another finds has missed the page (`html._OUTWEIGHS`).
_FAR_LESS = 10
# Of the words of the text: what a headline may cost that the labels leave out. Chosen on half of the 833 pages by site:
# words .8790 to .8794, shingles and segments unchanged to four digits; from .007 on shingles fall. The other half:
# words .8792 to .8788, the others unchanged. All headlines would cost .007 on shingles and .001 on words.
_HEADING_SHARE = 0.005
# So many headings are kept on hardly any article.
_REFERENCE_HEADINGS = 10
# Blocks: a section that lost so few among kept neighbours lost them by mistake.
_SHORT_SECTION = 12
_STANDS_BETWEEN = frozenset({BlockKind.CODE, BlockKind.TABLE, BlockKind.LIST_ITEM, BlockKind.QUOTATION})
_WORD = re.compile(r"\w+")
_LEADS_ON = frozenset({BlockKind.TERM, BlockKind.CAPTION})


def cheap_votes(page: Page, types: frozenset[str]) -> Votes:
    """What the cheap reader chooses."""
    second = _cheap_vote(page.root)
    return Votes(second, "", second, types)


def both_votes(page: Page, url: str, cheap: Votes) -> Votes:
    """What the two readers choose."""
    main, comments = _slow_vote(page.root, url)
    return replace(cheap, main=main or cheap.second, comments=comments)


def _cheap_vote(root: HtmlElement) -> str:
    from resiliparse.extract.html2text import extract_plain_text

    return str(extract_plain_text(etree.tostring(root, encoding="unicode", method="html"), main_content=True))


def _slow_vote(root: HtmlElement, url: str) -> tuple[str, str]:
    import trafilatura

    chosen = trafilatura.bare_extraction(root, url=url, include_comments=True, include_tables=True)
    if isinstance(chosen, trafilatura.settings.Document):
        return chosen.text or "", chosen.comments or ""
    return "", ""


def found_by_second(page: Page, everything: list[Found], found: list[Found]) -> tuple[list[Found], tuple[str, ...]]:
    """What the cheap reader found, where that is more than ten times as much text, and a note of it.

    Lists of links are no text: a short page under a long menu is a short page.
    """
    second = _cheap_vote(page.root)
    chars = sum(len(item.block.text) for item in found)
    if len(second) <= _FAR_LESS * chars:
        return found, ()
    shares = shares_of(everything, second)
    others = [
        item for item, share in zip(everything, shares, strict=True) if share >= 0.5 and not is_mostly_links(item)
    ]
    size = sum(len(item.block.text) for item in others)
    if size <= _FAR_LESS * chars:
        return found, ()
    return others, (f"the second reader's text: the first found {chars:,} of {size:,} characters",)


def is_unsure(odds: Sequence[float], sizes: Sequence[int]) -> bool:
    """Whether the costly reader is to be asked about a page that looks so to the cheap one."""
    return len(odds) <= _MAX_ASKED_BLOCKS and best_threshold(odds, sizes)[1] < _SURE


def chosen(
    odds: Sequence[float], sizes: Sequence[int], shapes: Sequence[Hashable], types: frozenset[str]
) -> list[bool]:
    """Which blocks are kept, by what each is likely to be and by the kind of page."""
    if is_made_of_records(types):
        odds = agreed(odds, sizes, shapes)
    least, _ = best_threshold(odds, sizes)
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


def _fill(kept: list[bool], found: Sequence[Found]) -> list[bool]:
    """What is kept, and code, tables and lists that stand between kept blocks of the same container."""
    shown = list(kept)
    for index in range(1, len(found) - 1):
        if kept[index] or found[index].block.kind not in _STANDS_BETWEEN or not shown[index - 1]:
            continue
        after = index + 1
        while after < len(found) - 1 and not kept[after] and found[after].block.kind is found[index].block.kind:
            after += 1
        holder = found[index - 1].element.getparent()
        inside = (found[place].element for place in range(index, after + 1))
        if kept[after] and holder is not None and all(_stands_in(element, holder) for element in inside):
            shown[index] = True
    return shown


def _stands_in(element: HtmlElement, holder: HtmlElement) -> bool:
    """Whether the element is a child of the holder, or a grandchild (an item of its list)."""
    parent = element.getparent()
    return parent is holder or (parent is not None and parent.getparent() is holder)


def with_section_headings(kept: Sequence[bool], levels: Sequence[int], around: Sequence[bool]) -> list[bool]:
    """What is kept, and the headings directly above it: what a passage is about may stand nowhere else.

    Args:
        kept: for each block whether it is kept.
        levels: the level of each heading, 0 for what is none.
        around: whether the block stands in what surrounds content (navigation, footers, ...): such a heading goes only
            with text that stands there too.
    """
    shown = list(kept)
    for index, level in enumerate(levels):
        if not level or shown[index]:
            continue
        below = index + 1
        while below < len(levels) and levels[below] > level:
            below += 1
        if below < len(levels) and kept[below] and not levels[below] and (around[below] or not around[index]):
            shown[index] = True
    return shown


def with_inner_sections(kept: Sequence[bool], levels: Sequence[int], around: Sequence[bool]) -> list[bool]:
    """What is kept, and on a page of many headings the sections between others that are kept ("See also").

    Such a page is a reference: a section that was left out between two of its entries is a part of it.
    """
    shown = list(kept)
    if sum(keep and level > 0 for keep, level in zip(kept, levels, strict=True)) < _REFERENCE_HEADINGS:
        return shown
    last = max(index for index, keep in enumerate(kept) if keep)
    start = kept.index(True)
    while start <= last:
        end = start + 1
        while end <= last and not levels[end]:
            end += 1
        section = range(start, end)
        missing = sum(not kept[index] for index in section)
        if levels[start] and missing <= _SHORT_SECTION and not any(around[index] for index in section):
            for index in section:
                shown[index] = True
        start = end
    return shown


def with_stated(odds: Sequence[float], shares: Sequence[float]) -> list[float]:
    """The probabilities, high where the page's structured data says the block is its own text.

    Args:
        odds: what each block is likely to be.
        shares: how much of each block the data holds.
    """
    return [max(odd, _STATED_ODDS) if share >= _STATED_SHARE else odd for odd, share in zip(odds, shares, strict=True)]


def with_main_heading(kept: Sequence[bool], found: Sequence[Found], metadata: Metadata) -> list[bool]:
    """What is kept, and the heading that says the page's title, where no heading of the first level is kept.

    The labels of articles leave headlines out, and the title of the document says the same: with a short text it stays
    out, on pages of records and with a long text it comes back.
    """
    shown = list(kept)
    mains = [index for index, item in enumerate(found) if _is_main_heading(item)]
    if any(kept[index] for index in mains):
        return shown
    title = _bare(metadata.title)
    named = (index for index in mains if _says(title, _bare(found[index].block.text)))
    heading = next(named, None)
    if heading is None:
        return shown
    words = sum(len(item.block.text.split()) for item, keep in zip(found, kept, strict=True) if keep)
    few = len(found[heading].block.text.split()) < _HEADING_SHARE * words
    shown[heading] = few or is_made_of_records(metadata.types)
    return shown


def _is_main_heading(item: Found) -> bool:
    return item.block.kind is BlockKind.HEADING and item.block.level == 1


def _bare(text: str) -> str:
    """The words of a text, lower-case."""
    return f" {' '.join(_WORD.findall(text.casefold()))} "


def _says(title: str, heading: str) -> bool:
    """Whether one of the two holds the other."""
    return bool(title.strip() and heading.strip()) and (title in heading or heading in title)


def select(found: Sequence[Found], page: Page, url: str, metadata: Metadata) -> list[Found]:
    """The blocks that are content; all of them when none stands out."""
    types = metadata.types
    features = BlockFeatures(found, types)
    sizes = [len(item.block.text.split()) for item in found]
    votes = cheap_votes(page, types)
    rows = features.rows(votes)
    own = shares_of(found, metadata.stated)
    odds = with_stated(content_odds(rows, ONE), own)
    is_tiny = sum(sizes) < _TINY_WORDS
    if not is_tiny and is_unsure(odds, sizes):
        odds = with_stated(content_odds(features.rows(both_votes(page, url, votes)), BOTH), own)
    kept = chosen(odds, sizes, [shape_of(item) for item in found], types)
    if is_tiny:
        kept = [keep or is_plain(row) for keep, row in zip(kept, rows, strict=True)]
    kept = _fill(kept, found)
    for index in range(len(found) - 1):
        if not kept[index] and kept[index + 1] and _leads_on(found[index].block, rows[index]):
            kept[index] = True
    levels = [_heading_level(item) for item in found]
    around = [is_around(row) for row in rows]
    kept = with_inner_sections(kept, levels, around)
    kept = without_last_headings(kept, [item.block.kind is BlockKind.HEADING for item in found])
    kept = with_section_headings(kept, levels, around)
    kept = _without_menus(kept, found, page)
    kept = with_main_heading(kept, found, metadata)
    return [item for item, keep in zip(found, kept, strict=True) if keep] or list(found)


def _without_menus(kept: list[bool], found: Sequence[Found], page: Page) -> list[bool]:
    """What is kept, but for the menus in the page's headers; they stay on a page that has next to nothing else."""
    menus = {element for menu in header_menus(page.root) for element in menu.iter()}
    shown = [keep and item.element not in menus for keep, item in zip(kept, found, strict=True)]
    sizes = [len(item.block.text) for item in found]
    left, before = (sum(compress(sizes, choice)) for choice in (shown, kept))
    return shown if before <= _FAR_LESS * left else kept


def _heading_level(item: Found) -> int:
    return item.block.level if item.block.kind is BlockKind.HEADING else 0
