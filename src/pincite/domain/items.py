"""The things a page is made of: products, questions and answers, posts, comments, reviews, the entries of a list.

What a page says of each stands in its structured data or its layout; where each stands is offsets into `Document.text`.
"""

from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum

from pincite.domain.frozen import dataclass


class ItemKind(StrEnum):
    """What an item is."""

    PRODUCT = "product"
    QUESTION = "question"
    ANSWER = "answer"
    POST = "post"  # of a thread or a board
    COMMENT = "comment"  # on an article, a question, an answer: not the page's own text
    REVIEW = "review"
    ENTRY = "entry"  # of a list of links or goods


# What somebody signs: who says it is not the page's author.
SIGNED = frozenset({ItemKind.QUESTION, ItemKind.ANSWER, ItemKind.POST, ItemKind.COMMENT, ItemKind.REVIEW})


@dataclass(frozen=True, slots=True)
class Item:
    """One item of a page.

    `facts` are properties by schema.org's names (`price`, `priceCurrency`, `brand`, ...); `unseen` names those
    whose value stands nowhere in the text: the page's data says so, its reader is not told. So it is with `text`,
    what a reader's comment beside an article says. `parent` is the place in `Document.structure` of what an answer
    or a comment is about. `start` and `end` are None where the text of the document does not have the item.
    `source` is `json-ld`, `microdata`, `rdfa`, `open-graph` or `layout`.
    """

    kind: ItemKind
    source: str
    name: str = ""
    author: str = ""
    published_at: datetime | None = None
    votes: int | None = None
    accepted: bool = False
    url: str = ""
    facts: tuple[tuple[str, str], ...] = ()
    unseen: tuple[str, ...] = ()
    parent: int | None = None
    start: int | None = None
    end: int | None = None

    @property
    def signature(self) -> str:
        """Who says it, and when ("answer by Ada, 2021-03-02, accepted"); empty for goods.

        Votes change by the hour and are left out: evidence is compared with the page of another day.
        """
        if self.kind not in SIGNED or not (self.author or self.published_at):
            return ""
        by = f"{self.kind} by {self.author}" if self.author else str(self.kind)
        when = self.published_at.date().isoformat() if self.published_at else ""
        return ", ".join(part for part in (by, when, "accepted" if self.accepted else "") if part)


def item_at(structure: Sequence[Item], start: int, end: int) -> Item | None:
    """The innermost item that holds `[start, end)`."""
    around = (
        item
        for item in structure
        if item.start is not None and item.end is not None and item.start <= start and end <= item.end
    )
    return min(around, key=lambda item: (item.end or 0) - (item.start or 0), default=None)
