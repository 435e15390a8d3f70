"""Pages as numbered lines for a model: of several pages the passages that answer the parts of a question."""

from collections import Counter, defaultdict, deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import Final

from pincite.domain.frozen import dataclass
from pincite.domain.model import Material
from pincite.domain.page import BlockKind, Document
from pincite.domain.plan import ReadPage
from pincite.ranking.passages import Draft, drafts
from pincite.ranking.ranker import PassageRanker, Source
from pincite.research.model.citable import citable
from pincite.text.instructions import is_flagged
from pincite.text.sentences import Span
from pincite.text.tokens import terms, token_estimate

# What the id before each line costs.
_LINE_TOKENS: Final = 4
# A passage this much less likely than the best one of its page for a part only shares a word with it.
_WEAK: Final = 0.1
# Of a passage's likelihood so much is that of the two beside it under the same heading.
_BESIDE: Final = 0.5
# A page is about a subject when so many of its passages are near to it.
_SEVERAL: Final = 5
# The weight of a page whose words say nothing of its subject beside one that is all about it.
_AT_LEAST: Final = 0.1
# Of a page that answers alone, as long as others have something to say.
_PAGE_SHARE: Final = 0.3
# Weight falls by the root of the place among the results: the ninth has a third of the first.
_BY_PLACE: Final = 0.5
# With less of it in sentences, rows or code a passage only names things.
_NAMES: Final = 0.2
# Of how a page begins: two passages, of which a name or a line of usage is none.
_FIRST: Final = 2
_BRIEF: Final = 40
# With what a sentence ends, or the words before a list or a listing; and what may stand after that.
_SENTENCE_ENDS: Final = frozenset(".!?:;…。！？：；؟।")
_CLOSING: Final = " \n)]\"'”’»"
# Fewer line breaks may part a heading from what it is set in front of. Of 5,061 passages on 299 pages that this was not
# written for 8 are kept for their rows: dialogues, records, code, and one menu.
_ROWS: Final = 3
# The name of lines that say where the next ones stand; nobody can cite them.
_HEADING: Final = "#"
# The name of further rows of a listing, which is cited as a whole; by how many spaces a row is indented stands behind.
_GOES_ON: Final = "|"
# How a passage begins is shown in so many characters: enough of a sentence to know what it is about.
_BEGINNING: Final = 130
# So many passages are offered to whoever chooses: about 40 tokens each, a third of the room. Chosen, not measured.
_OFFERED: Final = 125
# Of what follows a passage and is not offered itself. Who chooses does not see how it begins: under one heading of a
# long page there stood 39,000 tokens. Chosen, not measured.
_TAIL_TOKENS: Final = 1_500


@dataclass(frozen=True, slots=True)
class Line:
    """A sentence, row or listing of a page with the id under which a model may name it."""

    line_id: str
    span: Span
    text: str
    url: str = ""


@dataclass(frozen=True, slots=True)
class Asked:
    """A part of the question in its own words, and in those of its queries."""

    text: str
    queries: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Passage:
    """A run of blocks of a page under one heading; `states` is the share of it that is sentences, rows or code."""

    span: Span
    tokens: int
    section: tuple[str, ...]
    states: float


@dataclass(frozen=True, slots=True)
class Offer:
    """A passage that could be shown: the page, its number there, the headings above it, how it begins, its tokens.

    `rest` are those that follow it under its heading and are not on offer themselves.
    """

    url: str
    at: int
    section: tuple[str, ...]
    beginning: str
    tokens: int
    rest: tuple["Offer", ...] = ()


