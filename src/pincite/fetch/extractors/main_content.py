"""Which blocks of a web page are its content.

A cheap extractor (resiliparse) votes, our own walk says how the page is built, and small decision trees weigh vote,
place, links and neighbours of each block. Where that leaves them unsure, a costly extractor (trafilatura) is asked as
well. The blocks stay as they stand on the page: code, quotations, captions, definition lists and repeated paragraphs
are never rewritten.

The trees were trained on labelled pages (WCXB, CC BY 4.0, Murrough Foley; scrapinghub article extraction benchmark,
MIT; trafilatura's evaluation corpus, Apache-2.0) by `benchmarks/content_model.py`, which also prints what
cross-validation expects of them on sites they have not seen. They know no words, only structure.

Source: ADR 0007; schema.org (QAPage, DiscussionForumPosting) for the parts of a thread.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import compress, islice

from lxml import etree
from lxml.html import HtmlElement

from pincite.domain.page import Block, BlockKind
from pincite.fetch.extractors import content_trees
from pincite.fetch.extractors.blocks import Found
from pincite.fetch.extractors.documentation import header_menus
from pincite.fetch.extractors.dom import Page
from pincite.fetch.extractors.features import (
    BlockFeatures,
    Votes,
    is_around,
    is_forum,
    is_made_of_records,
    is_mostly_links,
    is_plain,
    is_remark,
    kind_of,
    shape_of,
    shares_of,
)
from pincite.fetch.extractors.layout import CAPTIONED, FAR_LESS, Layout, bare, odd_of, says
from pincite.fetch.extractors.metadata import Metadata

# Source: schema.org, QAPage and DiscussionForumPosting: the comments of a posting are its replies, those of a question
# or an answer are remarks on it.
_ASKED = frozenset({"question", "answer"})
_POSTS = _ASKED | {"discussionforumposting", "socialmediaposting"}
_TEXTS = frozenset({"text", "articlebody"})
# Previews of links, bars, forms inside a post: they may be of it or not.
_BESIDE = frozenset({"aside", "nav", "footer", "form"})
_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
# A button that opens something and says so much is the title of what it opens; "Menu" is not.
_LABEL_WORDS = 3
# A label of a button; a longer block is text that has a button in it.
_LONGEST_CHARS = 200
# A bar of buttons; more in one block are a list of links made as buttons.
_MOST_BUTTONS = 8


def content_odds(rows: Sequence[Sequence[float]], log_odds: Callable[[Sequence[float]], float]) -> list[float]:
    """For each row of features the probability that the block is content, by the trees for the votes it holds."""
    return [odd_of(log_odds(row)) for row in rows]


def cheap_votes(page: Page) -> Votes:
    """What the cheap reader chooses."""
    from resiliparse.extract.html2text import extract_plain_text

    source = etree.tostring(page.root, encoding="unicode", method="html")
    chosen = str(extract_plain_text(source, main_content=True))
    return Votes(chosen, "", chosen)


def both_votes(page: Page, url: str, cheap: Votes) -> Votes:
    """What the two readers choose."""
    import trafilatura

    chosen = trafilatura.bare_extraction(page.root, url=url, include_comments=True, include_tables=True)
    if not isinstance(chosen, trafilatura.settings.Document):
        return cheap
    return Votes(chosen.text or cheap.second, chosen.comments or "", cheap.second)


def found_by_second(page: Page, everything: list[Found], found: list[Found]) -> tuple[list[Found], tuple[str, ...]]:
    """What the cheap reader found, where that is more than ten times as much text, and a note of it.

    Lists of links are no text: a short page under a long menu is a short page.
    """
    second = cheap_votes(page).second
    chars = sum(len(item.block.text) for item in found)
    if len(second) <= FAR_LESS * chars:
        return found, ()
    shares = shares_of(everything, second)
    others = [
        item for item, share in zip(everything, shares, strict=True) if share >= 0.5 and not is_mostly_links(item)
    ]
    size = sum(len(item.block.text) for item in others)
    if size <= FAR_LESS * chars:
        return found, ()
    return others, (f"the second reader's text: the first found {chars:,} of {size:,} characters",)


def _leads_on(block: Block, after: Block, row: Sequence[float]) -> bool:
    """Whether a block belongs to what follows it: a term, a table's caption, a line that ends with a colon."""
    if block.kind is BlockKind.CAPTION:
        return after.kind in CAPTIONED
    return block.kind is BlockKind.TERM or (block.text.endswith(":") and is_plain(row))


