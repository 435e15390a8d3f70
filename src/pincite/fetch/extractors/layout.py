"""How a page is laid out, and which of its blocks that makes content, given how likely each is to be.

Plain values alone: `main_content` fills them in from a page, cross-validation (`benchmarks/content_model.py`) from
pages that it has read before.
"""

import math
import re
from collections import Counter
from collections.abc import Hashable, Sequence
from itertools import compress

from pincite.domain.frozen import dataclass
from pincite.domain.page import BlockKind

# The expected word F1 of a page from which on no second opinion is asked: it changes next to nothing. By cross-
# validation over 833 labelled pages (words, segments): never asked .860, .914; for half the pages .862, .922; for all
# .862, .926.
_SURE = 0.95
# The costly reader's time grows with the page, what it adds does not: a block more, and a page must look that much
# worse to be asked about. Chosen on half of the pages by site, as the least asking that costs nothing there (shingles
# .971 to .969, words .877, segments .937 to .939); the other half .959 to .961, .878 to .880, .907 to .902. It is asked
# about 155 pages of 833 instead of 413, and about a third of the blocks.
_LESS_SURE_A_BLOCK = 0.0006
_MAX_ASKED_BLOCKS = 300
# A page this small has no room for choosing: all of it counts that is not plainly around the content.
_TINY_WORDS = 80
# Structured data names the page's own text on one page in ten: words .864 to .866 by cross-validation (products .665 to
# .673), nothing lost elsewhere; with .7 for the odds half of that.
_STATED_SHARE, _STATED_ODDS = 0.8, 0.9
# A reader that finds a tenth of what another finds has missed the page (`html._OUTWEIGHS`).
FAR_LESS = 10
# Of the words of the text: what a headline may cost that the labels leave out. Chosen on half of the 833 pages by site
# (words .8790 to .8794, from .007 on shingles fall), on the other .8792 to .8788; all headlines cost .007 on shingles.
_HEADING_SHARE = 0.005
# A text of so many headings has a structure: its main heading comes back however short it is. Chosen likewise: shingles
# -.0003, on the other half -.0002.
_STRUCTURED_HEADINGS = 6
# So many headings, terms, tables and listings are kept on hardly any article.
_REFERENCE_PARTS = 10
# Of the words of the text: what holds so much of it is its container. With .8 alike.
_HOLDS_TEXT = 0.9
# A text with fewer such parts is an article: pages of goods and lists taught the trees to think more of what stands
# beside one. Chosen on half of the pages by site (three divisions, with `_whole`: shingles .9693 to .9722, words .8773
# to .8781, segments .9391 to .9442), on the other .9599 to .9641, .8822 to .8841, .9063 to .9090.
_PROSE_PARTS, _STRICTER = 3, 0.3
_STANDS_BETWEEN = frozenset({BlockKind.CODE, BlockKind.TABLE, BlockKind.LIST_ITEM, BlockKind.QUOTATION})
# Words of an article beside which comments are apart from the text; with fewer the page is a thread. With 40, 80 and
# 200 alike: words .8754 to .8769, segments .9226 to .9233 (forums .781 to .789: comments below answers).
_ARTICLE_WORDS = 200
_WORD = re.compile(r"\w+")
# What references are made of, and teasers are not: such blocks come back from any depth (nothing else changes by cross-
# validation; with all kinds words .8762 to .8757).
_REFERENCED = frozenset({BlockKind.TERM, BlockKind.DEFINITION, BlockKind.CODE, BlockKind.TABLE})
# A list in an item of a list that stands beside a paragraph: two lists and the item.
_LIST_DEPTH = 4
# Words of a block that may be left out for standing above already: fewer are a phrase that any two posts may share.
# On half of the sites forums .739 to .796, products .642 to .657, words .859 to .866 (4 alike); on the other
# half .871 to .884, .791 to .798, .906 to .907; elsewhere nothing.
_REPEATED_WORDS = 8
# What a caption leads to: that of a picture stands by itself, and the labels of articles leave it out.
CAPTIONED = frozenset({BlockKind.TABLE, BlockKind.CODE})
# Two blocks of one shape may be alike by chance. Chosen, not measured.
_GROUP_MIN = 3
# Chosen on half of 833 labelled pages by site, with shapes that leave numbers out: words .8699 to .8718, nothing else
# changes; the other half .8740 to .8751. Before, .3.
_AGREEMENT = 0.5


