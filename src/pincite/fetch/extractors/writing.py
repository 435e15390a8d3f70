"""Inline text of one block while it is collected: white space as a browser shows it, marks with exact offsets."""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise

from pincite.domain.page import Mark, MarkKind
from pincite.fetch.extractors.characters import clean
from pincite.text.sentences import trimmed

_NUMBER_BEFORE = re.compile(r"\d[\d.,]*\Z")
_NUMBER_AFTER = re.compile(r"[\d.,]*\d")
# Longer than any figure with its groups; a bound, so that no page takes long.
_LOOK_BACK = 40
# Elements: a sign, a whole part and what stands between them, each in one of its own.
_PIECES_BACK = 8


@dataclass(slots=True)
class _Open:
    """A mark that has begun; `element` is whoever opened it, for marks that close by their element."""

    kind: MarkKind
    start: int
    href: str = ""
    title: str = ""


class InlineText:
    """Collects the text of one block piece by piece."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._length = 0
        self._at_space = True
        self._marks: list[Mark] = []
        self._open: list[_Open] = []
        self._apart: Callable[[str], bool] | None = None

    def __bool__(self) -> bool:
        return self._length > 0

    @property
    def last(self) -> str:
        """The last character, or nothing."""
        return self._pieces[-1][-1] if self._pieces else ""

    def add(self, text: str) -> None:
        """Append running text; white space collapses."""
        words = text.split()
        if not words:
            if text:
                self.space()
            return
        joined = " ".join(words) if len(words) > 1 else words[0]
        if not self._at_space:
            if text[0].isspace():
                joined = " " + joined
            elif self._apart is not None and self._apart(joined[0]):
                self.space()
            elif joined[0].isdigit() and self.last.isdigit():  # a number goes on in another element
                self.doubt()
        self._append(joined)
        if text[-1].isspace():
            self.space()

    def doubt(self) -> None:
        """Mark the number around this place: two elements hold it. It is widened over the whole number at the end."""
        self._marks.append(Mark(self._length, self._length + 1, MarkKind.JOINED))

    def keep_apart(self) -> None:
        """Let a digit that comes directly after this place be a number of its own."""
        self._apart = str.isdigit if self.last.isalnum() else None

    def end_power(self) -> None:
        """Let an exponent end here: the word or the number that comes directly after it is none of it."""
        self._apart = str.isalnum

    def before(self) -> str:
        """The last characters, as many as a number or a short formula has at least."""
        return "".join(self._pieces[-_PIECES_BACK:])[-_LOOK_BACK:]

    def add_exact(self, text: str) -> None:
        """Append text whose white space means something (code)."""
        if text:
            self._append(text)
            self._at_space = text[-1].isspace()

    def space(self) -> None:
        """One space, unless there is one or nothing stands before it."""
        if not self._at_space:
            self._append(" ")
            self._at_space = True

    def line_break(self) -> None:
        """A line break in place of any space before it."""
        if not self._length:
            return
        if self._at_space and self.last == " ":
            self._pieces[-1] = self._pieces[-1][:-1]
            self._length -= 1
            if not self._pieces[-1]:
                self._pieces.pop()
        self._append("\n")
        self._at_space = True

    def open(self, kind: MarkKind, href: str = "", title: str = "") -> None:
        """Start a mark here."""
        self._open.append(_Open(kind, self._length, href, title))

    def close(self, kind: MarkKind) -> None:
        """End the innermost open mark of this kind."""
        for index in range(len(self._open) - 1, -1, -1):
            if self._open[index].kind is kind:
                self._mark(self._open.pop(index))
                return

    def take(self, *, exact: bool = False) -> tuple[str, tuple[Mark, ...]]:
        """The text and its marks; the collector is empty afterwards and open marks go on from the start."""
        for mark in self._open:
            self._mark(mark)
            mark.start = 0
        text, marks = "".join(self._pieces), self._marks
        self._pieces, self._marks, self._length, self._at_space, self._apart = [], [], 0, True, None
        return _finish(text, marks, exact=exact)

    def _append(self, text: str) -> None:
        self._pieces.append(text)
        self._length += len(text)
        self._at_space, self._apart = False, None

    def _mark(self, mark: _Open) -> None:
        if self._length > mark.start:
            self._marks.append(Mark(mark.start, self._length, mark.kind, mark.href, mark.title))


def _finish(text: str, marks: list[Mark], *, exact: bool) -> tuple[str, tuple[Mark, ...]]:
    """Cleaned, stripped text with the marks moved along and trimmed to what they cover."""
    if clean(text) != text:
        text, marks = _cleaned(text, marks)
    if not marks:
        return (text.lstrip("\n").rstrip() if exact else text.strip()), ()
    shift = len(text) - len(text.lstrip("\n" if exact else None))
    stripped = text[shift:].rstrip()
    kept: list[Mark] = []
    for mark in marks:
        start, end = max(mark.start - shift, 0), min(mark.end - shift, len(stripped))
        if mark.kind is MarkKind.JOINED:
            before = _NUMBER_BEFORE.search(stripped, max(0, start - _LOOK_BACK), start)
            after = _NUMBER_AFTER.match(stripped, start, start + _LOOK_BACK)
            start, end = before.start() if before else start, after.end() if after else end
        start, end = trimmed(stripped, start, end)
        if start < end:
            moved = start != mark.start or end != mark.end
            kept.append(Mark(start, end, mark.kind, mark.href, mark.title) if moved else mark)
    if len(kept) > 1:
        kept.reverse()  # An outer mark closes last; it comes first where both cover the same words.
        kept.sort(key=lambda mark: (mark.start, -mark.end))
    return stripped, tuple(kept)


def _cleaned(text: str, marks: list[Mark]) -> tuple[str, list[Mark]]:
    """Text cleaned piece by piece between the borders of marks, so that the marks can follow."""
    borders = sorted({0, len(text), *(mark.start for mark in marks), *(mark.end for mark in marks)})
    moved = {0: 0}
    result = ""
    for start, end in pairwise(borders):
        result += clean(text[start:end])
        moved[end] = len(result)
    whole = clean(result)
    if whole != result:  # A character composes across the border of a mark: the text counts more than the marks.
        return whole, []
    return result, [replace(mark, start=moved[mark.start], end=moved[mark.end]) for mark in marks]
