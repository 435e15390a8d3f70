"""Questions to an index that is there: passages, pages, frequencies, names."""

import json
import re
import sqlite3
import zlib
from collections import OrderedDict
from dataclasses import dataclass, replace
from datetime import datetime
from urllib.parse import urlsplit

from pincite.domain.library import Name, PageHit, Passage, PassageKind
from pincite.domain.search import Constraints, Query
from pincite.library.analysis import index_terms, is_identifier, query_terms
from pincite.library.ranking import FIELD_WEIGHTS, Fields, Statistics, score
from pincite.text.normalise import fold
from pincite.text.sentences import sentences
from pincite.text.tokens import is_stop, words
from pincite.urls.domains import host_matches

CANDIDATES = 300
SNIPPET_CHARS = 400
_MAX_TERMS = 40
_TEXTS_KEPT = 128
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_DATE = re.compile(r"\b(?:1[5-9]|20)\d\d\b|\b\d{4}-\d\d-\d\d\b")
_LONGEST_NAME_WORDS = 6
_SECOND_PASSAGE = 0.15


@dataclass(frozen=True, slots=True)
class _Page:
    """What hits need to know of a page."""

    url: str
    title: str
    document_id: str
    published_at: datetime | None


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A passage as stored, before and after scoring."""

    page_id: int
    start: int
    end: int
    kind: str
    section: str
    fields: Fields


class Lookup:
    """Reads one index through one connection; not safe for several threads at a time."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._db = connection
        self._totals: tuple[int, dict[str, float]] | None = None
        self._texts: OrderedDict[int, str] = OrderedDict()

    def forget(self) -> None:
        """Drop what was remembered of an index that has changed."""
        self._totals = None
        self._texts.clear()

    def passages(self, text: str, limit: int) -> tuple[Passage, ...]:
        """The best passages for the text, best first."""
        scored = self._scored(text)[:limit]
        return tuple(replace(passage, rank=rank) for rank, passage in enumerate(scored, 1))

    def pages(self, query: Query) -> tuple[PageHit, ...]:
        """The best pages: each counts as its best passage, plus a little for the next ones."""
        groups: dict[str, list[Passage]] = {}
        for passage in self._scored(query.text, query.constraints):
            groups.setdefault(passage.url, []).append(passage)
        hits = [
            PageHit(
                url=url,
                title=found[0].title,
                snippet=_snippet(found[0].text, query.text),
                score=found[0].score + _SECOND_PASSAGE * sum(p.score for p in found[1:3]),
                published_at=found[0].published_at,
            )
            for url, found in groups.items()
        ]
        hits.sort(key=lambda hit: (-_preferred(hit.url, query.constraints), -hit.score, hit.url))
        return tuple(hits[: query.max_results])

    def document_frequency(self, term: str) -> int:
        """On how many passages the term occurs; of several words, the rarest counts."""
        counts = [self._frequency(t) for t in index_terms(term)]
        return min(counts, default=0)

    def names_in(self, text: str) -> tuple[Name, ...]:
        """Names of the library in the text: the longest at each place."""
        written = list(words(fold(text[:4_000]).text))
        found: list[Name] = []
        position = 0
        while position < len(written):
            for size in range(min(_LONGEST_NAME_WORDS, len(written) - position), 0, -1):
                name = self._name(written[position : position + size], position)
                if name is not None:
                    found.append(name)
                    position += size
                    break
            else:
                position += 1
        return tuple(dict.fromkeys(found))

    # ---- inside -------------------------------------------------------------------------------------------

    def _scored(self, text: str, constraints: Constraints | None = None) -> list[Passage]:
        order = query_terms(text)
        statistics = self._statistics(order)
        known = sorted((t for t in order if statistics.frequencies[t]), key=lambda t: -statistics.idf(t))
        if not known:
            return []
        terms = dict.fromkeys(known[:_MAX_TERMS], 1.0)
        order = tuple(term for term in order if term in terms)
        pages: dict[int, _Page | None] = {}
        scored = []
        for candidate in self._candidates(order):
            if candidate.page_id not in pages:
                pages[candidate.page_id] = self._page(candidate.page_id, constraints)
            if pages[candidate.page_id] is not None:
                scored.append((*score(terms, order, candidate.fields, statistics), candidate))
        scored.sort(key=lambda item: (-item[0], item[2].page_id, item[2].start))
        result = []
        for value, match, candidate in scored:
            page = pages[candidate.page_id]
            if page is None:
                continue
            body = self._text(candidate.page_id)[candidate.start : candidate.end]
            result.append(
                Passage(
                    url=page.url,
                    title=page.title,
                    document_id=page.document_id,
                    start=candidate.start,
                    end=candidate.end,
                    text=body,
                    section=tuple(json.loads(candidate.section)),
                    kind=PassageKind(candidate.kind),
                    score=value,
                    rank=0,
                    published_at=page.published_at,
                    match=replace(match, quantities=len(_NUMBER.findall(body)), dates=len(_DATE.findall(body))),
                )
            )
        return result

    def _candidates(self, terms: tuple[str, ...]) -> list[_Candidate]:
        wanted = " OR ".join(f'"{term}"' for term in terms)
        rows = self._db.execute(
            'SELECT p.page_id, p.start, p."end", p.kind, p.section, p.title, p.headings, p.body'
            " FROM (SELECT rowid FROM passage_terms WHERE passage_terms MATCH ?"
            "       AND rank MATCH 'bm25(2.0, 1.6, 1.0)' ORDER BY rank LIMIT ?) AS c"
            " JOIN passages AS p ON p.passage_id = c.rowid",
            (wanted, CANDIDATES),
        )
        return [
            _Candidate(
                page_id, start, end, kind, section,
                Fields(tuple(title.split()), tuple(headings.split()), tuple(body.split())),
            )
            for page_id, start, end, kind, section, title, headings, body in rows
        ]  # fmt: skip

    def _statistics(self, terms: tuple[str, ...]) -> Statistics:
        if self._totals is None:
            row = self._db.execute("SELECT value FROM meta WHERE key = 'totals'").fetchone()
            self._totals = tuple(json.loads(row[0])) if row else (0, dict.fromkeys(FIELD_WEIGHTS, 1.0))
        count, lengths = self._totals
        return Statistics(count, lengths, {term: self._frequency(term) for term in terms})

    def _frequency(self, term: str) -> int:
        row = self._db.execute("SELECT doc FROM passage_vocabulary WHERE term = ?", (term,)).fetchone()
        return int(row[0]) if row else 0

    def _page(self, page_id: int, constraints: Constraints | None) -> _Page | None:
        row = self._db.execute(
            "SELECT url, title, document_id, published_at FROM pages WHERE page_id = ? AND is_current = 1", (page_id,)
        ).fetchone()
        if row is None:
            return None
        url, title, document_id, published = row
        page = _Page(url, title, document_id, datetime.fromisoformat(published) if published else None)
        return page if constraints is None or _allowed(page, constraints) else None

    def _text(self, page_id: int) -> str:
        text = self._texts.get(page_id)
        if text is None:
            row = self._db.execute("SELECT text FROM pages WHERE page_id = ?", (page_id,)).fetchone()
            text = zlib.decompress(row[0]).decode("utf-8", "surrogatepass") if row else ""
            self._texts[page_id] = text
            if len(self._texts) > _TEXTS_KEPT:
                self._texts.popitem(last=False)
        else:
            self._texts.move_to_end(page_id)
        return text

    def _name(self, written: list[str], position: int) -> Name | None:
        """The library's name for these words. One plain word counts only where the asker writes it as a name."""
        if is_stop(written[0]) or is_stop(written[-1]):
            return None
        row = self._db.execute(
            "SELECT text, count(*), max(expansion) FROM page_names WHERE key = ? GROUP BY key",
            (" ".join(word.lower() for word in written),),
        ).fetchone()
        if row is None:
            return None
        name = Name(text=row[0], pages=row[1], expansion=row[2])
        plain = len(written) == 1 and not name.expansion and not is_identifier(name.text)
        as_name = written[0][:1].isupper() and (position > 0 or written[0][1:2].isupper())
        return name if as_name or not plain else None