def agreed(odds: Sequence[float], sizes: Sequence[int], groups: Sequence[Hashable]) -> list[float]:
    """The probabilities, each moved towards that of the blocks of its group: posts, cards and rows go together.

    Half of the way, by log-odds weighed with size; groups of one or two are left alone.
    """
    logits = [_logit(odd) for odd in odds]
    members: dict[Hashable, list[int]] = {}
    for index, group in enumerate(groups):
        members.setdefault(group, []).append(index)
    agreeing = list(odds)
    for indexes in members.values():
        if len(indexes) < _GROUP_MIN:
            continue
        weights = [max(sizes[index], 1) for index in indexes]
        mean = sum(logits[index] * weight for index, weight in zip(indexes, weights, strict=True)) / sum(weights)
        for index in indexes:
            agreeing[index] = odd_of((1 - _AGREEMENT) * logits[index] + _AGREEMENT * mean)
    return agreeing


def moved(odds: Sequence[float], by: float) -> list[float]:
    """The probabilities, each moved by so many log-odds."""
    return [odd_of(_logit(odd) + by) for odd in odds]


def odd_of(logit: float) -> float:
    """The probability of log-odds."""
    return 1.0 / (1.0 + math.exp(-logit))


def _logit(odd: float) -> float:
    bounded = min(max(odd, 1e-4), 1 - 1e-4)
    return math.log(bounded / (1 - bounded))


def best_threshold(odds: Sequence[float], sizes: Sequence[int]) -> tuple[float, float]:
    """The probability from which on blocks are kept so that the expected word F1 of the page is highest, and that F1.

    Where the odds are clear this is near a half; on pages that are all lists and teasers it falls, because leaving
    out half of what might be content costs more than a line too many.
    """
    order = sorted(range(len(odds)), key=lambda index: -odds[index])
    expected = sum(odd * size for odd, size in zip(odds, sizes, strict=True))
    kept = right = best = 0.0
    least = 1.0
    for index in order:
        right += odds[index] * sizes[index]
        kept += sizes[index]
        score = 2 * right / (kept + expected) if kept + expected else 0.0
        if score > best:
            best, least = score, odds[index]
    return least, best


def without_last_headings(kept: Sequence[bool], headings: Sequence[bool]) -> list[bool]:
    """What is kept, but for headings at its end whose own section was left out ("You may also like")."""
    shown = list(kept)
    last = max((index for index, keep in enumerate(shown) if keep), default=-1)
    while 0 <= last < len(shown) - 1 and headings[last] and any(shown[:last]):
        shown[last] = False
        last = max(index for index in range(last) if shown[index])
    return shown


def with_section_headings(kept: Sequence[bool], levels: Sequence[int], around: Sequence[bool]) -> list[bool]:
    """What is kept, and the headings directly above it: what a passage is about may stand nowhere else.

    Several of one level in a row are a list of teasers: neither the last nor what is above heads the text (shingles
    .9678 to .9687 on the half of the pages where that was found, .9647 to .9655 on the other).

    Args:
        kept: for each block whether it is kept.
        levels: the level of each heading, 0 for what is none.
        around: whether the block stands in what surrounds content (navigation, footers, ...): such a heading comes back
            only where most of what is kept stands there too.
    """
    shown = list(kept)
    framed = 2 * sum(compress(around, kept)) > sum(kept)
    for index, level in enumerate(levels):
        if not level or shown[index] or (around[index] and not framed):
            continue
        if index and levels[index - 1] == level and not shown[index - 1]:
            continue
        below = index + 1
        while below < len(levels) and levels[below] > level and (levels[below] != levels[below - 1] or shown[below]):
            below += 1
        if below < len(levels) and kept[below] and not levels[below]:
            shown[index] = True
    return shown


def bare(text: str) -> str:
    """The words of a text, lower-case."""
    return f" {' '.join(_WORD.findall(text.casefold()))} "


def says(title: str, heading: str) -> bool:
    """Whether one of the two holds the other, or half of the letters of the heading are in words of the title."""
    if not title.strip() or not heading.strip():
        return False
    words = set(heading.split())
    shared = sum(map(len, words & set(title.split())))
    return title in heading or heading in title or 2 * shared >= sum(map(len, words))


