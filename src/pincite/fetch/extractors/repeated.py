"""Posts of a thread and entries of a list that nothing but the page's layout tells: siblings of one shape."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice

from lxml import etree
from lxml.html import HtmlElement

from pincite.domain.frozen import dataclass
from pincite.domain.items import Item, ItemKind
from pincite.domain.page import BlockKind
from pincite.fetch.extractors.blocks import Found
from pincite.fetch.extractors.characters import clean_line
from pincite.fetch.extractors.metadata import parse_date

MARKUP = re.compile(r"<[^<>]*>")
# Names, prices and states; longer ones are text. Chosen, not measured.
_MAX_VALUE_CHARS = 200
# A long thread has two a post.
_MAX_TIMES = 500
_INTEGER = re.compile(r"[-+]?\d{1,3}(?:[,. ]?\d{3})*")
_DATED = etree.XPath(
    "//*[self::time or @data-time or contains(@class, 'date') or contains(@class, 'time')"
    " or contains(@class, 'posted')]"
)
_TIME_VALUES = ("datetime", "title", "content", "data-time-string", "data-date")
_SIGNERS = etree.XPath(
    "descendant-or-self::*[@itemprop='author' or @rel='author' or @data-author or contains(@class, 'author')"
    " or contains(@class, 'username') or contains(@class, 'user-name') or contains(@class, 'poster')"
    " or contains(@class, 'byline') or contains(@class, 'nick') or contains(@class, 'member')"
    " or self::a[contains(@href, '/user') or contains(@href, '/member') or contains(@href, '/profile')"
    " or contains(@href, '/u/') or contains(@href, '/people/') or contains(@href, '/~')]]"
)
_YEAR = re.compile(r"(?:19|20)\d\d")
_VOTED = re.compile(r"\b(?:votes?|score|upvotes?|vote-count|likes?|points)\b", re.IGNORECASE)
_ACCEPTED = re.compile(r"\b(?:accepted(?:-answer)?|solved|best-answer|is-solution|solution)\b", re.IGNORECASE)
_REMARKS = re.compile(r"\b(?:comments?|commentlist|replies|comment-list|disqus)\b", re.IGNORECASE)
_LINKED_HEADINGS = etree.XPath(
    "descendant::*[self::h1 or self::h2 or self::h3 or self::h4][.//a[@href] or ancestor::a]"
)
# First, middle and last names and a title; more is a sentence. Chosen, not measured.
_NAME_WORDS = 5
# A sentence: what is shorter beside a name and a date is a line of a list of threads.
_POST_WORDS = 8
# A question and an answer are a thread; fewer cards than five are often a teaser beside the text. Chosen, not measured.
_LEAST_POSTS, _LEAST_ENTRIES = 2, 5
# Title, picture, author, category, comments, "more"; what holds more is a list itself.
_MOST_LINKS = 6
# Menus and remarks around a list may be longer than the list.
_LISTED_SHARE = 0.25
# A card has its title some elements deep.
_CARD_DEPTH = 6


@dataclass(frozen=True, slots=True)
class Draft:
    """An item before its place in the text is known: the element that holds it, or the text it has."""

    item: Item
    element: HtmlElement | None
    text: str = ""


def integer(text: str) -> int | None:
    """The whole number that a text is."""
    match = _INTEGER.fullmatch(text.strip())
    return int(re.sub(r"[,. ]", "", match.group())) if match else None


def line_of(text: str) -> str:
    """A value as one clean line of bounded length."""
    return clean_line(MARKUP.sub(" ", text))[:_MAX_VALUE_CHARS]


def posts(found: Sequence[Found], root: HtmlElement, *, is_forum: bool) -> list[Draft]:
    """The posts of a thread by layout: siblings of one shape, each with a time and a name.

    On a page that says it is a forum a time may be told by a class alone: that is a search through the tree.
    """
    marked = [element for element in root.iter("time", "abbr") if element.get("datetime") or element.get("title")]
    if is_forum and len(marked) < _LEAST_POSTS:
        marked = _DATED(root)
    times = [
        (element, moment)
        for element in marked[:_MAX_TIMES]
        if (moment := next(filter(None, (parse_date(value) for value in _time_values(element))), None))
    ]
    if len(times) < _LEAST_POSTS:
        return []
    kept = {element for item in found for element in (item.holder, *item.holder.iterancestors())}
    chains = [[element, *element.iterancestors()] for element, _ in times]
    groups: dict[tuple[HtmlElement, str, str], dict[HtmlElement, int]] = defaultdict(dict)
    for index in range(len(chains) - 1):
        later = {element: place for place, element in enumerate(chains[index + 1])}
        place = next((place for place, element in enumerate(chains[index]) if element in later), 0)
        below = later.get(chains[index][place], 0)
        if place == 0 or below == 0:
            continue
        pair = ((chains[index][place - 1], index), (chains[index + 1][below - 1], index + 1))
        if _shape(pair[0][0]) == _shape(pair[1][0]):
            for element, time in pair:
                groups[chains[index][place], *_shape(element)].setdefault(element, time)
    best: list[Draft] = []
    for (holder, _, names), members in groups.items():
        where = f"{names} {holder.get('class')} {holder.get('id')}"
        found_here = ((_post(element, where), times[time][1]) for element, time in members.items() if element in kept)
        drafts = [replace(one, item=replace(one.item, published_at=moment)) for one, moment in found_here if one]
        if len(drafts) >= _LEAST_POSTS and len(drafts) > len(best) and 2 * len(drafts) > len(members):
            best = drafts
    return best


def _time_values(element: HtmlElement) -> Iterator[str]:
    """What may be the date of an element: none is without its year."""
    values = [value for name in _TIME_VALUES if (value := element.get(name))]
    if len(element) < 3:
        values.append(element.text_content()[:_MAX_VALUE_CHARS])
    return filter(_YEAR.search, values)


def _shape(element: HtmlElement) -> tuple[str, str]:
    """The tag of an element and the first of its classes: those after it say odd, even, first, last."""
    return str(element.tag), next(iter((element.get("class") or "").split()), "")


def _post(element: HtmlElement, names: str) -> Draft | None:
    """A post, if the element has a name in it and says something besides; under a linked heading it is a teaser."""
    if len(element.text_content().split()) < _POST_WORDS:
        return None
    signers = [(signer.tag != "a", " ".join(signer.text_content().split())) for signer in _SIGNERS(element)[:10]]
    named = [(far, len(name.split()), name) for far, name in signers if len(name) > 1 and not parse_date(name)]
    _, words, author = min(named, key=lambda one: one[:2], default=(True, _NAME_WORDS + 1, ""))
    if words > _NAME_WORDS:
        return None
    votes = accepted = None
    for inner in element.iter():
        classes = inner.get("class") or ""
        if votes is None and _VOTED.search(classes):
            votes = integer(inner.text_content()[:20])
        accepted = accepted or (_ACCEPTED.search(classes) is not None)
    heading = next(iter(_LINKED_HEADINGS(element)), None)
    kind = ItemKind.COMMENT if _REMARKS.search(names) else ItemKind.POST if heading is None else ItemKind.ENTRY
    name = "" if heading is None else line_of(heading.text_content())
    item = Item(kind, "layout", name=name, author=line_of(author), votes=votes, accepted=bool(accepted))
    return Draft(item, element)


def entries(found: Sequence[Found], *, is_list: bool) -> list[Draft]:
    """The entries of a list by layout: siblings of one shape, each with its own link, that hold much of the text.

    A page is one that says so, or whose text is mostly links.
    """
    total = sum(len(item.block.text) for item in found)
    linked = sum(mark.end - mark.start for item in found for mark in item.block.marks if mark.href)
    if not is_list and 2 * linked < total:
        return []
    least = sum(len(item.block.text.split()) for item in found) * _LISTED_SHARE
    words: Counter[tuple[HtmlElement, str, str]] = Counter()
    members: dict[tuple[HtmlElement, str, str], dict[HtmlElement, list[Found]]] = defaultdict(lambda: defaultdict(list))
    for item in found:
        inner = item.holder
        for outer in islice(item.holder.iterancestors(), _CARD_DEPTH):
            group = (outer, *_shape(inner))
            words[group] += len(item.block.text.split())
            members[group][inner].append(item)
            inner = outer
    found_here: list[Draft] = []
    for group, size in words.items():
        if size >= least and len(members[group]) > max(len(found_here), _LEAST_ENTRIES - 1):
            drafts = [draft for element, inside in members[group].items() if (draft := _entry(element, inside))]
            if len({draft.item.url for draft in drafts}) == len(drafts) > len(found_here):
                found_here = drafts
    return found_here if len(found_here) >= _LEAST_ENTRIES else []


def _entry(element: HtmlElement, inside: Sequence[Found]) -> Draft | None:
    """An entry: its heading or longest link, and where that leads."""
    links = [
        (item.block.kind is BlockKind.HEADING, mark.end - mark.start, item.block.text[mark.start : mark.end], mark.href)
        for item in inside
        for mark in item.block.marks
        if mark.href
    ]
    if not 0 < len({address for *_, address in links}) <= _MOST_LINKS:
        return None
    _, _, name, address = max(links)
    return Draft(Item(ItemKind.ENTRY, "layout", name=line_of(name), url=address), element)
