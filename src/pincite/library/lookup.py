"""Questions to an index that is there: passages and pages, by words and by meaning, and how often words occur."""

import json
import sqlite3
import zlib
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from urllib.parse import urlsplit

from pincite.domain.frozen import dataclass
from pincite.domain.search import Constraints, PageHit, Query
from pincite.library.records import READABLE_SUFFIXES
from pincite.library.schema import frequencies, passages_counted
from pincite.library.vectors import PassageVectors
from pincite.ranking.passages import passage_text
from pincite.ranking.ranker import NEAR_WEIGHT, READ, dot
from pincite.ranking.scores import Rarity
from pincite.ranking.vectors import KnownVectors
from pincite.text.sentences import Span, sentences
from pincite.text.tokens import index_terms, is_common_word, is_stop, query_terms, words
from pincite.urls.parse import host_matches

# As engines of the web give, so that local and other results weigh the same.
SNIPPET_CHARS = 400
# A term or a table's header before the text; a longer one would leave no room for it.
_LEAD_CHARS = 120


def snippet(text: str, question: str, label: str = "") -> str:
    """The run of whole sentences, at most 400 characters in one line, that holds most of the question's words.

    The term that the run stands under is put in front, and so is the header of a table; `label` has all that the text
    has. "The default is three" says nothing without the setting that it is the default of.
    """
    wanted = set(query_terms(question))
    most = SNIPPET_CHARS - (_LEAD_CHARS if label else 0)
    spans = [piece for span in sentences(text) for piece in _pieces(text, span, most)]
    held = [wanted.intersection(index_terms(text[span.start : span.end])) for span in spans]
    best, best_value = Span(0, len(text)), -1.0
    for first, span in enumerate(spans):
        last = first
        while last + 1 < len(spans) and spans[last + 1].end - span.start <= most:
            last += 1
        # Of equals the first wins: a run that starts earlier keeps more of what leads up to it.
        value = len(set[str]().union(*held[first : last + 1])) - 0.01 * first
        if value > best_value:
            best, best_value = Span(span.start, spans[last].end), value
    flat = _lead(text[: best.start], label) + " ".join(text[best.start : best.end].split())
    if len(flat) <= SNIPPET_CHARS:
        return flat
    return flat[: SNIPPET_CHARS - 1].rsplit(" ", 1)[0] + "…"


def _lead(before: str, label: str) -> str:
    """The last line before the run that is a term of the label, or its header row."""
    known = " ".join(label.replace("|", " ").split())
    for line in reversed(before.splitlines()):
        plain = " ".join(line.replace("|", " ").split())
        if plain and len(plain) <= _LEAD_CHARS and plain in known:
            return f"{' '.join(line.split())} … "
    return ""


def _pieces(text: str, span: Span, most: int) -> list[Span]:
    """A sentence, or the lines of one that is too long to be shown: rows of a table, code."""
    whole = text[span.start : span.end]
    if len(whole) <= most or "\n" not in whole:
        return [span]
    found, start = [], span.start
    for line in whole.split("\n"):
        if line.strip():
            found.append(Span(start, start + len(line)))
        start += len(line) + 1
    return found


# Candidates by SQLite's own BM25, for the ranker to put in order (docs/library.md).
BY_WORDS = 200
# Candidates from each side (docs/library.md).
BY_MEANING = 100
# Each is a lookup in the index; questions that were pasted in have hundreds.
_MAX_TERMS = 40
# The rarest words of the question are always looked up, however common.
_SURE_TERMS = 4
# With one word alone a passage that has none of the others would win.
_LEAST_TERMS = 2
# SQLite ranks every passage that has one of the words: in a large library the common ones must be left out.
_PASSAGES_RANKED = 10_000
# Of all passages: words on more of them ("use", "file") find nothing that the rarer ones don't. Chosen, not measured.
_COMMON = 0.05
_ANYWHERE = Constraints()
# Some megabytes of titles and addresses for a process that is asked again and again.
_PAGES_KEPT = 20_000
# As many pages as a few questions look at; a text may be a megabyte.
_TEXTS_KEPT = 128
# A page with three good passages is worth a little more than one with a single one. Chosen, not measured.
_NEXT_PASSAGES = 0.15
# Places that are fused count 1/(10 + place). Chosen on three sites, reported on three others (docs/measurements.md).
_FUSED_AFTER = 10