class SourceBook:
    """What a model is shown of the pages of a run, over several looks: lines keep their ids, none is shown twice.

    `lines` are those shown so far by their ids; the letters of an id are those of its page.
    """

    def __init__(self) -> None:
        self.lines: dict[str, Line] = {}
        self._letters: dict[str, str] = {}
        self._counts: Counter[str] = Counter()
        self._shown: defaultdict[str, set[int]] = defaultdict(set)
        self._cut: dict[str, list[_Passage]] = {}

    def offers(self, pages: Sequence[ReadPage], asked: Sequence[Asked]) -> tuple[Offer, ...]:
        """What could be shown, best page first: as `look`, but of a page all where there is room in the list; CPU work.

        Whoever reads how passages begin finds what words do not: so those that are not near are offered behind.
        """
        cut = self._cut_up(pages)
        most = _OFFERED // 2 if self.lines else _OFFERED  # later looks are for a part or two
        chosen = self._chosen(pages, cut, asked, most, of_all=True)
        documents = {page.url: page.document for page in pages}
        return tuple(
            replace(
                _offer(url, at, documents[url], cut[url]), rest=tuple(_rest(url, at, documents[url], cut[url], places))
            )
            for url, places in chosen.items()
            for at in sorted(places)
        )

    def look(
        self, pages: Sequence[ReadPage], asked: Sequence[Asked], room_tokens: int, chosen: Sequence[Offer] = ()
    ) -> tuple[Material, ...]:
        """The passages not shown yet that are nearest to what is asked, page by page, best page first; CPU work.

        Each part has its say in turn; a page gets no more than its share while others have as much to say.

        Args:
            pages: those of the run.
            asked: the parts of the question.
            room_tokens: tokens of all lines together.
            chosen: passages that somebody picked, best first: they come before all others.
        """
        cut = self._cut_up(pages)
        places_of = self._chosen(pages, cut, asked, room_tokens, chosen)
        made: list[Material] = []
        for page in sorted(pages, key=lambda page: list(places_of).index(page.url) if page.url in places_of else 0):
            places = sorted(places_of.get(page.url, ()))
            if places:
                self._shown[page.url].update(places)
                lines = tuple(self._lines(page, [cut[page.url][at] for at in places]))
                made += [Material(page.document.title or "Page", lines)] if lines else []
        return tuple(made)

    def take_back(self, material: Sequence[Material]) -> None:
        """Forget a look that nobody read: its lines may be shown again, under new ids."""
        for name in [name for shown in material for name, _ in shown.lines if name in self.lines]:
            line = self.lines.pop(name)
            self._shown[line.url].clear()

    def _chosen(
        self,
        pages: Sequence[ReadPage],
        cut: Mapping[str, Sequence[_Passage]],
        asked: Sequence[Asked],
        room_tokens: int,
        first: Sequence[Offer] = (),
        *,
        of_all: bool = False,
    ) -> dict[str, list[int]]:
        """Which passages to show, by page in the order in which pages came in.

        Each page has its say as often as its weight lets it: whichever has least for its weight shows its next best.
        Between two passages of a section that are shown a single one is shown as well. `of_all`: also what is not near,
        and `room_tokens` counts passages.
        """
        weights = _weights(pages, asked)
        ranked = {page.url: _ranked(page, cut[page.url], asked) for page in pages}
        if of_all:
            ranked = {url: _of_all(order, cut[url]) for url, order in ranked.items()}
        waiting = {
            url: deque(at for at in order if at not in self._shown[url])
            for url, order in ranked.items()
            if weights[url]
        }
        texts = {page.url: page.document.text for page in pages}
        said: set[str] = set()
        taken: dict[str, list[int]] = {page.url: [] for page in pages}
        spent: Counter[str] = Counter()
        for offer in first:
            if spent.total() + offer.tokens <= room_tokens and offer.at not in taken[offer.url]:
                span = cut[offer.url][offer.at].span
                said.add(texts[offer.url][span.start : span.end])
                taken[offer.url].append(offer.at)
                spent[offer.url] += offer.tokens
        picked = {url for url, places in taken.items() if places}
        # A later look is at what was chosen and no more: of what filled it up, readers in the seat used a tenth to a
        # fifth.
        room_tokens = spent.total() if first and self.lines else room_tokens
        while open_pages := [url for url, left in waiting.items() if left]:
            # Who chooses sees beginnings only: what else is near on pages of which something was chosen fills the room,
            # and what is near on others half of it, so that who chooses badly still writes from something.
            others = bool(picked) and picked.isdisjoint(open_pages)
            room = room_tokens // 2 if others else room_tokens
            # At first nobody takes more than a share, however much of it is near; then who has more to say goes on.
            url = min(
                (url for url in open_pages if others or not picked or url in picked),
                key=lambda url: (spent[url] > _PAGE_SHARE * room_tokens, spent[url] / weights[url]),
            )
            at, own = waiting[url].popleft(), cut[url]
            text = texts[url][own[at].span.start : own[at].span.end]
            if at in taken[url] or text in said:  # pages of one manual share whole sections
                continue
            size = 1 if of_all else own[at].tokens
            if spent.total() + size > room:
                waiting[url].clear()
                continue
            said.add(text)
            taken[url].append(at)
            spent[url] += size
            for hole, beyond in ((at - 1, at - 2), (at + 1, at + 2)):
                if beyond in taken[url] and own[hole].section == own[at].section == own[beyond].section:
                    waiting[url].appendleft(hole)
        if not any(taken.values()) and not self.lines:  # nothing has a word of the question: how pages begin may answer
            for url, own in cut.items():
                taken[url] = (
                    [0]
                    if own
                    and sum(cut[page][at].tokens for page, places in taken.items() for at in places) + own[0].tokens
                    <= room_tokens
                    else []
                )
        return {url: places for url, places in taken.items() if places}

    def _lines(self, page: ReadPage, passages: Sequence[_Passage]) -> Iterator[tuple[str, str]]:
        """The lines of the passages with the headings that they stand under, as material for a prompt."""
        document, letter = page.document, self._letter(page.url)
        above: tuple[str, ...] | None = None
        for passage in passages:
            spans = citable(document, passage.span.start, passage.span.end)
            if not spans:
                continue
            path = tuple(name for name in document.section_path(passage.span.start) if name != document.title)
            if path and path != above:
                yield _HEADING, " > ".join(path)
            above = path
            for span in spans:
                text = document.text[span.start : span.end]
                self._counts[letter] += 1
                name = f"{letter}{self._counts[letter]}"
                self.lines[name] = Line(name, span, text, page.url)
                first, *rows = document.as_shown(span.start, span.end).split("\n")
                yield name, first
                for row in rows:
                    indent = len(row) - len(row.lstrip(" "))  # which a prompt's line loses
                    yield f"{_GOES_ON}{indent or ''}", row

    def _cut_up(self, pages: Sequence[ReadPage]) -> dict[str, list[_Passage]]:
        """The passages of each page, cut once: pages stay as they are for a run."""
        for page in pages:
            if page.url not in self._cut:
                self._cut[page.url] = _passages(page.document)
        return {page.url: self._cut[page.url] for page in pages}

    def _letter(self, url: str) -> str:
        """The letters of a page: a to z, then aa, ab, ..."""
        if url not in self._letters:
            number, letters = len(self._letters), ""
            while True:
                letters = chr(ord("a") + number % 26) + letters
                number = number // 26 - 1
                if number < 0:
                    break
            self._letters[url] = letters
        return self._letters[url]


