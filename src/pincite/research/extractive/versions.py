"""Pages that are one page in several versions or copies, and how many independent sources stand behind claims.

Mirrors, syndicated copies and one publisher's pages count once.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from pincite.domain.errors import InputError, PolicyRefusal
from pincite.domain.evidence import Claim, Relation
from pincite.domain.frozen import dataclass
from pincite.domain.plan import ReadPage
from pincite.text.normalise import fold
from pincite.text.similarity import cluster
from pincite.text.tokens import words
from pincite.urls.keys import url_key
from pincite.urls.parse import registrable_domain

# A passage of at least so many words that two pages share word for word was written once.
COPIED_WORDS = 12


@dataclass(frozen=True, slots=True)
class Backing:
    """One page that backs a claim: where it is, its text, and the passage that backs it.

    `publisher` names who stands behind it where the address doesn't tell; empty: its registrable domain.
    """

    url: str
    text: str
    passage: str = ""
    publisher: str = ""


def groups(backings: Sequence[Backing]) -> tuple[int, ...]:
    """For each page the index of the first one that it is not independent of; its own index if it is independent.

    Pages belong together when they are one page or work under two addresses, belong to one registrable domain, are
    nearly the same text, or share the passage word for word.
    """
    leaders = list(range(len(backings)))

    def leader(index: int) -> int:
        while leaders[index] != index:
            index = leaders[index]
        return index

    def join(first: int, second: int) -> None:
        low, high = sorted((leader(first), leader(second)))
        leaders[high] = low

    texts = [" ".join(word.lower() for word in words(fold(backing.passage).text)) for backing in backings]
    for marks in (
        [_key(backing.url) for backing in backings],
        [backing.publisher or _publisher(backing.url) for backing in backings],
        # Short passages can agree by chance.
        [text if text.count(" ") >= COPIED_WORDS - 1 else "" for text in texts],
    ):
        seen: dict[str, int] = {}
        for index, mark in enumerate(marks):
            if mark:
                join(seen.setdefault(mark, index), index)
    for index, first in enumerate(cluster([backing.text for backing in backings])):
        join(first, index)
    return tuple(leader(index) for index in range(len(backings)))


def independent_count(backings: Sequence[Backing]) -> int:
    """The number of independent sources among the pages."""
    return len(set(groups(backings)))


def _key(url: str) -> str:
    try:
        return url_key(url)
    except (InputError, PolicyRefusal):
        return url


def _publisher(url: str) -> str:
    try:
        return registrable_domain(url)
    except (InputError, PolicyRefusal):
        return url


# Pages less alike than this are different pages: chapter 1 and chapter 2, not version 1 and version 2.
_ALIKE = 0.5
_VERSION = re.compile(r"(?<![A-Za-z0-9.])[vV]?(?P<number>\d+(?:\.\d+){0,3}(?:[a-z]\d*)?)(?![A-Za-z0-9])(?!\.\d)")
_CHANNEL = re.compile(
    r"(?<![A-Za-z0-9])(?:latest|stable|current|devel|dev|main|master|nightly|beta|lts|next)(?![A-Za-z0-9])"
)
_YEAR = re.compile(r"(?:19|20)\d\d")
_SCHEME = re.compile(r"^[a-z]+://[^/]*")


@dataclass(frozen=True, slots=True)
class Versions:
    """The version of each page that was read in several: by URL, its group and what the version is called."""

    found: Mapping[str, tuple[str, str]]

    def label(self, url: str) -> str:
        """What the page's version is called; empty when the page was read in one version only."""
        return self.found.get(url, ("", ""))[1]

    def group(self, url: str) -> str:
        """What the versions of one page have in common; empty when the page was read in one version only."""
        return self.found.get(url, ("", ""))[0]

    def siblings(self, one: str, other: str) -> bool:
        """Whether two URLs are one page in two versions."""
        (first, first_label), (second, second_label) = (self.found.get(url, ("", "")) for url in (one, other))
        return bool(first) and first == second and first_label != second_label


def versions_of(pages: Sequence[ReadPage]) -> Versions:
    """The pages that differ in the version in their title or address and are otherwise half alike or more."""
    return _versions(tuple((page.url, page.document.title, page.document.text) for page in pages))


@lru_cache(maxsize=4)
def _versions(pages: tuple[tuple[str, str, str], ...]) -> Versions:
    found: dict[str, tuple[str, str]] = {}
    for of_title in (True, False):
        groups: defaultdict[str, list[tuple[str, str, str]]] = defaultdict(list)
        for url, title, text in pages:
            key, version = _split(title if of_title else _SCHEME.sub("", url))
            place = (_SCHEME.match(url) or [""])[0] if not of_title else ""
            if version and url not in found:
                groups[f"{of_title}|{place}|{key}"].append((url, version, text))
        for key, members in groups.items():
            if len({version for _, version, _ in members}) > 1:
                _alike(key, members, found)
    return Versions(found)


def _alike(key: str, members: Sequence[tuple[str, str, str]], found: dict[str, tuple[str, str]]) -> None:
    """Keep the members that are like another one."""
    leaders = cluster([text for _, _, text in members], threshold=_ALIKE)
    for (url, version, _), leader in zip(members, leaders, strict=True):
        if leaders.count(leader) > 1:
            found[url] = (f"{key}|{leader}", version)


def _split(text: str) -> tuple[str, str]:
    """The text without its last version, and that version in words: "Version 15", "2024 version", "latest"."""
    matches = list(_VERSION.finditer(text))
    if matches:
        last = matches[-1]
        number = last["number"]
        name = f"{number} version" if _YEAR.fullmatch(number) else f"Version {number}"
        return f"{text[: last.start()]}*{text[last.end() :]}", name
    channel = _CHANNEL.search(text)
    if channel is None:
        return text, ""
    return f"{text[: channel.start()]}*{text[channel.end() :]}", channel.group()


def version_labels(pages: Sequence[ReadPage]) -> Mapping[str, str]:
    """The version of each page by URL, for the pages that were read in several versions."""
    return {url: label for url, (_, label) in versions_of(pages).found.items()}


def independent_sources(claims: Iterable[Claim], pages: Mapping[str, ReadPage]) -> int:
    """Sources behind claims that say the same: copies, mirrors and one publisher's pages count once.

    Near-copies were found when the pages were read. A page of a local library counts as its own publisher: who wrote
    the files of a folder is not known, and what they copy from each other counts once all the same.
    """
    passages: dict[str, str] = {}
    for claim in claims:
        for evidence in claim.evidence:
            if evidence.relation is not Relation.CONTRADICTS:
                passages[evidence.url] = f"{passages.get(evidence.url, '')} {evidence.quote.text}".strip()
    versions = versions_of(tuple(pages.values()))
    return independent_count([_backing(url, passage, pages, versions) for url, passage in passages.items()])


def _backing(url: str, passage: str, pages: Mapping[str, ReadPage], versions: Versions) -> Backing:
    """Near-copies are one page, and versions of a page have one publisher."""
    original = pages[url].duplicate_of or url
    own = original if original.startswith("local:") else ""
    return Backing(original, "", passage, publisher=versions.group(original) or own)
