"""A page as numbered lines for a model: its best windows for the parts of a question, and which others there are."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from pincite.domain.page import BlockKind, Document
from pincite.domain.plan import ReadPage
from pincite.text.chunks import chunks
from pincite.text.sentences import Span, sentences
from pincite.text.similarity import Bm25
from pincite.text.tokens import terms, token_estimate

WINDOW_TOKENS: Final = 300
"""A few paragraphs: small enough that several places of a long page are shown, large enough to be understood."""
_LINE_CHARS: Final = 1_200
_LINE_TOKENS: Final = 4
"""What the id before each line costs."""
_MOST_CHARS_PER_TOKEN: Final = 12
"""A text with more is too long for its tokens to be worth counting."""
_LISTED: Final = 40
"""Windows that are named without being shown, at most: 15 tokens each."""
_NAME_CHARS: Final = 90


@dataclass(frozen=True, slots=True)
class Line:
    """A sentence or row of a page with the id under which a model may name it."""

    line_id: str
    span: Span
    text: str


@dataclass(frozen=True, slots=True)
class Window:
    """A stretch of a page that is shown as a whole; `name` are the headings above it and its first words."""

    window_id: str
    start: int
    end: int
    tokens: int
    name: str


class PageWindows:
    """The windows of one page, ranked for the parts of a question; lines keep their ids over several looks.

    Args:
        page: the page.
        asked: the question and its parts: each part has its say in turn.
        max_tokens: tokens of one look.
    """

    def __init__(self, page: ReadPage, asked: Sequence[str], max_tokens: int) -> None:
        self._document = page.document
        self._max_tokens = max_tokens
        self._shown: set[str] = set()
        self._count = 0
        text = page.document.text
        short = len(text) <= _MOST_CHARS_PER_TOKEN * max_tokens and token_estimate(text) <= max_tokens
        self._windows = _whole(text) if short else _cut_into_windows(page)
        self._ranked = _ranked(self._windows, text, asked)

    def best(self) -> tuple[Line, ...]:
        """The windows that share most with the parts, in the order of the page."""
        return self._look(self._ranked)

    def more(self, window_ids: Iterable[str]) -> tuple[Line, ...]:
        """The named windows that were not shown yet."""
        wanted = set(window_ids)
        return self._look([window for window in self._windows if window.window_id in wanted])

    def unshown(self) -> tuple[tuple[str, str], ...]:
        """The ids and names of windows that were not shown, best first."""
        left = [window for window in self._ranked if window.window_id not in self._shown]
        return tuple((window.window_id, window.name) for window in left[:_LISTED])

    def _look(self, wanted: Sequence[Window]) -> tuple[Line, ...]:
        room = self._max_tokens
        chosen: list[Window] = []
        for window in wanted:
            if window.window_id in self._shown or (chosen and window.tokens > room):
                continue
            chosen.append(window)
            room -= window.tokens
        self._shown.update(window.window_id for window in chosen)
        lines: list[Line] = []
        left = self._max_tokens
        for window in sorted(chosen, key=lambda window: window.start):
            for span in _cut(self._document, window.start, window.end):
                text = self._document.text[span.start : span.end]
                left -= token_estimate(text) + _LINE_TOKENS
                if left < 0 and lines:
                    return tuple(lines)
                self._count += 1
                lines.append(Line(f"s{self._count}", span, text))
        return tuple(lines)


def numbered_lines(page: ReadPage, question: str, max_tokens: int) -> tuple[Line, ...]:
    """The page's best windows for the question as lines, in the order of the page, up to so many tokens of them."""
    return PageWindows(page, (question,), max_tokens).best()


def _whole(text: str) -> tuple[Window, ...]:
    return (Window("w1", 0, len(text), token_estimate(text), ""),) if text else ()


def _cut_into_windows(page: ReadPage) -> tuple[Window, ...]:
    cut = chunks(page.document, target_tokens=WINDOW_TOKENS, overlap_tokens=0)
    return tuple(
        Window(f"w{number}", chunk.start, chunk.end, chunk.tokens, _name(page.document, chunk.start, chunk.text))
        for number, chunk in enumerate(cut, start=1)
    )


def _name(document: Document, start: int, text: str) -> str:
    path = " > ".join(document.section_path(start))
    return f"{path[-_NAME_CHARS:]}: {' '.join(text.split())[:_NAME_CHARS]}".lstrip(": ")


def _ranked(windows: Sequence[Window], text: str, asked: Sequence[str]) -> tuple[Window, ...]:
    """Best first: the parts take turns, each with the window that shares most with it."""
    if len(windows) < 2:
        return tuple(windows)
    bm25 = Bm25([terms(f"{window.name} {text[window.start : window.end]}") for window in windows])
    orders: list[list[int]] = []
    for words_of in asked:
        scores = bm25.scores(terms(words_of))
        orders.append(sorted(range(len(windows)), key=lambda index, s=scores: (-s[index], index)))  # type: ignore[misc]
    turns = (order[place] for place in range(len(windows)) for order in orders)
    return tuple(windows[index] for index in dict.fromkeys(turns))


def _cut(document: Document, start: int, end: int) -> list[Span]:
    """Sentences of text, rows of tables and code, as spans of the document."""
    spans: list[Span] = []
    for block, begin in zip(document.blocks, document.starts, strict=True):
        if begin + len(block.text) <= start or begin >= end:
            continue
        if block.kind in {BlockKind.TABLE, BlockKind.CODE}:
            found = _rows(block.text)
        else:
            found = list(sentences(block.text))
        for span in found:
            whole = Span(begin + span.start, begin + min(span.end, span.start + _LINE_CHARS))
            if start <= whole.start < end:
                spans.append(whole)
    return spans


def _rows(text: str) -> list[Span]:
    spans: list[Span] = []
    position = 0
    for row in text.split("\n"):
        left = len(row) - len(row.lstrip())
        if row.strip():
            spans.append(Span(position + left, position + len(row.rstrip())))
        position += len(row) + 1
    return spans
