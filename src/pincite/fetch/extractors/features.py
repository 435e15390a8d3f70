"""What can be seen of a block besides its words: place in the tree, links, neighbours, what two extractors made of it.

The features say nothing about subject or language. They feed `classifier`.
"""

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from lxml.html import HtmlElement

from pincite.domain.page import BlockKind, MarkKind
from pincite.fetch.extractors.blocks import Found

_WORD = re.compile(r"\w+")
_RUN = 3

# Roles that class names, ids and ARIA attributes commonly spell out.
_ROLE_WORDS = (
    ("navigation", r"nav|navbar|menu|breadcrumbs?|pagination|pager|skip|toolbar|tabs?"),
    ("chrome", r"header|masthead|banner|top|logo|brand|footer|bottom|copyright|colophon|legal"),
    ("side", r"sidebar|aside|side|widget|rail|secondary|complementary"),
    (
        "related",
        r"related|recommend\w*|more|popular|trending|latest|similar|next|prev\w*|also|read-?more|teasers?|promo",
    ),
    (
        "social",
        r"share|sharing|social|follow|facebook|twitter|whatsapp|likes?|newsletter|subscribe|subscription|signup",
    ),
    ("overlay", r"cookies?|consent|gdpr|modal|popup|overlay|dialog|alert|notice|banner|login|account|cart"),
    ("advert", r"ads?|advert\w*|sponsor\w*|commercial|outbrain|taboola"),
    ("comment", r"comments?|reply|replies|respond|discussion|disqus|feedback"),
    ("about", r"author|byline|meta|date|time|published|tags?|tagged|categor\w+|bio|info|views?|stats?|caption|credit"),
    ("body", r"article|content|entry|story|post|body|text|main|prose|markdown|richtext|rte|copy|page"),
    ("thread", r"thread|message|topic|answers?|question|forum|posts?|user"),
    ("goods", r"product|price|item|sku|description|specs?|details?|feature\w*|reviews?|rating"),
    ("listing", r"list|listing|grid|cards?|results?|feed|archive|collection|loop|tiles?|gallery|carousel|slider"),
)
_ROLES = re.compile("|".join(rf"(?P<{name}>(?<![a-z])(?:{words})(?![a-z]))" for name, words in _ROLE_WORDS))
_ROLE_NAMES = tuple(name for name, _ in _ROLE_WORDS)
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_TAG_NAMES = ("nav", "header", "footer", "aside", "main", "article", "form", "ul", "ol", "table", "section", "a", "p")
_LANDMARKS = {
    "navigation": "nav",
    "banner": "header",
    "contentinfo": "footer",
    "complementary": "aside",
    "main": "main",
    "article": "article",
    "search": "form",
}
_BITS = {name: 1 << place for place, name in enumerate((*_TAG_NAMES, *_ROLE_NAMES))}
_KINDS = tuple(BlockKind)
_KIND_ROWS = {kind: tuple(1.0 if kind is other else 0.0 for other in _KINDS) for kind in _KINDS}
_SENTENCE_END = re.compile(r"[.!?…。！？:;][\"'”’)\]]*\s*$")
_COMMA = re.compile(r"[,;、，]")
_DIGIT = re.compile(r"[0-9]")
_CAPITAL = re.compile(r"[A-ZÀ-ÖØ-ÞΑ-ΩА-Я]")
_HEAD_CHARS = 1_000
_LEGAL = re.compile(r"©|\(c\)\s|all rights reserved|copyright", re.IGNORECASE)

_SAID = frozenset({"says:forum", "says:goods", "says:list"})
_FORUM_TYPES = frozenset({"discussionforumposting", "qapage", "question", "says:forum"})
_GOODS_TYPES = frozenset({"product", "productgroup", "offer", "says:goods"})
_LIST_TYPES = frozenset({"itemlist", "collectionpage", "searchresultspage", "says:list"})

FEATURES = (
    "main_share", "comment_share", "second_share", "main_prev", "main_next", "second_prev", "second_next", "main_near",
    "second_near", "page_main_ratio", "page_second_ratio", "log_words", "link_share", "ends_sentence", "commas",
    "digits", "capitals", "position", "words_before", "log_page_words", "page_link_share", "parent_log_words",
    "parent_link_share", "parent_blocks", "parent_main", "grand_log_words", "grand_link_share", "grand_main",
    "great_log_words", "great_link_share", "great_main", "great_second", "depth", "level", "repeated", "legal",
    "after_h1", "same_shape", "page_comment_ratio", "is_forum", "is_product", "is_article", "is_list_page",
    *(f"kind_{kind.value}" for kind in _KINDS), *(f"in_{name}" for name in _BITS),
    *(f"own_{name}" for name in _ROLE_NAMES),
)  # fmt: skip

