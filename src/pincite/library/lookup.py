"""Questions to an index that is there: passages, pages, frequencies."""

import heapq
import json
import re
import sqlite3
import zlib
from collections import OrderedDict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from urllib.parse import urlsplit

from pincite.domain.library import PageHit, Passage, PassageKind, PassageMatch
from pincite.domain.search import Constraints, Query
from pincite.library.ranking import (
    FEEDBACK_PASSAGES,
    FEEDBACK_SHARE,
    FIELD_WEIGHTS,
    PAGE_WEIGHT,
    Fields,
    Statistics,
    boosted,
    feedback_terms,
    match_of,
    places_of,
    term_score,
)
from pincite.library.snippets import snippet
from pincite.ranking.terms import index_terms, query_terms
from pincite.urls.domains import host_matches

CANDIDATES = 150
_MAX_TERMS = 40
_SURE_TERMS = 4
_LEAST_TERMS = 2
_PASSAGES_RANKED = 10_000
"""SQLite ranks every passage that has one of the words: in a large library the common ones must be left out."""
_COMMON = 0.05
_ANYWHERE = Constraints()
_LOOKED_AT = 80
_NOT_LOOKED_AT = PassageMatch()
_BEST_PAGES = 40
_SURE_PAGES = 5
_PAGES_KEPT = 20_000
_TEXTS_KEPT = 128
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_DATE = re.compile(r"\b(?:1[5-9]|20)\d\d\b|\b\d{4}-\d\d-\d\d\b")
_NEXT_PASSAGES = 0.15


