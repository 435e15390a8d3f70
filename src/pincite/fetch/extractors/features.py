"""What can be seen of a block besides its words: place in the tree, links, neighbours, what two extractors made of it.

The features say nothing about subject or language. They feed `main_content`.
"""

import math
import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from itertools import chain as chained
from operator import itemgetter, mul

from lxml.html import HtmlElement

from pincite.domain.frozen import dataclass
from pincite.domain.page import BlockKind, MarkKind
from pincite.fetch.extractors.blocks import Found

_WORD = re.compile(r"\w+")
# Words in a row that an extractor chose: two are often a phrase of any page. The trees are trained with it, as with the
# two lengths below; who changes one trains them anew.
_RUN = 3

# Roles that class names, ids and ARIA attributes commonly spell out.
_ROLE_WORDS = (
    ("navigation", r"nav|navbar|menu|breadcrumbs?|pagination|pager|skip|toolbar|tabs?"),
    ("chrome", r"header|masthead|banner|top|logo|brand|footer|bottom|copyright|colophon|legal"),
    ("side", r"sidebar|aside|side|widget|rail|secondary|complementary"),
    (
        "related",
        r"related|recommend[a-z]*|more|popular|trending|latest|similar|next|prev[a-z]*|also|readmore|teasers?|promo",
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
_ROLES = re.compile("|".join(rf"(?P<{name}>{words})" for name, words in _ROLE_WORDS))
_ROLE_NAMES = tuple(name for name, _ in _ROLE_WORDS)
_NAME_PART = re.compile(r"[A-Z]*[a-z]+|[A-Z]+")
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
_COMMAS = (",", ";", "、", "，")
_DIGIT = re.compile(r"[0-9]")
_CAPITAL = re.compile(r"[A-ZÀ-ÖØ-ÞΑ-ΩА-Я]")
# Shares of digits and capitals settle long before; longer blocks cost time only.
_HEAD_CHARS = 1_000
_ENDING_CHARS = 40
_LEGAL = ("©", "(c) ", "all rights reserved", "copyright")

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

_AROUND = itemgetter(
    *(
        FEATURES.index(f"in_{name}")
        for name in ("nav", "footer", "aside", "form", "navigation", "side", "related", "social", "overlay", "advert")
    )
)
_LINK_SHARE = FEATURES.index("link_share")
_IN_COMMENT = FEATURES.index("in_comment")


@dataclass(frozen=True, slots=True)
class Votes:
    """What the extractors chose: main text and comments of the first, text of the second."""

    main: str
    comments: str
    second: str


def is_plain(row: Sequence[float]) -> bool:
    """Whether a block (its row of features) stands neither in what surrounds content nor is mostly links."""
    return not is_around(row) and row[_LINK_SHARE] < 0.5


def is_around(row: Sequence[float]) -> bool:
    """Whether a block (its row of features) stands in what surrounds content."""
    return any(_AROUND(row))


def is_remark(row: Sequence[float]) -> bool:
    """Whether a block (its row of features) stands in what is called a comment or holds them."""
    return bool(row[_IN_COMMENT])


def is_mostly_links(item: Found) -> bool:
    """Whether half of the block's words are links and more."""
    return 2 * _linked_words(item) >= len(item.block.text.split())


def is_made_of_records(types: frozenset[str]) -> bool:
    """Whether the page says that it is a forum, a shop or a list, and no article."""
    names = {name.lower() for name in types}
    return not any(map(_is_article, names)) and bool(names & (_FORUM_TYPES | _GOODS_TYPES | _LIST_TYPES))


def is_forum(types: frozenset[str]) -> bool:
    """Whether the page says that it is a thread, and no article."""
    return is_made_of_records(types) and not _FORUM_TYPES.isdisjoint(map(str.lower, types))


def _is_article(type_name: str) -> bool:
    return "article" in type_name or type_name == "blogposting"


@dataclass(slots=True)
class _Sums:
    """Totals of the blocks under an element, and those of what holds it."""

    holder: "_Sums | None"
    depth: int
    words: int = 0
    linked: int = 0
    blocks: int = 0
    main: float = 0.0
    second: float = 0.0


class BlockFeatures:
    """The features of the blocks of a page; what does not depend on the votes is worked out once."""

    def __init__(self, found: Sequence[Found], types: frozenset[str]) -> None:
        self._found = found
        lowered = [item.block.text.lower() for item in found]
        self._words = [_WORD.findall(text) for text in lowered]
        self._counts = [len(row) for row in self._words]
        self._linked = [_linked_words(item) for item in found]
        self._total = max(sum(self._counts), 1)
        names = {name.lower() for name in types} - _SAID
        told = (float(bool(names & kinds)) for kinds in (_FORUM_TYPES, _GOODS_TYPES, _LIST_TYPES))
        self._types = (*told, float(any(map(_is_article, names))))
        self._legal = [float(any(map(text.__contains__, _LEGAL))) for text in lowered]
        self._known_shares: dict[str, tuple[list[float], float]] = {}
        self._containers = _Containers(found, self._counts, self._linked)
        self._fixed = self._fixed_parts()

    def rows(self, votes: Votes) -> list[list[float]]:
        """One row per block with what these votes say of it."""
        counts = self._counts
        (main, main_size), (second, second_size), (comments, commented) = map(
            self._shares, (votes.main, votes.second, votes.comments)
        )
        boxes = self._containers.around(main, second)
        head = [math.log1p(self._total), sum(self._linked) / self._total]
        is_forum, is_product, is_list_page, is_article = self._types
        last = len(self._found) - 1
        rows: list[list[float]] = []
        for index, (own, after) in enumerate(zip(*self._fixed, strict=True)):
            low, high = max(index - 3, 0), index + 4
            near = counts[low:high]
            around = max(sum(near), 1)
            rows.append(
                [
                    main[index], comments[index], second[index],
                    main[index - 1] if index else 0.0, main[index + 1] if index < last else 0.0,
                    second[index - 1] if index else 0.0, second[index + 1] if index < last else 0.0,
                    sum(map(mul, main[low:high], near)) / around, sum(map(mul, second[low:high], near)) / around,
                    main_size, second_size, *own, *head, *boxes[index], *after[0],
                    commented, is_forum, is_product, is_article, is_list_page, *after[1],
                ]
            )  # fmt: skip
        return rows

    def _shares(self, text: str) -> tuple[list[float], float]:
        """For each block how much of it stands in a vote, and the vote's words for one of the page; looked at once."""
        known = self._known_shares.get(text)
        if known is None:
            shares, size = _shares(self._words, text)
            known = self._known_shares[text] = (shares, size / self._total)
        return known

    def _fixed_parts(self) -> tuple[list[tuple[float, ...]], list[tuple[tuple[float, ...], tuple[float, ...]]]]:
        found, counts, linked, total = self._found, self._counts, self._linked, self._total
        flags: dict[HtmlElement, tuple[int, int, int]] = {}
        repeats = Counter(item.block.text for item in found)
        shapes = [shape_of(item) for item in found]
        alike = Counter(shapes)
        heading = next((i for i, item in enumerate(found) if item.element.tag == "h1"), len(found))
        before = 0
        own: list[tuple[float, ...]] = []
        after: list[tuple[tuple[float, ...], tuple[float, ...]]] = []
        for index, item in enumerate(found):
            text, words = item.block.text, max(counts[index], 1)
            inside, mine, depth = _flags(item.element, flags)
            parent = item.element.getparent()
            above = 0 if parent is None else _flags(parent, flags)[1]
            head = text[:_HEAD_CHARS]
            letters = max(len(head), 1)
            own.append(
                (
                    math.log1p(counts[index]), linked[index] / words,
                    float(_SENTENCE_END.search(text, max(len(text) - _ENDING_CHARS, 0)) is not None),
                    sum(map(text.count, _COMMAS)) / words, len(_DIGIT.findall(head)) / letters,
                    len(_CAPITAL.findall(head)) / letters, index / len(found), before / total,
                )
            )  # fmt: skip
            place = (
                float(depth), float(item.block.level), float(min(repeats[text], 10)),
                self._legal[index], float(heading < index), math.log1p(alike[shapes[index]]),
            )  # fmt: skip
            roles = _bit_row(mine | above)[len(_TAG_NAMES) :]
            after.append((place, (*_KIND_ROWS[item.block.kind], *_bit_row(inside), *roles)))
            before += counts[index]
        return own, after


def shares_of(found: Sequence[Found], text: str) -> list[float]:
    """For each block how much of it stands in `text`."""
    if not text:
        return [0.0] * len(found)
    return _shares([_WORD.findall(item.block.text.lower()) for item in found], text)[0]


def _shares(words: list[list[str]], text: str) -> tuple[list[float], int]:
    """For each block how much of it stands in `text`, by runs of words; short blocks by whole lines. And its words."""
    if not text:
        return [0.0] * len(words), 0
    lines = [_WORD.findall(line) for line in text.lower().splitlines()]
    whole = list(chained.from_iterable(lines))
    stands = set(zip(whole, whole[1:], whole[2:], strict=False)).__contains__
    known = set(map(" ".join, lines)).__contains__
    shares: list[float] = []
    for row in words:
        if row and known(" ".join(row)):
            shares.append(1.0)
        elif len(row) < _RUN:
            shares.append(0.0)
        else:
            runs = zip(row, row[1:], row[2:], strict=False)
            shares.append(sum(map(stands, runs)) / (len(row) - _RUN + 1))
    return shares, len(whole)


def _linked_words(item: Found) -> int:
    text = item.block.text
    return sum(len(text[m.start : m.end].split()) for m in item.block.marks if m.kind is MarkKind.LINK)


def shape_of(item: Found) -> tuple[str, str]:
    """How the block is built: its tag, and the tag and class of what holds it."""
    parent = item.element.getparent()
    return item.element.tag, "" if parent is None else f"{parent.tag} {parent.get('class') or ''}"


def kind_of(shape: tuple[str, str]) -> tuple[str, str]:
    """The shape without the class names that count (`post-1203`): those tell one record from the next."""
    tag, holder = shape
    return tag, " ".join(name for name in holder.split() if _DIGIT.search(name) is None) if holder else ""


class _Containers:
    """What the next three containers of a block hold; one answer for all blocks of a parent.

    How the page is built does not depend on the votes and is looked at once.
    """

    def __init__(self, found: Sequence[Found], counts: list[int], linked: list[int]) -> None:
        self._sums: dict[HtmlElement, _Sums] = {}
        self._counts = counts
        self._own = [self._at(item.element) for item in found]
        for total, words, links in zip(self._own, counts, linked, strict=True):
            total.words += words
            total.linked += links
            total.blocks += 1
        self._inside_out = sorted(self._sums.values(), key=lambda total: -total.depth)
        for total in self._inside_out:
            if (holder := total.holder) is not None:
                holder.words += total.words
                holder.linked += total.linked
                holder.blocks += total.blocks
        self._around = [total.holder for total in self._own]
        self._chains = {id(holder): _chain(holder) for holder in self._around}

    def _at(self, element: HtmlElement) -> _Sums:
        """The totals of an element; those of all around it come with them."""
        known = self._sums.get(element)
        if known is None:
            parent = element.getparent()
            holder = None if parent is None else self._at(parent)
            known = self._sums[element] = _Sums(holder, 0 if holder is None else holder.depth + 1)
        return known

    def around(self, main: list[float], second: list[float]) -> list[tuple[float, ...]]:
        """For each block size, links, votes of the next three containers that hold more blocks than the one before."""
        for total in self._inside_out:
            total.main = total.second = 0.0
        for total, words, first, other in zip(self._own, self._counts, main, second, strict=True):
            total.main += first * words
            total.second += other * words
        for total in self._inside_out:
            if (holder := total.holder) is not None:
                holder.main += total.main
                holder.second += total.second
        known = {
            place: (*_container(chain, 0), *_container(chain, 1, 3), *_container(chain, 2, 4))
            for place, chain in self._chains.items()
        }
        return [known[id(holder)] for holder in self._around]


def _chain(holder: _Sums | None) -> list[_Sums]:
    """The next three containers that hold more blocks than the one before."""
    chain: list[_Sums] = []
    blocks = 1
    while holder is not None and len(chain) < 3:
        if holder.blocks > blocks:
            chain.append(holder)
            blocks = holder.blocks
        holder = holder.holder
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
            landmark = _LANDMARKS.get(element.get("role") or "", "")
            own = _BITS.get(element.tag, 0) | _BITS.get(landmark, 0)
            own |= _role_bits(element.get("class") or "", element.get("id") or "")
            found = (above | own, own, depth + 1)
        known[element] = found
    return found


@lru_cache(maxsize=8_192)
def _role_bits(classes: str, name: str) -> int:
    """The roles that class names and an id spell out."""
    bits = 0
    for part in _NAME_PART.findall(f"{classes[:200]} {name[:100]}"):
        bits |= _bits_of_word(part)
    return bits


@lru_cache(maxsize=8_192)
def _bits_of_word(word: str) -> int:
    """The role that one word of a name spells out; few words make up the names of most sites."""
    match = _ROLES.fullmatch(word.lower())
    return _BITS[match.lastgroup or ""] if match else 0


@lru_cache(maxsize=8_192)
def _bit_row(bits: int) -> tuple[float, ...]:
    return tuple(1.0 if bits & bit else 0.0 for bit in _BITS.values())