@dataclass(frozen=True, slots=True)
class _Page:
    """What hits need to know of a page."""

    url: str
    title: str
    published_at: datetime | None
    content_type: str = ""


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A passage as stored; `words` is how well it matches by words."""

    passage_id: int
    page_id: int
    start: int
    end: int
    section: str
    label: str
    words: float


@dataclass(frozen=True, slots=True)
class _Ranked:
    """A candidate with its score, made of how well it matches by words (beside the best) and how near it is."""

    words: float
    near: float
    candidate: _Candidate
    page: _Page

    @property
    def score(self) -> float:
        """The order of passages."""
        return self.words + NEAR_WEIGHT * self.near


@dataclass(frozen=True, slots=True)
class _Asked:
    """A question: its text, its terms that the library knows, and how rare they are."""

    text: str
    terms: tuple[str, ...]
    rarity: Rarity


class Lookup:
    """Reads one index through one connection; not safe for several threads at a time.

    Args:
        connection: of the index.
        embedder: ranks by meaning as well; None: words alone.
    """

    def __init__(self, connection: sqlite3.Connection, embedder: KnownVectors | None = None) -> None:
        self._db = connection
        self._embedder = embedder
        self._vectors = None if embedder is None else PassageVectors(connection, embedder)
        self._texts: OrderedDict[int, str] = OrderedDict()
        self._pages: dict[int, _Page | None] = {}

    def forget(self) -> None:
        """Drop what was remembered of an index that has changed."""
        self._texts.clear()
        self._pages.clear()
        if self._vectors is not None:
            self._vectors.forget()

    def pages(self, query: Query) -> tuple[PageHit, ...]:
        """The best pages, by their places in two orders: of words and of meaning."""
        found, values = _by_page(self._ranked(self._asked(query.text), query.constraints))
        prefer = query.constraints.prefer_domains
        best = sorted(found, key=lambda url: not host_matches(_host(url), prefer)) if prefer else list(found)
        wanted = set(query_terms(query.text))
        hits: list[PageHit] = []
        for url in best[: max(query.max_results, 0)]:
            # Shown by its best passage that has a word of the question, not by one with its title alone.
            telling = (item for item in found[url] if wanted.intersection(index_terms(self._body(item.candidate))))
            shown, page = next(telling, found[url][0]).candidate, found[url][0].page
            text = snippet(self._body(shown), query.text, shown.label)
            hits.append(PageHit(url, page.title, text, values[url], page.published_at))
        return tuple(hits)

    def passages_near(self, document_id: str, wanted: Sequence[float]) -> dict[int, float]:
        """As `LocalLibrary.passages_near`."""
        rows = self._db.execute(
            "SELECT passage_id, start FROM passages WHERE page_id ="
            " (SELECT page_id FROM pages WHERE document_id = ? AND is_current = 1 LIMIT 1)",
            (document_id,),
        ).fetchall()
        starts = dict(rows)
        near = self._vectors.of(wanted, list(starts)) if self._vectors is not None else {}
        return {starts[name]: value for name, value in near.items()}

    # ---- ranking ------------------------------------------------------------------------------------------

    def _asked(self, text: str) -> _Asked:
        order = query_terms(text)
        rarity = Rarity(passages_counted(self._db), frequencies(self._db, order))
        known = sorted((t for t in order if rarity.frequencies[t]), key=lambda t: rarity.frequencies[t])
        return _Asked(text, tuple(known[:_MAX_TERMS]), rarity)

    def _ranked(self, asked: _Asked, constraints: Constraints) -> list[_Ranked]:
        """Candidates of both sides in one order: words scaled by the best of them, and nearness in meaning."""
        matched = self._by_words(asked)
        candidates = self._stored(matched)
        near: Mapping[int, float] = {}
        # Letters that are on no page and in no English text are near to nothing.
        has_meaning = asked.terms or any(is_common_word(word) for word in words(asked.text) if not is_stop(word))
        if self._embedder is not None and self._vectors is not None and has_meaning:
            near = self._near(self._embedder, self._vectors, asked.text, candidates)
            more = {passage_id: 0.0 for passage_id in near if passage_id not in candidates}
            candidates = {**candidates, **self._stored(more)}
        best = max((candidate.words for candidate in candidates.values()), default=0.0) or 1.0
        ranked = []
        for candidate in candidates.values():
            page = self._page(candidate.page_id)
            if page is not None and _allowed(page, constraints):
                meant = near.get(candidate.passage_id, 0.0)
                ranked.append(_Ranked(candidate.words / best, meant, candidate, page))
        # By number where the scores are equal, so that the same index gives the same order.
        return sorted(ranked, key=lambda item: (-item.score, item.candidate.passage_id))

    def _near(
        self, embedder: KnownVectors, vectors: PassageVectors, text: str, candidates: Mapping[int, _Candidate]
    ) -> dict[int, float]:
        """How near the best by words, and the nearest of those whose vectors are at hand, are to the question."""
        best = sorted(candidates.values(), key=lambda candidate: -candidate.words)[:READ]
        # In one call with the question: each call of a model on the processor has its own cost.
        texts = [self._embedded(candidate) for candidate in best]
        wanted, *of_best = embedder.embed([text, *texts])
        found = vectors.nearest(wanted, BY_MEANING)
        read = {c.passage_id: max(dot(wanted, vector), 0.0) for c, vector in zip(best, of_best, strict=True)}
        return {**found, **vectors.of(wanted, [name for name in candidates if name not in read]), **read}

    def _by_words(self, asked: _Asked) -> dict[int, float]:
        """The best passages by SQLite's BM25."""
        if not asked.terms:
            return {}
        # Rarest first; very common ones only where few are left.
        limit, frequency = asked.rarity.passages * _COMMON, asked.rarity.frequencies
        telling = (term for rank, term in enumerate(asked.terms) if rank < _SURE_TERMS or frequency[term] <= limit)
        wanted = " OR ".join(f'"{term}"' for term in _within_reach(telling, frequency))
        rows = self._db.execute(
            "SELECT rowid, -rank FROM passage_terms WHERE passage_terms MATCH ? AND rank MATCH 'bm25(2.0, 1.6, 1.0)'"
            " ORDER BY rank LIMIT ?",
            (wanted, BY_WORDS),
        )
        return dict(rows.fetchall())

    def _stored(self, scores: Mapping[int, float]) -> dict[int, _Candidate]:
        rows = self._db.execute(
            'SELECT passage_id, page_id, start, "end", section, label FROM passages'
            " WHERE passage_id IN (SELECT value FROM json_each(?))",
            (json.dumps(sorted(scores)),),
        ).fetchall()
        return {
            passage_id: _Candidate(passage_id, page_id, start, end, section, label, scores[passage_id])
            for passage_id, page_id, start, end, section, label in rows
        }

    # ---- what is stored -----------------------------------------------------------------------------------

    def _page(self, page_id: int) -> _Page | None:
        if page_id in self._pages:
            return self._pages[page_id]
        row = self._db.execute(
            "SELECT url, title, published_at, content_type FROM pages WHERE page_id = ? AND is_current", (page_id,)
        ).fetchone()
        page = None
        if row is not None:
            url, title, published, kind = row
            page = _Page(url, title, datetime.fromisoformat(published) if published else None, kind)
        # All at once: which of them comes next is anybody's guess, and the look-up is cheap.
        if len(self._pages) >= _PAGES_KEPT:
            self._pages.clear()
        self._pages[page_id] = page
        return page

    def _embedded(self, candidate: _Candidate) -> str:
        page = self._page(candidate.page_id)
        return passage_text(page.title if page else "", tuple(json.loads(candidate.section)), self._body(candidate))

    def _body(self, candidate: _Candidate) -> str:
        page_id = candidate.page_id
        text = self._texts.get(page_id)
        if text is None:
            row = self._db.execute("SELECT text FROM pages WHERE page_id = ?", (page_id,)).fetchone()
            text = zlib.decompress(row[0]).decode("utf-8", "surrogatepass") if row else ""
            self._texts[page_id] = text
            if len(self._texts) > _TEXTS_KEPT:
                self._texts.popitem(last=False)
        else:
            self._texts.move_to_end(page_id)
        return text[candidate.start : candidate.end]