@dataclass(frozen=True, slots=True)
class _Page:
    """What hits need to know of a page."""

    url: str
    title: str
    document_id: str
    published_at: datetime | None


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A passage as stored."""

    passage_id: int
    page_id: int
    start: int
    end: int
    kind: str
    section: str
    fields: Fields


@dataclass(frozen=True, slots=True)
class _Ranked:
    """A candidate with its score; `terms` is the part of it that single terms gave."""

    score: float
    terms: float
    match: PassageMatch
    candidate: _Candidate
    page: _Page


@dataclass(frozen=True, slots=True)
class _Asked:
    """A question as terms: with weights, and the words of its own in their order."""

    terms: dict[str, float]
    order: tuple[str, ...]
    statistics: Statistics


@dataclass(frozen=True, slots=True)
class _Rankings:
    """Passages by both looks at the question, and by the second one alone."""

    blended: list[_Ranked]
    fed: list[_Ranked]


class Lookup:
    """Reads one index through one connection; not safe for several threads at a time."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._db = connection
        self._texts: OrderedDict[int, str] = OrderedDict()
        self._pages: dict[int, _Page | None] = {}

    def forget(self) -> None:
        """Drop what was remembered of an index that has changed."""
        self._texts.clear()
        self._pages.clear()

    def passages(self, text: str, limit: int) -> tuple[Passage, ...]:
        """The best passages for the text, best first."""
        ranked = self._ranked(text, Constraints()).blended[: max(limit, 0)]
        return tuple(self._passage(item, rank) for rank, item in enumerate(ranked, 1))

    def pages(self, query: Query) -> tuple[PageHit, ...]:
        """The best pages: each counts as its best passage, plus a little for the next two.

        The first few are those of the blended ranking; below, feedback alone finds more of what a second step of
        the question needs, and the order follows it rather than the scores.
        """
        rankings = self._ranked(query.text, query.constraints)
        blended, fed = _by_page(rankings.blended), _by_page(rankings.fed)
        sure = list(blended)[:_SURE_PAGES]
        order = dict.fromkeys([*sure, *fed, *blended])
        prefer = query.constraints.prefer_domains
        best = sorted(order, key=lambda url: not host_matches(_host(url), prefer)) if prefer else list(order)
        hits = []
        for url in best[: max(query.max_results, 0)]:
            top = blended[url][0]
            hits.append(
                PageHit(
                    url=url,
                    title=top.page.title,
                    snippet=snippet(self._body(top.candidate), query.text),
                    score=_page_value(blended[url]),
                    published_at=top.page.published_at,
                )
            )
        return tuple(hits)

    def document_frequency(self, term: str) -> int:
        """On how many passages the term occurs; of several words, the rarest counts."""
        terms = index_terms(term)
        return min(self._frequencies(terms).values()) if terms else 0

    # ---- ranking ------------------------------------------------------------------------------------------

    def _ranked(self, text: str, constraints: Constraints) -> _Rankings:
        """Candidates by the question's own terms and by these with feedback, blended, and by the latter alone."""
        asked = self._asked(text)
        if not asked.terms:
            return _Rankings([], [])
        around = self._page_scores(asked)
        first = self._scored(asked, constraints, around)
        if not first:
            return _Rankings([], [])
        best = [(item.score, item.candidate.fields) for item in first[:FEEDBACK_PASSAGES]]
        more = self._with_feedback(asked, best)
        if more is asked:
            return _Rankings(first, first)
        second = self._scored(more, constraints, around, first)
        return _Rankings(_blended(first, second), second)

    def _asked(self, text: str) -> _Asked:
        order = query_terms(text)
        statistics = self._statistics(order)
        known = sorted((t for t in order if statistics.frequencies[t]), key=lambda t: statistics.frequencies[t])
        terms = dict.fromkeys(known[:_MAX_TERMS], 1.0)
        return _Asked(terms, tuple(term for term in order if term in terms), statistics)

    def _with_feedback(self, asked: _Asked, best: Sequence[tuple[float, Fields]]) -> _Asked:
        wanted = {term for _, fields in best for text in (fields.body, fields.title) for term in text.split()}
        statistics = self._statistics(wanted | set(asked.order))
        added = feedback_terms(best, asked.terms.keys(), statistics)
        return _Asked({**added, **asked.terms}, asked.order, statistics) if added else asked

    def _scored(
        self,
        asked: _Asked,
        constraints: Constraints,
        around: Mapping[int, float],
        earlier: Sequence[_Ranked] = (),
    ) -> list[_Ranked]:
        """Candidates, those of an earlier look included, scored; how words stand together counts for the best."""
        known = {item.candidate.passage_id: item for item in earlier}
        added = {term: weight for term, weight in asked.terms.items() if term not in asked.order}
        found = []
        candidates = {item.candidate.passage_id: item.candidate for item in earlier}
        candidates.update(self._more_candidates(asked) if earlier else self._candidates(asked, around))
        for candidate in candidates.values():
            page = self._page(candidate.page_id)
            if page is None or not _allowed(page, constraints):
                continue
            before = known.get(candidate.passage_id)
            if before is None:
                score = term_score(asked.terms, candidate.fields, asked.statistics)
            else:
                score = before.terms + term_score(added, candidate.fields, asked.statistics)
            found.append((score + PAGE_WEIGHT * around.get(candidate.page_id, 0.0), score, candidate, page))
        found.sort(key=lambda item: (-item[0], item[2].passage_id))
        ranked = []
        for rank, (total, score, candidate, page) in enumerate(found):
            before = known.get(candidate.passage_id)
            match = before.match if before else _NOT_LOOKED_AT
            if match is _NOT_LOOKED_AT and rank < _LOOKED_AT:
                match = match_of(asked.order, places_of(asked.order, candidate.fields), asked.statistics)
            ranked.append(_Ranked(total - score + boosted(score, match), score, match, candidate, page))
        ranked.sort(key=_by_score)
        return ranked

    def _more_candidates(self, asked: _Asked) -> dict[int, _Candidate]:
        """The best passages for the words that feedback added, with the question's own most telling ones."""
        added = [term for term in asked.terms if term not in asked.order]
        words = _any_of(_within_reach([*_telling(asked)[:_SURE_TERMS], *added], asked))
        return self._stored(self._best(words))

    def _best(self, words: str) -> list[tuple[int]]:
        return self._db.execute(
            "SELECT rowid FROM passage_terms WHERE passage_terms MATCH ? AND rank MATCH 'bm25(2.0, 1.6, 1.0)'"
            " ORDER BY rank LIMIT ?",
            (words, CANDIDATES),
        ).fetchall()

    def _candidates(self, asked: _Asked, around: Mapping[int, float]) -> dict[int, _Candidate]:
        """The best passages of the whole library by SQLite's BM25, and those of the best pages."""
        words = _any_of(_within_reach(_telling(asked), asked))
        pages = heapq.nsmallest(_BEST_PAGES, around, key=lambda page_id: (-around[page_id], page_id))
        inside = self._db.execute(
            "SELECT rowid FROM passage_terms WHERE passage_terms MATCH ? AND +rowid IN"
            " (SELECT passage_id FROM passages WHERE page_id IN (SELECT value FROM json_each(?)))"
            " ORDER BY bm25(passage_terms, 2.0, 1.6, 1.0) LIMIT ?",
            (words, json.dumps(pages), CANDIDATES),
        ).fetchall()
        return self._stored([*self._best(words), *inside])

    def _stored(self, ids: Iterable[tuple[int]]) -> dict[int, _Candidate]:
        rows = self._db.execute(
            'SELECT passage_id, page_id, start, "end", kind, section, title, headings, body FROM passages'
            " WHERE passage_id IN (SELECT value FROM json_each(?))",
            (json.dumps(sorted({passage_id for (passage_id,) in ids})),),
        ).fetchall()
        return {
            passage_id: _Candidate(passage_id, page_id, start, end, kind, section, Fields(title, headings, body))
            for passage_id, page_id, start, end, kind, section, title, headings, body in rows
        }

    def _page_scores(self, asked: _Asked) -> dict[int, float]:
        """BM25 of whole pages for the question's own terms, by page."""
        rows = self._db.execute(
            "SELECT rowid, -bm25(page_terms, 3.0, 1.0, 1.0) FROM page_terms WHERE page_terms MATCH ?",
            (_any_of(asked.order),),
        )
        return dict(rows.fetchall())

    # ---- what is stored -----------------------------------------------------------------------------------

    def _statistics(self, terms: Collection[str]) -> Statistics:
        row = self._db.execute("SELECT value FROM meta WHERE key = 'totals'").fetchone()
        count, lengths = json.loads(row[0]) if row else (0, dict.fromkeys(FIELD_WEIGHTS, 1.0))
        return Statistics(count, lengths, self._frequencies(terms))

    def _frequencies(self, terms: Collection[str]) -> dict[str, int]:
        rows = self._db.execute(
            "SELECT term, passages FROM frequencies WHERE term IN (SELECT value FROM json_each(?))",
            (json.dumps(sorted(terms)),),
        )
        return {**dict.fromkeys(terms, 0), **dict(rows.fetchall())}

    def _page(self, page_id: int) -> _Page | None:
        if page_id in self._pages:
            return self._pages[page_id]
        row = self._db.execute(
            "SELECT url, title, document_id, published_at FROM pages WHERE page_id = ? AND is_current = 1", (page_id,)
        ).fetchone()
        page = None
        if row is not None:
            url, title, document_id, published = row
            page = _Page(url, title, document_id, datetime.fromisoformat(published) if published else None)
        if len(self._pages) >= _PAGES_KEPT:
            self._pages.clear()
        self._pages[page_id] = page
        return page

    def _passage(self, item: _Ranked, rank: int) -> Passage:
        candidate, page = item.candidate, item.page
        body = self._body(candidate)
        return Passage(
            url=page.url,
            title=page.title,
            document_id=page.document_id,
            start=candidate.start,
            end=candidate.end,
            text=body,
            section=tuple(json.loads(candidate.section)),
            kind=PassageKind(candidate.kind),
            score=item.score,
            rank=rank,
            published_at=page.published_at,
            match=replace(item.match, quantities=len(_NUMBER.findall(body)), dates=len(_DATE.findall(body))),
        )

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