_AROUND = tuple(
    FEATURES.index(f"in_{name}")
    for name in ("nav", "footer", "aside", "form", "navigation", "side", "related", "social", "overlay", "advert")
)
_LINK_SHARE = FEATURES.index("link_share")


@dataclass(frozen=True, slots=True)
class Votes:
    """What the extractors chose: main text and comments of the first, text of the second; and the page's types."""

    main: str
    comments: str
    second: str
    types: frozenset[str] = frozenset()


def is_plain(row: Sequence[float]) -> bool:
    """Whether a block (its row of features) stands neither in what surrounds content nor is mostly links."""
    return not any(row[place] for place in _AROUND) and row[_LINK_SHARE] < 0.5


def is_made_of_records(types: frozenset[str]) -> bool:
    """Whether the page says that it is a forum, a shop or a list, and no article."""
    names = {name.lower() for name in types}
    if any("article" in name or name == "blogposting" for name in names):
        return False
    return bool(names & (_FORUM_TYPES | _GOODS_TYPES | _LIST_TYPES))


@dataclass(slots=True)
class _Sums:
    """Totals of the blocks under an element."""

    words: int = 0
    linked: int = 0
    blocks: int = 0
    main: float = 0.0
    second: float = 0.0


def features_of(found: Sequence[Found], votes: Votes) -> list[list[float]]:
    """One row of numbers per block, in the order of `FEATURES`."""
    words = [_WORD.findall(item.block.text.lower()) for item in found]
    counts = [len(row) for row in words]
    linked = [_linked_words(item) for item in found]
    main, comments, second = (_shares(words, text) for text in (votes.main, votes.comments, votes.second))
    total = max(sum(counts), 1)
    sums = _sums(found, counts, linked, main, second)
    flags: dict[HtmlElement, tuple[int, int, int]] = {}
    repeats = Counter(item.block.text for item in found)
    shapes = Counter(shape_of(item) for item in found)
    page = _page_features(votes, total, sum(linked))
    heading = next((i for i, item in enumerate(found) if item.element.tag == "h1"), -1)
    before = 0
    rows: list[list[float]] = []
    for index, item in enumerate(found):
        block, text = item.block, item.block.text
        near = range(max(index - 3, 0), min(index + 4, len(found)))
        around = max(sum(counts[n] for n in near), 1)
        chain = _ancestors(item.element, sums)
        inside, own, depth = _flags(item.element, flags)
        parent = item.element.getparent()
        above = 0 if parent is None else _flags(parent, flags)[1]
        head = text[:_HEAD_CHARS]
        letters = max(len(head), 1)
        rows.append(
            [
                main[index], comments[index], second[index],
                main[index - 1] if index else 0.0, main[index + 1] if index + 1 < len(found) else 0.0,
                second[index - 1] if index else 0.0, second[index + 1] if index + 1 < len(found) else 0.0,
                sum(main[n] * counts[n] for n in near) / around, sum(second[n] * counts[n] for n in near) / around,
                page.main_ratio, page.second_ratio,
                math.log1p(counts[index]), linked[index] / max(counts[index], 1),
                float(_SENTENCE_END.search(text) is not None), len(_COMMA.findall(text)) / max(counts[index], 1),
                len(_DIGIT.findall(head)) / letters, len(_CAPITAL.findall(head)) / letters,
                index / len(found), before / total, page.log_words, page.link_share,
                *_container(chain, 0), *_container(chain, 1, 3), *_container(chain, 2, 4),
                float(depth), float(block.level), float(min(repeats[text], 10)), float(_LEGAL.search(text) is not None),
                float(0 <= heading < index), math.log1p(shapes[shape_of(item)]),
                page.comment_ratio, page.is_forum, page.is_product, page.is_article, page.is_list_page,
                *_KIND_ROWS[block.kind], *_bit_row(inside), *_role_row(own | above),
            ]
        )  # fmt: skip
        before += counts[index]
    return rows


@dataclass(frozen=True, slots=True)
class _Page:
    main_ratio: float
    second_ratio: float
    comment_ratio: float
    log_words: float
    link_share: float
    is_forum: float
    is_product: float
    is_article: float
    is_list_page: float


def _page_features(votes: Votes, total: int, linked: int) -> _Page:
    sizes = [len(_WORD.findall(text)) for text in (votes.main, votes.second, votes.comments)]
    types = {name.lower() for name in votes.types}
    return _Page(
        sizes[0] / total,
        sizes[1] / total,
        sizes[2] / total,
        math.log1p(total),
        linked / total,
        float(bool(types & (_FORUM_TYPES - _SAID))),
        float(bool(types & (_GOODS_TYPES - _SAID))),
        float(any("article" in name or name == "blogposting" for name in types)),
        float(bool(types & (_LIST_TYPES - _SAID))),
    )


