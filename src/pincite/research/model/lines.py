"""A page as numbered lines for a model: its best windows for the parts of a question, and which others there are."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from pincite.domain.citation import cut_on_word
from pincite.domain.page import BlockKind, Document
from pincite.domain.plan import ReadPage
from pincite.text.chunks import chunks
from pincite.text.sentences import Span, sentences
from pincite.text.similarity import Bm25
from pincite.text.tokens import terms, token_estimate

# A few paragraphs: small enough that several places of a long page are shown, large enough to be understood.
WINDOW_TOKENS: Final = 300
# A longer line is data; its beginning says what it is.
_LINE_CHARS: Final = 1_200
# What the id before each line costs.
_LINE_TOKENS: Final = 4
# A text with more is too long for its tokens to be worth counting.
_MOST_CHARS_PER_TOKEN: Final = 12
# A window is worth showing from this share of the best score of any window of the pages read together. Chosen, with the
# words of a part's queries, on three recorded runs of a strong reader; of the claims of three others 89 % then have all
# their lines in the first look instead of 86 %, for the same number of tokens (words of parts alone, 0.35, looks of
# 3,000). The rest is listed and can be asked for.
RELEVANT: Final = 0.45
# Of every page, whatever its score: words alone are no proof that a page has nothing to say.
ALWAYS_SHOWN_TOKENS: Final = 1_200
# Windows that are named without being shown, at most, best first: 20 tokens each.
_LISTED: Final = 24
# One line of the list of windows.
_NAME_CHARS: Final = 60


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
        ranked: its windows, best first.
        relevant: those that are worth showing though `ALWAYS_SHOWN_TOKENS` are shown.
        max_tokens: tokens of one look.
    """

    def __init__(self, page: ReadPage, ranked: Sequence[Window], relevant: Collection[str], max_tokens: int) -> None:
        self._document = page.document
        self._max_tokens = max_tokens
        self._shown: set[str] = set()
        self._count = 0
        self._ranked = tuple(ranked)
        self._relevant = relevant

    def best(self) -> tuple[Line, ...]:
        """The windows that share most with the parts, in the order of the page."""
        wanted: list[Window] = []
        tokens = 0
        for window in self._ranked:
            if window.window_id in self._relevant or tokens < min(ALWAYS_SHOWN_TOKENS, self._max_tokens):
                wanted.append(window)
                tokens += window.tokens
        return self._look(wanted)

    def more(self, window_ids: Iterable[str]) -> tuple[Line, ...]:
        """The named windows that were not shown yet."""
        wanted = set(window_ids)
        found = [window for window in self._ranked if window.window_id in wanted]
        return self._look(sorted(found, key=lambda window: window.start))

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


def page_windows(pages: Sequence[ReadPage], asked: Sequence[str], max_tokens: int) -> tuple[PageWindows, ...]:
    """The windows of pages that are read together, each page's best first; CPU work.

    Each part of the question has its say in turn. What is worth showing is decided over all pages: a page that is far
    from the question costs a look at its best windows, not its whole.

    Args:
        pages: the pages.
        asked: the question and its parts.
        max_tokens: tokens of one look at one page.
    """
    cut = [_windows_of(page) for page in pages]
    bm25 = Bm25(
        [
            terms(" ".join((*page.document.section_path(window.start), page.document.text[window.start : window.end])))
            for page, windows in zip(pages, cut, strict=True)
            for window in windows
        ]
    )
    scores = [bm25.scores(terms(words_of)) for words_of in asked]
    found: list[PageWindows] = []
    first = 0
    for page, windows in zip(pages, cut, strict=True):
        own = [row[first : first + len(windows)] for row in scores]
        relevant = {
            window.window_id
            for row, mine in zip(scores, own, strict=True)
            for window, score in zip(windows, mine, strict=True)
            if 0 < score >= RELEVANT * max(row)
        }
        found.append(PageWindows(page, _ranked(windows, own), relevant, max_tokens))
        first += len(windows)
    return tuple(found)


def numbered_lines(page: ReadPage, question: str, max_tokens: int) -> tuple[Line, ...]:
    """The page from its beginning or, where it is longer than so many tokens, its best windows, as lines in order."""
    windows = _windows_of(page)
    scores = Bm25([terms(page.document.text[window.start : window.end]) for window in windows]).scores(terms(question))
    whole = {window.window_id for window in windows}
    return PageWindows(page, _ranked(windows, [scores]), whole, max_tokens).best()


def _windows_of(page: ReadPage) -> tuple[Window, ...]:
    text = page.document.text
    most = ALWAYS_SHOWN_TOKENS
    short = len(text) <= _MOST_CHARS_PER_TOKEN * most and token_estimate(text) <= most
    return _whole(text) if short else _cut_into_windows(page)


def _whole(text: str) -> tuple[Window, ...]:
    return (Window("w1", 0, len(text), token_estimate(text), ""),) if text else ()


def _cut_into_windows(page: ReadPage) -> tuple[Window, ...]:
    cut = chunks(page.document, target_tokens=WINDOW_TOKENS, overlap_tokens=0)
    return tuple(
        Window(f"w{number}", chunk.start, chunk.end, chunk.tokens, _name(page.document, chunk.start, chunk.text))
        for number, chunk in enumerate(cut, start=1)
    )


def _name(document: Document, start: int, text: str) -> str:
    """The innermost heading and the first words; the title of the page stands above the list."""
    path = [heading for heading in document.section_path(start) if heading != document.title]
    said = " ".join(text.split())
    heading = path[-1][:_NAME_CHARS] if path else ""
    return (
        cut_on_word(said, _NAME_CHARS) if said.startswith(heading) else f"{heading}: {cut_on_word(said, _NAME_CHARS)}"
    )


def _ranked(windows: Sequence[Window], scores: Sequence[Sequence[float]]) -> tuple[Window, ...]:
    """The page's beginning, which says what it is about, then the parts in turn, each with what shares most with it."""
    if not windows:
        return ()
    orders = [sorted(range(len(windows)), key=lambda index, row=row: (-row[index], index)) for row in scores]  # type: ignore[misc]
    turns = (order[place] for place in range(len(windows)) for order in orders)
    return tuple(windows[index] for index in dict.fromkeys((0, *turns)))


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
