"""How many sources really stand behind a claim: mirrors, syndicated copies and one publisher's pages count once."""

from collections.abc import Sequence

from pincite.domain.errors import InputError, PolicyRefusal
from pincite.domain.frozen import dataclass
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