def _by_page(ranked: Sequence[_Ranked]) -> tuple[dict[str, list[_Ranked]], dict[str, float]]:
    """The passages of each page, best page first, and what the pages are worth (0-1).

    By words a page counts as its best passage plus a little for the next two, by meaning as its nearest one; the two
    orders are fused by rank (Cormack, Clarke and Büttcher 2009).
    """
    groups: dict[str, list[_Ranked]] = {}
    for item in ranked:
        groups.setdefault(item.page.url, []).append(item)
    best = {url: sorted((item.words for item in group), reverse=True)[:3] for url, group in groups.items()}
    by_words = {url: first + _NEXT_PASSAGES * sum(next_two) for url, (first, *next_two) in best.items()}
    by_meaning = {url: max(item.near for item in group) for url, group in groups.items()}
    orders = [by_words, by_meaning] if any(by_meaning.values()) else [by_words]
    values = dict.fromkeys(groups, 0.0)
    for order in orders:
        for place, url in enumerate(sorted(order, key=lambda url: (-order[url], -groups[url][0].score, url))):
            values[url] += _FUSED_AFTER / (_FUSED_AFTER + place) / len(orders)
    return {url: groups[url] for url in sorted(groups, key=lambda url: (-values[url], url))}, values


def _within_reach(terms: Iterable[str], frequency: Mapping[str, int]) -> list[str]:
    """Of terms in the order of their worth those whose passages together are few enough to be ranked in time."""
    chosen: list[str] = []
    passages = 0
    for term in terms:
        if len(chosen) < _LEAST_TERMS or passages + frequency[term] <= _PASSAGES_RANKED:
            chosen.append(term)
            passages += frequency[term]
    return chosen


def _host(url: str) -> str:
    return (urlsplit(url).hostname or "").lower()


def _of_type(page: _Page, ending: str) -> bool:
    """Whether the page's address ends so, or the page is of the type that such files have; many are plain text."""
    kind = READABLE_SUFFIXES.get(ending, "text/plain")
    same = kind != "text/plain" and page.content_type.partition(";")[0].strip().lower() == kind
    return same or urlsplit(page.url).path.lower().endswith(ending)


def _allowed(page: _Page, constraints: Constraints) -> bool:
    """Whether the constraints let the page in; a page without a date is kept."""
    if constraints == _ANYWHERE:
        return True
    host = _host(page.url)
    if constraints.include_domains and not host_matches(host, constraints.include_domains):
        return False
    if host_matches(host, constraints.exclude_domains):
        return False
    if constraints.file_type and not _of_type(page, f".{constraints.file_type}"):
        return False
    if not {*index_terms(constraints.in_title or "")} <= {*index_terms(page.title)}:
        return False
    if page.published_at is None:
        return True
    day = page.published_at.date()
    return not ((constraints.since and day < constraints.since) or (constraints.until and day > constraints.until))
