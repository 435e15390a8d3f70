"""Typographic folding with an offset map back to the original text.

Folding makes two spellings of the same characters equal: quotes, dashes, spaces, ligatures, full-width forms,
decomposed accents. It never changes case, digits or plain ASCII, so a match in folded text is a match for a reader.
"""

import re
import unicodedata
from bisect import bisect_right
from functools import lru_cache

from pincite.domain.frozen import dataclass

_DOUBLE_QUOTES = "“”„‟«»″〝〞〟＂"
_SINGLE_QUOTES = "‘’‚‛′ʼʹ＇‹›´"
_DASHES = "‐‑‒–—―−﹘﹣－⁃"
_DROPPED = "\u00ad\u200b\u200c\u200d\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2060\u2066\u2067\u2068\u2069\ufeff™®℠"
_FIXED = {
    **dict.fromkeys(_DOUBLE_QUOTES, '"'),
    **dict.fromkeys(_SINGLE_QUOTES, "'"),
    **dict.fromkeys(_DASHES, "-"),
    **dict.fromkeys(_DROPPED, ""),
    "…": "...",
    "⁄": "/",
}
# A base with its combining marks is one piece, whatever is dropped between them; otherwise every non-ASCII character is
# a piece of its own.
_MARKS = "\u0300-\u036f"
_PIECE = re.compile(f"[^\\s{_DROPPED}{_MARKS}][{_DROPPED}]*[{_MARKS}][{_MARKS}{_DROPPED}]*|[^\x00-\x7f]")
_DROP = str.maketrans("", "", _DROPPED)
_KEPT_FORMS = ("<super>", "<fraction>")


@dataclass(frozen=True, slots=True)
class Folded:
    """Folded text and the way back.

    `pieces` holds the places where characters don't map one to one: (folded start, folded end, original start,
    original end).
    """

    text: str
    pieces: tuple[tuple[int, int, int, int], ...] = ()
    starts: tuple[int, ...] = ()

    @property
    def flat(self) -> str:
        """The text on one line, one space between its words."""
        return " ".join(self.text.split())

    def span(self, start: int, end: int) -> tuple[int, int]:
        """The original half-open span that the folded span came from, whole characters of the original.

        A span that begins or ends inside an expanded character (the `f` of `ﬁ`) takes the whole character.
        """
        first = self._original(start, at_end=False)
        return (first, first) if start == end else (first, self._original(end, at_end=True))

    def _original(self, offset: int, *, at_end: bool) -> int:
        """The original offset; the end of a span maps the border after its last character."""
        position = offset - 1 if at_end else offset
        index = bisect_right(self.starts, position) - 1
        if index < 0:
            return position + at_end
        _, folded_end, original_start, original_end = self.pieces[index]
        if position < folded_end:
            return original_end if at_end else original_start
        return original_end + position - folded_end + at_end


@lru_cache(maxsize=8192)
def _fold_piece(piece: str) -> str:
    fixed = _FIXED.get(piece)
    if fixed is not None:
        return fixed
    if len(piece) > 1:
        return unicodedata.normalize("NFC", _fold_piece(piece[0]) + piece[1:].translate(_DROP))
    if piece.isspace():
        return "\n" if piece in "\u2028\u2029\x85" else " "
    # 10⁶ must not become 106, nor 3½ become 31/2: raised digits and fractions stay as they are.
    if unicodedata.decomposition(piece).startswith(_KEPT_FORMS):
        return piece
    return unicodedata.normalize("NFKC", piece)


def fold(text: str) -> Folded:
    r"""The text with typographic variants folded, and the map back. Plain ASCII comes back unchanged.

    Folded: quotes, dashes, spaces, ligatures, full-width and sub-script forms, decomposed accents, `…`. Dropped: soft
    hyphens, zero-width and direction marks, ™ and ®. Kept: case, raised digits, fractions, line breaks.
    """
    # Most of what is folded is plain English: nothing of it can change.
    if text.isascii():
        return Folded(text)
    parts: list[str] = []
    pieces: list[tuple[int, int, int, int]] = []
    done = 0
    folded_length = 0
    for match in _PIECE.finditer(text):
        replacement = _fold_piece(match.group())
        start, end = match.span()
        parts.append(text[done:start])
        parts.append(replacement)
        folded_length += start - done
        # One for one needs no entry: the map stays as small as what is unusual in the text.
        if len(replacement) != end - start or (end - start > 1 and replacement != match.group()):
            pieces.append((folded_length, folded_length + len(replacement), start, end))
        folded_length += len(replacement)
        done = end
    parts.append(text[done:])
    return Folded("".join(parts), tuple(pieces), tuple(piece[0] for piece in pieces))