def numbered_lines(page: ReadPage, question: str, max_tokens: int) -> tuple[Line, ...]:
    """The page from its beginning or, where it is longer than so many tokens, its best passages, as lines in order."""
    book = SourceBook()
    whole = sum(passage.tokens for passage in _passages(page.document)) <= max_tokens
    if whole:
        list(book._lines(page, _passages(page.document)))  # noqa: SLF001  # of this module
    else:
        book.look([page], [Asked(question)], max_tokens)
    return tuple(book.lines.values())


def _passages(document: Document) -> list[_Passage]:
    """The passages of a page, each with about the tokens it takes: it is cut into lines only when it is shown."""
    found: list[_Passage] = []
    for draft in drafts(document):
        text = document.text[draft.start : draft.end]
        lines = sum(1 for row in text.split("\n") if row) + sum(map(text.count, (". ", "! ", "? ")))
        size = token_estimate(text) + _LINE_TOKENS * lines
        found.append(_Passage(Span(draft.start, draft.end), size, draft.section, _stating(document, draft)))
    return found


def _offer(url: str, at: int, page: Document, own: Sequence[_Passage]) -> Offer:
    return Offer(url, at, own[at].section, _beginning(page, own[at].span), own[at].tokens)


def _rest(url: str, at: int, page: Document, own: Sequence[_Passage], offered: Collection[int]) -> Iterator[Offer]:
    """What follows the passage in its section, up to the next one that is offered itself, and no more than a tail."""
    size = 0
    for beyond in range(at + 1, len(own)):
        size += own[beyond].tokens
        if beyond in offered or own[beyond].section != own[at].section or size > _TAIL_TOKENS:
            return
        if own[beyond].states >= _NAMES:
            yield _offer(url, beyond, page, own)


def _beginning(document: Document, span: Span) -> str:
    """The first words of a passage; nothing of one that begins with words to machines."""
    words = " ".join(document.as_shown(span.start, min(span.end, span.start + 4 * _BEGINNING)).split())
    shown = words if len(words) <= _BEGINNING else words[: _BEGINNING + 1].rsplit(" ", 1)[0] + " ..."
    return "" if is_flagged(words) else shown


def _stating(document: Document, draft: Draft) -> float:
    """The share of a passage's words in blocks that end as sentences do, in tables, in code, and in kept rows.

    What is left are names: the entries of an index, of a table of contents, of a menu.
    """
    said = everything = 0
    for at in range(document.block_at(draft.start), document.block_at(max(draft.end - 1, draft.start)) + 1):
        block = document.blocks[at]
        size = len(block.text.split())
        everything += size
        # The options that a program lists, a row each, may be kept as a paragraph.
        in_rows = block.kind in (BlockKind.TABLE, BlockKind.CODE) or block.text.count("\n") >= _ROWS
        if in_rows or block.text.rstrip(_CLOSING)[-1:] in _SENTENCE_ENDS:
            said += size
    return said / max(everything, 1)