def shares_of(found: Sequence[Found], text: str) -> list[float]:
    """For each block how much of it stands in `text`."""
    return _shares([_WORD.findall(item.block.text.lower()) for item in found], text)


def _shares(words: list[list[str]], text: str) -> list[float]:
    """For each block how much of it stands in `text`, by runs of words; short blocks by whole lines."""
    if not text:
        return [0.0] * len(words)
    whole = _WORD.findall(text.lower())
    runs = set(zip(whole, whole[1:], whole[2:], strict=False))
    lines = {" ".join(_WORD.findall(line)) for line in text.lower().splitlines()}
    shares: list[float] = []
    for row in words:
        if len(row) < _RUN:
            shares.append(float(bool(row) and " ".join(row) in lines))
        else:
            count = len(row) - _RUN + 1
            shares.append(sum(run in runs for run in zip(row, row[1:], row[2:], strict=False)) / count)
    return shares


def _linked_words(item: Found) -> int:
    text = item.block.text
    return sum(len(text[m.start : m.end].split()) for m in item.block.marks if m.kind is MarkKind.LINK)


def shape_of(item: Found) -> tuple[str, str]:
    """How the block is built: its tag, and the tag and class of what holds it."""
    parent = item.element.getparent()
    return item.element.tag, "" if parent is None else f"{parent.tag} {parent.get('class') or ''}"


def _sums(
    found: Sequence[Found], counts: list[int], linked: list[int], main: list[float], second: list[float]
) -> dict[HtmlElement, _Sums]:
    sums: dict[HtmlElement, _Sums] = {}
    for item, words, links, first, other in zip(found, counts, linked, main, second, strict=True):
        element = item.element
        while element is not None:
            total = sums.setdefault(element, _Sums())
            total.words += words
            total.linked += links
            total.blocks += 1
            total.main += first * words
            total.second += other * words
            element = element.getparent()
    return sums


def _ancestors(element: HtmlElement, sums: dict[HtmlElement, _Sums]) -> list[_Sums]:
    """The next three containers that hold more blocks than the one before."""
    chain: list[_Sums] = []
    blocks = 1
    parent = element.getparent()
    while parent is not None and len(chain) < 3:
        total = sums[parent]
        if total.blocks > blocks:
            chain.append(total)
            blocks = total.blocks
        parent = parent.getparent()
    return chain


def _container(chain: list[_Sums], place: int, width: int = 4) -> tuple[float, ...]:
    """Size, link share, share of the main and of the second vote of a container; blocks too when `width` is 4."""
    if not chain:
        return (0.0,) * width
    sums = chain[min(place, len(chain) - 1)]
    words = max(sums.words, 1)
    size, links, main = math.log1p(words), sums.linked / words, sums.main / words
    if place == 0:
        return size, links, math.log1p(sums.blocks), main
    return (size, links, main) if place == 1 else (size, links, main, sums.second / words)


def _flags(element: HtmlElement, known: dict[HtmlElement, tuple[int, int, int]]) -> tuple[int, int, int]:
    """Bits of everything around the element and its own, its own alone, and its depth."""
    found = known.get(element)
    if found is None:
        parent = element.getparent()
        if parent is None or element.tag in {"html", "body"}:
            found = (0, 0, 0)
        else:
            above, _, depth = _flags(parent, known)
            own = _BITS.get(element.tag, 0)
            role = element.get("role")
            if role:
                own |= _BITS.get(_LANDMARKS.get(role, ""), 0)
            own |= _role_bits(element.get("class") or "", element.get("id") or "")
            found = (above | own, own, depth + 1)
        known[element] = found
    return found


@lru_cache(maxsize=8_192)
def _role_bits(classes: str, name: str) -> int:
    """The roles that class names and an id spell out."""
    bits = 0
    for match in _ROLES.finditer(_CAMEL.sub("-", f"{classes[:200]} {name[:100]}").lower()):
        bits |= _BITS[match.lastgroup or ""]
    return bits


@lru_cache(maxsize=8_192)
def _bit_row(bits: int) -> tuple[float, ...]:
    return tuple(1.0 if bits & bit else 0.0 for bit in _BITS.values())


@lru_cache(maxsize=8_192)
def _role_row(bits: int) -> tuple[float, ...]:
    return tuple(1.0 if bits & _BITS[name] else 0.0 for name in _ROLE_NAMES)