def _allowed(page: _Page, constraints: Constraints) -> bool:
    """Whether the constraints let the page in; a page without a date is kept."""
    host = (urlsplit(page.url).hostname or "").lower()
    if constraints.include_domains and not host_matches(host, constraints.include_domains):
        return False
    if host_matches(host, constraints.exclude_domains):
        return False
    if page.published_at is None:
        return True
    day = page.published_at.date()
    return not ((constraints.since and day < constraints.since) or (constraints.until and day > constraints.until))


def _preferred(url: str, constraints: Constraints) -> bool:
    host = (urlsplit(url).hostname or "").lower()
    return host_matches(host, constraints.prefer_domains)


def _snippet(text: str, question: str) -> str:
    """The run of whole sentences, at most 400 characters, that holds most of the question's words."""
    wanted = set(query_terms(question))
    spans = [span for span in sentences(text) if span.end > span.start]
    best, best_value = "", -1.0
    for first, span in enumerate(spans):
        last = first
        while last + 1 < len(spans) and spans[last + 1].end - span.start <= SNIPPET_CHARS:
            last += 1
        piece = text[span.start : spans[last].end]
        value = len(wanted & set(index_terms(piece))) - 0.01 * first
        if value > best_value:
            best, best_value = piece, value
    flat = " ".join((best or text).split())
    if len(flat) <= SNIPPET_CHARS:
        return flat
    return flat[: SNIPPET_CHARS - 1].rsplit(" ", 1)[0] + "…"