def _weights(pages: Sequence[ReadPage], asked: Sequence[Asked]) -> dict[str, float]:
    """How much of the room each page may have beside the others: by its place among the results, and by its subject.

    One with several passages that are near to what is asked is about it, and so is one with a title of its words; one
    with a single such passage (a glossary, an index) only names it.
    """
    wanted = set(terms(" ".join(text for part in asked for text in (part.text, *part.queries))))
    sources = [Source(page.url, page.document) for page in pages]
    near: defaultdict[str, float] = defaultdict(float)
    for part in asked:
        found = PassageRanker().rank(part.text, sources, queries=part.queries).passages
        best = max((passage.likelihood for passage in found), default=0.0) or 1.0
        seen: Counter[str] = Counter()
        for passage in found:
            seen[passage.source.url] += 1
            if seen[passage.source.url] <= _SEVERAL:
                near[passage.source.url] += passage.likelihood / best * _stating(passage.source.document, passage.draft)
    most = max(near.values(), default=0.0) or 1.0
    weights: dict[str, float] = {}
    for place, page in enumerate(pages, start=1):
        title = [*terms(page.document.title)]
        named = sum(term in wanted for term in title) / max(len(title), 1)
        weights[page.url] = max(near[page.url] / most, named / 2, _AT_LEAST) / place**_BY_PLACE
    return weights


def _ranked(page: ReadPage, own: Sequence[_Passage], asked: Sequence[Asked]) -> list[int]:
    """The passages of a page by number that are near to a part of what is asked, each part in turn.

    What stands between two that are near is near as well, and one whose neighbours are not is less so: a section that
    answers is shown as a whole before single passages that share some words. How a page begins has a turn as well: it
    says what its subject is in words that nobody who asks has to know, and words alone are no proof that a page of
    which none was asked for has nothing to say.
    """
    turns: list[list[int]] = []
    for part in asked:
        ranking = PassageRanker().rank(part.text, [Source(page.url, page.document)], queries=part.queries)
        likely = {found.draft.start: found.likelihood for found in ranking.passages}
        alone = [likely.get(passage.span.start, 0.0) for passage in own]
        near: list[float] = []
        for at in range(len(own)):
            beside = [alone[n] for n in (at - 1, at + 1) if 0 <= n < len(own) and own[n].section == own[at].section]
            near.append(((1 - _BESIDE) * alone[at] + _BESIDE / 2 * sum(beside)) * own[at].states)
        best = max(near, default=0.0)
        likeliest = (at for at in range(len(own)) if near[at] > _WEAK * best and own[at].states >= _NAMES)
        turns.append(sorted(likeliest, key=lambda at: -near[at]))
    turns.append(_beginning_of(own))
    found = dict.fromkeys(at for turn in zip_longest(*turns) for at in turn if at is not None)
    return list(found)


def _beginning_of(own: Sequence[_Passage]) -> list[int]:
    """The passages that a page begins with, by number."""
    stating = [at for at in range(len(own)) if own[at].states >= _NAMES]
    return ([at for at in stating if own[at].tokens >= _BRIEF] or stating)[:_FIRST]


def _of_all(near: Sequence[int], own: Sequence[_Passage]) -> list[int]:
    """The passages of a page by number: those that are near, and others, in which words may miss what a reader sees.

    Of the others those that open a section come first, and of these the ones under a heading that something near stands
    under as well: the next section of a chapter, not the preface of the manual. Those that only name things are left
    out: tables of contents, running heads, lines of usage.
    """
    begins = _beginning_of(own)
    opening = [at for at in range(len(own)) if at == 0 or own[at].section != own[at - 1].section]
    begun = {own[at].section: at for at in reversed(opening)}
    mine = dict.fromkeys(begun[own[at].section] for at in near)
    # How the page begins is near whatever is asked (`_ranked`).
    asked = [own[at].section for at in near if at not in begins]
    above = {section[:depth] for section in asked for depth in range(1, len(section) + 1)}

    def shared(at: int) -> int:
        return sum(own[at].section[:depth] in above for depth in range(1, len(own[at].section) + 1))

    others = [at for at in sorted(opening, key=lambda at: -shared(at)) if at not in mine]
    turns = zip_longest(near[::2], mine, near[1::2], others)
    ordered = dict.fromkeys([*(at for turn in turns for at in turn if at is not None), *range(len(own))])
    return [at for at in ordered if own[at].states >= _NAMES]
