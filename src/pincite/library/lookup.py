"""Questions to an index that is there: passages, pages, frequencies, names."""

import json
import re
import sqlite3
import zlib
from collections import OrderedDict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from urllib.parse import urlsplit

from pincite.domain.library import Name, PageHit, Passage, PassageKind, PassageMatch
from pincite.domain.search import Constraints, Query
from pincite.library.analysis import index_terms, is_identifier, query_terms
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
from pincite.text.normalise import fold
from pincite.text.tokens import is_stop, words
from pincite.urls.domains import host_matches

CANDIDATES = 300
_MAX_TERMS = 40
_SURE_TERMS = 3
_COMMON = 0.03
_TEXTS_KEPT = 128
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_DATE = re.compile(r"\b(?:1[5-9]|20)\d\d\b|\b\d{4}-\d\d-\d\d\b")
_LONGEST_NAME_WORDS = 6
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
    """A candidate with its score."""

    score: float
    match: PassageMatch
    candidate: _Candidate
    page: _Page


@dataclass(frozen=True, slots=True)
class _Asked:
    """A question as terms: with weights, and the words of its own in their order."""

    terms: dict[str, float]
    order: tuple[str, ...]
    statistics: Statistics


class Lookup:
    """Reads one index through one connection; not safe for several threads at a time."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._db = connection
        self._texts: OrderedDict[int, str] = OrderedDict()

    def forget(self) -> None:
        """Drop what was remembered of an index that has changed."""
        self._texts.clear()

    def passages(self, text: str, limit: int) -> tuple[Passage, ...]:
        """The best passages for the text, best first."""
        ranked = self._ranked(text, Constraints())[: max(limit, 0)]
        return tuple(self._passage(item, rank) for rank, item in enumerate(ranked, 1))

    def pages(self, query: Query) -> tuple[PageHit, ...]:
        """The best pages: each counts as its best passage, plus a little for the next two."""
        groups: dict[str, list[_Ranked]] = {}
        for item in self._ranked(query.text, query.constraints):
            groups.setdefault(item.page.url, []).append(item)

        def value(url: str) -> float:
            found = groups[url]
            return found[0].score + _NEXT_PASSAGES * sum(item.score for item in found[1:3])

        prefer = query.constraints.prefer_domains
        best = sorted(groups, key=lambda url: (-host_matches(_host(url), prefer), -value(url), url))
        return tuple(
            PageHit(
                url=url,
                title=groups[url][0].page.title,
                snippet=snippet(self._body(groups[url][0].candidate), query.text),
                score=value(url),
                published_at=groups[url][0].page.published_at,
            )
            for url in best[: max(query.max_results, 0)]
        )

    def document_frequency(self, term: str) -> int:
        """On how many passages the term occurs; of several words, the rarest counts."""
        terms = index_terms(term)
        return min(self._frequencies(terms).values()) if terms else 0

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

    # ---- ranking ------------------------------------------------------------------------------------------

    def _ranked(self, text: str, constraints: Constraints) -> list[_Ranked]:
        """Candidates by the question's own terms and by these with feedback, the two scores added."""
        asked = self._asked(text)
        if not asked.terms:
            return []
        allowed: dict[int, _Page | None] = {}
        first = self._scored(asked, constraints, allowed)
        if not first:
            return []
        best = [(item.score, item.candidate.fields) for item in first[:FEEDBACK_PASSAGES]]
        more = self._with_feedback(asked, best)
        if more is asked:
            return first
        second = self._scored(more, constraints, allowed)
        return _blended(first, second)

    def _asked(self, text: str) -> _Asked:
        order = query_terms(text)
        statistics = self._statistics(order)
        known = sorted((t for t in order if statistics.frequencies[t]), key=lambda t: statistics.frequencies[t])
        terms = dict.fromkeys(known[:_MAX_TERMS], 1.0)
        return _Asked(terms, tuple(term for term in order if term in terms), statistics)

    def _with_feedback(self, asked: _Asked, best: Sequence[tuple[float, Fields]]) -> _Asked:
        wanted = {term for _, fields in best for term in (*fields.body, *fields.title)}
        statistics = self._statistics(wanted | set(asked.order))
        added = feedback_terms(best, asked.terms.keys(), statistics)
        return _Asked({**added, **asked.terms}, asked.order, statistics) if added else asked

    def _scored(self, asked: _Asked, constraints: Constraints, allowed: dict[int, _Page | None]) -> list[_Ranked]:
        around = self._page_scores(asked)
        ranked = []
        for candidate in self._candidates(asked):
            if candidate.page_id not in allowed:
                allowed[candidate.page_id] = self._page(candidate.page_id, constraints)
            page = allowed[candidate.page_id]
            if page is None:
                continue
            places = places_of(asked.terms.keys(), candidate.fields)
            match = match_of(asked.order, places, asked.statistics)
            score = boosted(term_score(asked.terms, places, candidate.fields, asked.statistics), match)
            ranked.append(_Ranked(score + PAGE_WEIGHT * around.get(candidate.page_id, 0.0), match, candidate, page))
        ranked.sort(key=_by_score)
        return ranked

    def _candidates(self, asked: _Asked) -> list[_Candidate]:
        rows = self._db.execute(
            'SELECT p.passage_id, p.page_id, p.start, p."end", p.kind, p.section, p.title, p.headings, p.body'
            " FROM (SELECT rowid FROM passage_terms WHERE passage_terms MATCH ?"
            "       AND rank MATCH 'bm25(2.0, 1.6, 1.0)' ORDER BY rank LIMIT ?) AS c"
            " JOIN passages AS p ON p.passage_id = c.rowid",
            (_any_of(_telling(asked)), CANDIDATES),
        )
        return [
            _Candidate(passage_id, page_id, start, end, kind, section, Fields(*(tuple(t.split()) for t in terms)))
            for passage_id, page_id, start, end, kind, section, *terms in rows.fetchall()
        ]

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

    def _page(self, page_id: int, constraints: Constraints) -> _Page | None:
        row = self._db.execute(
            "SELECT url, title, document_id, published_at FROM pages WHERE page_id = ? AND is_current = 1", (page_id,)
        ).fetchone()
        if row is None:
            return None
        url, title, document_id, published = row
        page = _Page(url, title, document_id, datetime.fromisoformat(published) if published else None)
        return page if _allowed(page, constraints) else None

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
    """The terms that candidates are looked up by: common ones only score, unless there is nothing rarer."""
    frequency = asked.statistics.frequencies
    own = sorted(asked.order, key=lambda term: frequency[term])
    limit = asked.statistics.passages * _COMMON
    chosen = [term for rank, term in enumerate(own) if rank < _SURE_TERMS or frequency[term] <= limit]
    return chosen + [term for term in asked.terms if term not in asked.order]


def _any_of(terms: Collection[str]) -> str:
    return " OR ".join(f'"{term}"' for term in terms)


def _host(url: str) -> str:
    return (urlsplit(url).hostname or "").lower()


def _allowed(page: _Page, constraints: Constraints) -> bool:
    """Whether the constraints let the page in; a page without a date is kept."""
    host = _host(page.url)
    if constraints.include_domains and not host_matches(host, constraints.include_domains):
        return False
    if host_matches(host, constraints.exclude_domains):
        return False
    if page.published_at is None:
        return True
    day = page.published_at.date()
    return not ((constraints.since and day < constraints.since) or (constraints.until and day > constraints.until))