def _page_value(found: Sequence[_Ranked]) -> float:
    return found[0].score + _NEXT_PASSAGES * sum(item.score for item in found[1:3])


def _by_page(ranked: Sequence[_Ranked]) -> dict[str, list[_Ranked]]:
    """The passages of each page, best page first."""
    groups: dict[str, list[_Ranked]] = {}
    for item in ranked:
        groups.setdefault(item.page.url, []).append(item)
    return dict(sorted(groups.items(), key=lambda group: (-_page_value(group[1]), group[0])))


def _by_score(item: _Ranked) -> tuple[float, int]:
    return (-item.score, item.candidate.passage_id)


def _blended(first: Sequence[_Ranked], second: Sequence[_Ranked]) -> list[_Ranked]:
    """Both rankings as one; each is scaled by its best, so that neither is louder."""
    scores: dict[int, float] = {}
    items: dict[int, _Ranked] = {}
    for ranking, share in ((second, FEEDBACK_SHARE), (first, 1 - FEEDBACK_SHARE)):
        for item in ranking:
            key = item.candidate.passage_id
            scores[key] = scores.get(key, 0.0) + share * item.score / ranking[0].score
            items[key] = item
    scale = first[0].score
    return sorted((replace(item, score=scale * scores[key]) for key, item in items.items()), key=_by_score)


def _telling(asked: _Asked) -> list[str]:
    """The question's terms that candidates are looked up by, rarest first; common ones only score."""
    frequency = asked.statistics.frequencies
    own = sorted(asked.order, key=lambda term: frequency[term])
    limit = asked.statistics.passages * _COMMON
    return [term for rank, term in enumerate(own) if rank < _SURE_TERMS or frequency[term] <= limit]


def _within_reach(terms: Iterable[str], asked: _Asked) -> list[str]:
    """Of terms in the order of their worth those whose passages together are few enough to be ranked in time."""
    frequency = asked.statistics.frequencies
    chosen: list[str] = []
    passages = 0
    for term in terms:
        if len(chosen) < _LEAST_TERMS or passages + frequency[term] <= _PASSAGES_RANKED:
            chosen.append(term)
            passages += frequency[term]
    return chosen


def _any_of(terms: Collection[str]) -> str:
    return " OR ".join(f'"{term}"' for term in terms)


def _host(url: str) -> str:
    return (urlsplit(url).hostname or "").lower()


def _allowed(page: _Page, constraints: Constraints) -> bool:
    """Whether the constraints let the page in; a page without a date is kept."""
    if constraints == _ANYWHERE:
        return True
    host = _host(page.url)
    if constraints.include_domains and not host_matches(host, constraints.include_domains):
        return False
    if host_matches(host, constraints.exclude_domains):
        return False
    if page.published_at is None:
        return True
    day = page.published_at.date()
    return not ((constraints.since and day < constraints.since) or (constraints.until and day > constraints.until))