def layout_of(
    found: Sequence[Found], rows: Sequence[Sequence[float]], page: Page, metadata: Metadata, stated: str
) -> Layout:
    """What the choice knows of these blocks; `rows` are their features, `stated` what the page calls its own text."""
    navigation = {*page.root.iter("nav"), *(element for element in page.noted if element.get("role") == "navigation")}
    menus = {element for menu in header_menus(navigation) for element in menu.iter()}
    title = bare(metadata.title)
    blocks = [item.block for item in found]
    held: dict[HtmlElement | None, tuple[int, ...]] = {None: ()}
    said, below = thread_parts(page, is_forum=is_forum(metadata.types))
    records = is_made_of_records(metadata.types)
    return Layout(
        sizes=tuple(len(block.text.split()) for block in blocks),
        chars=tuple(len(block.text) for block in blocks),
        shapes=tuple(kind_of(shape_of(item)) for item in found),
        kinds=tuple(block.kind for block in blocks),
        levels=tuple(block.level if block.kind is BlockKind.HEADING else 0 for block in blocks),
        holders=tuple(_holders(item.element.getparent(), held) for item in found),
        plain=tuple(map(is_plain, rows)),
        around=tuple(map(is_around, rows)),
        leading=tuple(map(_leads_on, blocks, blocks[1:], rows)),
        menus=tuple(item.element in menus for item in found),
        titles=tuple(
            block.kind is BlockKind.HEADING and block.level == 1 and says(title, bare(block.text)) for block in blocks
        ),
        posts=tuple(item.holder in said for item in found),
        remarks=tuple(map(is_remark, rows)),
        below=tuple(item.holder in below for item in found),
        stated=tuple(shares_of(found, stated)),
        records=records,
        texts=tuple(block.text for block in blocks) if records else (),
    )


def _holders(element: HtmlElement | None, known: dict[HtmlElement | None, tuple[int, ...]]) -> tuple[int, ...]:
    """The numbers of an element and of all that holds it, innermost first."""
    if element is not None and element not in known:
        outer = _holders(element.getparent(), known)
        known[element] = (len(known), *outer)
    return known[element]


def select(
    found: Sequence[Found], page: Page, url: str, metadata: Metadata, stated: str
) -> tuple[list[Found], list[Found]]:
    """The blocks that are content, all when none stands out; and the comments of readers beside them."""
    features = BlockFeatures(found, metadata.types)
    votes = cheap_votes(page)
    rows = features.rows(votes)
    layout = layout_of(found, rows, page, metadata, stated)
    odds = layout.likely(content_odds(rows, content_trees.one))
    if layout.is_unsure(odds):
        odds = layout.likely(content_odds(features.rows(both_votes(page, url, votes)), content_trees.both))
    kept = layout.kept(odds)
    return list(compress(found, kept)) or list(found), list(compress(found, layout.apart(kept)))


def thread_parts(page: Page, *, is_forum: bool) -> tuple[frozenset[HtmlElement], frozenset[HtmlElement]]:
    """All elements inside the words of posts but for previews of links, and inside remarks on questions and answers."""
    if "itemscope" not in page.source:
        return frozenset(), frozenset()
    noted = page.still_noted()
    # The last part of the address of its type.
    kinds = {
        element: (element.get("itemtype") or "").rstrip("/").rpartition("/")[2].lower()
        for element in noted
        if element.get("itemscope") is not None
    }
    posts, remarks = _POSTS, frozenset[str]()
    if _ASKED & set(kinds.values()):
        remarks = frozenset({"comment"})
    elif is_forum or _POSTS & set(kinds.values()):
        posts = _POSTS | {"comment"}
    said = (
        element
        for element in noted
        if (element.get("itemprop") or "").lower() in _TEXTS
        and kinds.get(next((above for above in element.iterancestors() if above in kinds), None)) in posts
    )
    words = _inside(said)
    shown = _inside(element for element in words if element.tag in _BESIDE)
    return words - shown, _inside(element for element, kind in kinds.items() if kind in remarks)


def _inside(holders: Iterable[HtmlElement]) -> frozenset[HtmlElement]:
    """The holders and all that they hold; one inside another is looked through once."""
    inside: set[HtmlElement] = set()
    for holder in holders:
        if holder not in inside:
            inside.update(holder.iter())
    return frozenset(inside)


def without_controls(found: Sequence[Found]) -> list[Found]:
    """The blocks but for those that are labels of controls alone; all of them on a page that has nothing else."""
    if not found:
        return []
    near = _near_buttons(found[0].element.getroottree().getroot())
    return [item for item in found if item.element not in near or not _is_label(item)] or list(found)


def _near_buttons(root: HtmlElement) -> set[HtmlElement]:
    """All elements that hold a button or stand in one; most blocks of a page are none, and need no look around."""
    near: set[HtmlElement] = set()
    for button in root.iter("button"):
        if button not in near:
            near.update(button.iter())
        above = button.getparent()
        while above is not None and above not in near:
            near.add(above)
            above = above.getparent()
    return near


def _is_label(item: Found) -> bool:
    """Whether nothing of the block stands outside of buttons."""
    text = item.block.text
    if len(text) > _LONGEST_CHARS:
        return False
    around = next(item.element.iterancestors("button"), None)
    inside = [around] if around is not None else list(islice(item.element.iter("button"), _MOST_BUTTONS))
    if not inside:
        return False
    left = f" {' '.join(text.split())} "
    for button in inside:
        if _is_control(button):
            left = left.replace(f" {' '.join(button.text_content().split())} ", " ", 1)
    return not any(character.isalnum() for character in left)


def _is_control(button: HtmlElement) -> bool:
    """Whether a button only does something: it heads no part of the page, and is no card that can be clicked.

    Source: ARIA Authoring Practices Guide, accordion and disclosure: a heading, or a label of what it opens, is a
    button.
    """
    if next(button.iterancestors(*_HEADINGS, "summary", "dt", "legend", "caption"), None) is not None:
        return False
    if next(button.iter(*_HEADINGS, "p", "li", "table"), None) is not None:
        return False
    opens = button.get("aria-expanded") is not None or button.get("aria-controls") is not None
    return not (opens and len(button.text_content().split()) >= _LABEL_WORDS)
