"""Inline text of one block while it is collected: white space as a browser shows it, marks with exact offsets."""

from dataclasses import replace
from itertools import pairwise

from pincite.domain.page import Mark, MarkKind
from pincite.fetch.extractors.characters import clean


class InlineText:
    """Collects the text of one block piece by piece."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._length = 0
        self._at_space = True
        self._marks: list[Mark] = []
        self._open: list[tuple[MarkKind, int, str]] = []

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
        joined = " ".join(words)
        if not self._at_space and text[0].isspace():
            joined = " " + joined
        self._append(joined)
        if text[-1].isspace():
            self.space()

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

    def open(self, kind: MarkKind, href: str = "") -> None:
        """Start a mark here."""
        self._open.append((kind, self._length, href))

    def close(self, kind: MarkKind) -> None:
        """End the innermost open mark of this kind."""
        for index in range(len(self._open) - 1, -1, -1):
            if self._open[index][0] is kind:
                _, start, href = self._open.pop(index)
                self._mark(start, self._length, kind, href)
                return

    def take(self, *, exact: bool = False) -> tuple[str, tuple[Mark, ...]]:
        """The text and its marks; the collector is empty afterwards and open marks go on from the start."""
        for kind, start, href in self._open:
            self._mark(start, self._length, kind, href)
        self._open = [(kind, 0, href) for kind, _, href in self._open]
        text, marks = "".join(self._pieces), self._marks
        self._pieces, self._marks, self._length, self._at_space = [], [], 0, True
        return _finish(text, marks, exact=exact)

    def _append(self, text: str) -> None:
        self._pieces.append(text)
        self._length += len(text)
        self._at_space = False

    def _mark(self, start: int, end: int, kind: MarkKind, href: str) -> None:
        if end > start:
            self._marks.append(Mark(start, end, kind, href))


def _finish(text: str, marks: list[Mark], *, exact: bool) -> tuple[str, tuple[Mark, ...]]:
    """Cleaned, stripped text with the marks moved along and trimmed to what they cover."""
    if clean(text) != text:
        text, marks = _cleaned(text, marks)
    shift = len(text) - len(text.lstrip("\n" if exact else None))
    stripped = text[shift:].rstrip()
    kept: list[Mark] = []
    for mark in marks:
        start, end = max(mark.start - shift, 0), min(mark.end - shift, len(stripped))
        while start < end and stripped[start].isspace():
            start += 1
        while end > start and stripped[end - 1].isspace():
            end -= 1
        if start < end:
            kept.append(replace(mark, start=start, end=end))
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
