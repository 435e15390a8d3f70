"""A source in the one shape all surfaces use, and `normalize_citation` that makes it."""

import unicodedata
from collections.abc import Iterable
from datetime import datetime

from pincite.domain.codec import in_utc
from pincite.domain.errors import InvalidInput
from pincite.domain.frozen import dataclass

# Two to three lines: what a reader takes in beside the sentence that cites it.
EXCERPT_CHARS = 280
# A line and a half of a list of references.
_TOLD_APART_CHARS = 140


@dataclass(frozen=True, slots=True)
class Citation:
    """A source in the one shape all surfaces use."""

    url: str
    title: str
    accessed_at: str
    excerpt: str
    published_at: str | None = None

    def as_dict(self, *, camel_case: bool = False) -> dict[str, str]:
        """`{url, title, published_at?, accessed_at, excerpt}`, or with `publishedAt` and `accessedAt`."""
        published, accessed = ("publishedAt", "accessedAt") if camel_case else ("published_at", "accessed_at")
        dated = {} if self.published_at is None else {published: self.published_at}
        return {"url": self.url, "title": self.title, **dated, accessed: self.accessed_at, "excerpt": self.excerpt}


@dataclass(frozen=True, slots=True)
class ArchivedCopy:
    """A capture of a page in a public archive: when it was made, and where it can be read as it was captured."""

    url: str
    captured_at: datetime


def normalize_citation(
    url: str,
    title: str,
    accessed_at: datetime | str,
    excerpt: str,
    published_at: datetime | str | None = None,
) -> Citation:
    """The source as a Citation: UTC times, one-line title, excerpt of at most 280 characters cut on a word.

    `url` must already be canonical (`url_key` and `vet_url` make it so). Times without a zone are UTC. Idempotent:
    feeding the result back gives the same value.

    Errors: InvalidInput (a time given as text is not ISO 8601).
    """
    return Citation(
        url=url,
        title=" ".join(unicodedata.normalize("NFC", title).split()) or url,
        accessed_at=_utc(accessed_at),
        excerpt=cut_on_word(excerpt),
        published_at=None if published_at is None else _utc(published_at),
    )


def told_apart(title: str, headings: Iterable[str]) -> str:
    """The title of a page with what it begins with: all pages of a manual may be called as the manual."""
    own = next((heading for heading in headings if heading != title), "")
    return cut_on_word(": ".join(filter(None, (title, own))), _TOLD_APART_CHARS)


def _utc(moment: datetime | str) -> str:
    if isinstance(moment, str):
        try:
            moment = datetime.fromisoformat(moment)
        except ValueError as error:
            raise InvalidInput(f"not an ISO 8601 time: {moment!r}", reason="time_invalid") from error
    return in_utc(moment).isoformat(timespec="seconds").replace("+00:00", "Z")


def cut_on_word(text: str, most_chars: int = EXCERPT_CHARS) -> str:
    """`text` on one line of at most so many characters, cut between words where it can be; nothing where that is 0."""
    # A text may be a whole page; what is shown of it comes out of its beginning, white space aside.
    line = " ".join(unicodedata.normalize("NFC", text[: most_chars * 20]).split())
    if len(line) <= most_chars:
        return line
    head = line[: most_chars - 1]
    return (head[: head.rfind(" ")] if " " in head[most_chars // 2 :] else head).rstrip(" ,;:.-–—…") + "…"