@dataclass(frozen=True, slots=True)
class Layout:
    """What the choice knows of a page's blocks besides their odds: for each its words, shape, place and role.

    Plain values, so that cross-validation (`benchmarks/content_model.py`) chooses by the same rules as a reading.
    """

    sizes: tuple[int, ...]
    chars: tuple[int, ...]
    shapes: tuple[tuple[str, str], ...]
    kinds: tuple[BlockKind, ...]
    levels: tuple[int, ...]
    """The level of each heading, 0 for what is none."""
    holders: tuple[tuple[int, ...], ...]
    """Which element holds the block, which holds that, and so on, as numbers."""
    plain: tuple[bool, ...]
    around: tuple[bool, ...]
    leading: tuple[bool, ...]
    menus: tuple[bool, ...]
    """Whether the block stands in a menu of the page's header."""
    titles: tuple[bool, ...]
    """Whether the block is a heading of the first level that says the page's title."""
    stated: tuple[float, ...]
    """How much of the block the page's structured data names as its own text."""
    posts: tuple[bool, ...]
    """Whether the block stands in the words of a post, as the markup of a thread says."""
    remarks: tuple[bool, ...]
    """Whether the block stands in what is called a comment."""
    below: tuple[bool, ...]
    """Whether the block stands in a comment on a question or an answer, as the markup says."""
    records: bool
    """Whether the page says that it is made of records and no article."""
    texts: tuple[str, ...] = ()
    """On a page of records the text of each block."""

    def likely(self, odds: Sequence[float]) -> list[float]:
        """The odds, high where the page's structured data says the block is its own text."""
        return [
            max(odd, _STATED_ODDS) if share >= _STATED_SHARE or post else odd
            for odd, share, post in zip(odds, self.stated, self.posts, strict=True)
        ]

    def is_unsure(self, odds: Sequence[float]) -> bool:
        """Whether the costly reader is to be asked about a page that looks so to the cheap one."""
        asked = sum(self.sizes) >= _TINY_WORDS and len(odds) <= _MAX_ASKED_BLOCKS
        return asked and best_threshold(odds, self.sizes)[1] < _SURE - _LESS_SURE_A_BLOCK * len(odds)

    def kept(self, odds: Sequence[float]) -> list[bool]:
        """Which blocks are content, by what each is likely to be and by the kind of page."""
        if self.records:
            odds = agreed(odds, self.sizes, self.shapes)
        kept = self._likeliest(odds)
        if not self.records and self._parts(kept) < _PROSE_PARTS:
            kept = self._likeliest(moved(odds, -_STRICTER))
        if sum(self.sizes) < _TINY_WORDS:
            kept = [keep or plain for keep, plain in zip(kept, self.plain, strict=True)]
        kept = self._filled(kept)
        for index in range(len(kept) - 1):
            if not kept[index] and kept[index + 1] and self.leading[index]:
                kept[index] = True
        kept = with_section_headings(kept, self.levels, self.around)
        kept = without_last_headings(kept, [level > 0 for level in self.levels])
        kept = with_section_headings(kept, self.levels, self.around)
        kept = self._whole(self._with_main_heading(self._without_menus(kept)))
        kept = [keep or post for keep, post in zip(kept, self.posts, strict=True)]
        kept = [keep and not apart for keep, apart in zip(kept, self.apart(kept), strict=True)]
        return self._without_repeats(kept) if self.records else kept

    def _likeliest(self, odds: Sequence[float]) -> list[bool]:
        least, _ = best_threshold(odds, self.sizes)
        return [odd >= least for odd in odds]

    def _parts(self, kept: Sequence[bool]) -> int:
        """How many headings, terms, tables and listings are kept."""
        parts = (level > 0 or kind in _REFERENCED for level, kind in zip(self.levels, self.kinds, strict=True))
        return sum(compress(parts, kept))

    def _whole(self, kept: list[bool]) -> list[bool]:
        """What is kept, and in a reference all that is plain in the container of the text, if half of that was kept.

        The trees were trained on articles, between and below whose parts other things stand. A manual has no teasers
        between its sections, and does not end before its last: lists without sentences, a chapter of one line are text.
        """
        if self.records or self._parts(kept) < _REFERENCE_PARTS:
            return kept
        words: Counter[int] = Counter()
        for size, holders in compress(zip(self.sizes, self.holders, strict=True), kept):
            words.update(dict.fromkeys(holders, size))
        least = _HOLDS_TEXT * sum(compress(self.sizes, kept))
        chains = (holders[::-1] for holders in compress(self.holders, kept))
        found = ((depth, at) for chain in chains for depth, at in enumerate(chain) if words[at] >= least)
        _, text = max(found, default=(0, None))
        inside = [plain and text in holders for plain, holders in zip(self.plain, self.holders, strict=True)]
        left = sum(size for size, keep, own in zip(self.sizes, kept, inside, strict=True) if keep and own)
        if 2 * left < sum(compress(self.sizes, inside)):
            return kept
        return [keep or own for keep, own in zip(kept, inside, strict=True)]

    def _without_repeats(self, kept: list[bool]) -> list[bool]:
        """What is kept, but for blocks whose words all stand in kept blocks above.

        Replies quote the post they answer, and a page draws a post or an offer once more where it leads to it.
        """
        stood: set[tuple[str, ...]] = set()
        shown = list(kept)
        for index, text in enumerate(self.texts):
            if not kept[index]:
                continue
            words = _WORD.findall(text.casefold())
            runs = list(zip(*(words[place:] for place in range(_REPEATED_WORDS)), strict=False))
            shown[index] = not runs or not stood.issuperset(runs)
            stood.update(runs)
        return shown

    def apart(self, kept: Sequence[bool]) -> Sequence[bool]:
        """Which blocks are comments of readers, apart from the text that is kept; of a thread those on its posts."""
        text = (size for size, keep, remark in zip(self.sizes, kept, self.remarks, strict=True) if keep and not remark)
        beside = not self.records and sum(text) >= _ARTICLE_WORDS
        on_posts = any(self.posts)
        return [
            (beside and remark and not post) or (on_posts and below)
            for remark, post, below in zip(self.remarks, self.posts, self.below, strict=True)
        ]

    def _filled(self, kept: list[bool]) -> list[bool]:
        """What is kept, and code, tables, lists between kept blocks of a container; tables and code below a heading."""
        shown = list(kept)
        for index in range(1, len(kept) - 1):
            headed = self.levels[index - 1] and self.kinds[index] in CAPTIONED and self.plain[index]
            if shown[index] or self.kinds[index] not in _STANDS_BETWEEN or not (shown[index - 1] or headed):
                continue
            after = index + 1
            while after < len(kept) - 1 and not kept[after] and self.kinds[after] is self.kinds[index]:
                after += 1
            if kept[after] and self._is_between(index, after):
                shown[index:after] = [True] * (after - index)
        return shown

    def _is_between(self, first: int, after: int) -> bool:
        """Whether the blocks from `first` to `after` stand where those before and after them do, or in a list there.

        The block before may be an item of the same list: that it was kept and the others not is no reason to part them.
        """
        before, end = self.holders[first - 1][:2], self.holders[after][:2]
        holder = next((holder for holder in before if holder in end), None)
        depth = _LIST_DEPTH if self.kinds[first] is BlockKind.LIST_ITEM else 2
        return holder is not None and all(holder in self.holders[place][:depth] for place in range(first, after))

    def _without_menus(self, kept: list[bool]) -> list[bool]:
        """What is kept, but for the menus in the page's headers; they stay on a page that has next to nothing else."""
        shown = [keep and not menu for keep, menu in zip(kept, self.menus, strict=True)]
        left, before = (sum(compress(self.chars, choice)) for choice in (shown, kept))
        return shown if before <= FAR_LESS * left else kept

    def _with_main_heading(self, kept: Sequence[bool]) -> list[bool]:
        """What is kept, and the heading that says the page's title, where no heading of the first level is kept.

        The labels of articles leave headlines out, and the title of the document says the same: with a short text it
        stays out, on pages of records and with a long text it comes back.
        """
        shown = list(kept)
        if 1 in compress(self.levels, kept) or not any(self.titles):
            return shown
        heading = self.titles.index(True)
        words = sum(compress(self.sizes, kept))
        few = self.sizes[heading] < _HEADING_SHARE * words
        headings = sum(level > 0 for level in compress(self.levels, kept))
        shown[heading] = self.records or few or headings >= _STRUCTURED_HEADINGS
        return shown
