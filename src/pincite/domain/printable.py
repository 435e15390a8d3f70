"""Text of others as it may be printed: on one line, without what moves a cursor or turns the direction of writing."""

import unicodedata
from datetime import datetime

from pincite.domain.codec import in_utc

_DIRECTION = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def one_line(text: str) -> str:
    """`text` on one line without control characters, direction overrides and lone surrogates."""
    line = " ".join(text.split())
    # Most lines: the look at each character is the slow way.
    if line.isascii() and line.isprintable():
        return line
    return " ".join("".join(map(_visible, line)).split())


def without_controls(text: str) -> str:
    """`text` as printable characters, line feeds and tabs: no other control, no direction override."""
    return "".join(character if character in "\n\t" else _visible(character) for character in text)


def day(moment: datetime) -> str:
    """The UTC day as `2026-11-21`."""
    return in_utc(moment).date().isoformat()


def linkable(url: str) -> bool:
    """Whether `url` may be a link: web addresses only, so that no page can smuggle in a script."""
    return url.lower().startswith(("https://", "http://"))


def _visible(character: str) -> str:
    category = unicodedata.category(character)
    # Half a surrogate pair can't be encoded: writing the report would fail.
    if category == "Cs":
        return "\N{REPLACEMENT CHARACTER}"
    return "" if category == "Cc" or character in _DIRECTION else character
