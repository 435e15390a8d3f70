"""The passages of a run searchable in memory: BM25F over fields, learned terms, sites that a question is about."""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from urllib.parse import urlsplit

from pincite.domain.library import Survey
from pincite.research.extractive.passages import (
    Passage,
    names_defined,
    opening_terms,
    section_terms,
    subject_terms,
    things_named,
)
from pincite.research.extractive.questions import Ask
from pincite.research.extractive.scoring import VARIANT, Indexed, Scored, Weighing, score_passage
from pincite.research.extractive.words import key_terms
from pincite.text.tokens import words

_PASSAGES_SCORED = 80
_FEEDBACK_PASSAGES = 8
_OPENING_PASSAGES = 3
_FEEDBACK_TERMS = 10
_NEGATING = ("un", "non", "in", "dis")
_ENDINGS = ("i", "li", "er", "or")
_ELSEWHERE = 0.6
"""What a passage is worth on a site that is not about the name in the question, when another site is."""
_IMPLIED = 0.2
"""What the name itself is worth then: it is on every page of that site."""


def site_of(url: str) -> str:
    """The host of a page, or the name of the local library it belongs to."""
    if url.startswith("local:"):
        return url[len("local:") :].split("/", 1)[0]
    return urlsplit(url).hostname or ""


class PassageIndex:
    """All passages of a run, searchable in memory. Pages are added once; asking does not change anything."""

    def __init__(self) -> None:
        self._entries: list[Indexed] = []
        self._postings: defaultdict[str, list[int]] = defaultdict(list)
        self._page_terms: dict[str, set[str]] = {}
        self._total_length = 0
        self._names: set[str] = set()
        self._by_passage: dict[int, Indexed] = {}
        self._frequencies: dict[str, int] = {}
        self._library_passages = 0

    def __len__(self) -> int:
        return len(self._entries)

    def add(self, url: str, passages: Iterable[Passage]) -> None:
        """Add a page's passages; a page that is in already stays as it is."""
        if url in self._page_terms:
            return
        page_terms: set[str] = set()
        abstract: frozenset[str] = frozenset()
        for place, passage in enumerate(passages):
            abstract = abstract or (opening_terms(passage) if place < _OPENING_PASSAGES else abstract)
            body: Counter[str] = Counter(term for statement in passage.statements for term in statement.terms)
            head = frozenset(key_terms(passage.text(passage.head))) if passage.head else frozenset()
            entry = Indexed(
                passage,
                body,
                head,
                frozenset(section_terms(passage)),
                frozenset(key_terms(passage.title)),
                frozenset(subject_terms(passage)),
                sum(body.values()),
                abstract,
                names_defined(passage),
                things_named(passage),
                opens_page=place == 0,
            )
            number = len(self._entries)
            self._names |= entry.names
            self._by_passage[id(passage)] = entry
            self._entries.append(entry)
            self._total_length += entry.length
            for term in set(body) | head | entry.section | entry.title:
                self._postings[term].append(number)
            page_terms.update(body, head, entry.section, entry.title)
        self._page_terms[url] = page_terms

    def know(self, survey: Survey) -> None:
        """Weigh the words of a question by how rare they are in the libraries it is asked of."""
        self._library_passages = survey.passages
        for word, passages in survey.frequencies:
            for term in key_terms(word)[:1]:
                self._frequencies[term] = max(passages, self._frequencies.get(term, 0))

    def idf(self, term: str) -> float:
        """Rarity of a term in the libraries, else among the passages read; one that is nowhere is as one in one."""
        found = max(len(self._postings.get(term, ())), 1)
        count = len(self._entries)
        if self._library_passages > count:
            # Of a word that no library was asked about, the share among the passages read stands for that in all.
            found = max(self._frequencies.get(term, found * self._library_passages // max(count, 1)), 1)
            count = self._library_passages
        return math.log(1 + (count + 0.5) / (found + 0.5))

    def entry(self, passage: Passage) -> Indexed:
        """A passage of this index with its terms by field."""
        return self._by_passage[id(passage)]

    def knows(self, term: str) -> bool:
        """Whether any page read has the term."""
        return term in self._postings

    def passages(self, terms: Sequence[str], *, limit: int = _PASSAGES_SCORED) -> list[tuple[Indexed, float]]:
        """The best passages by BM25F over body, head, section and title, best first.

        Source: Robertson, Zaragoza and Taylor 2004, simple BM25 extension to multiple weighted fields.
        """
        return self._weighted({term: self.idf(term) for term in terms}, limit)

    def _weighted(self, weights: dict[str, float], limit: int) -> list[tuple[Indexed, float]]:
        scores: defaultdict[int, float] = defaultdict(float)
        average = self._total_length / max(len(self._entries), 1) or 1.0
        for term, idf in weights.items():
            for number in self._postings.get(term, ()):
                entry = self._entries[number]
                weight = (
                    entry.body.get(term, 0) / (0.4 + 0.6 * entry.length / average)
                    + 2.5 * (term in entry.head)
                    + 1.2 * (term in entry.section)
                    + 0.8 * (term in entry.title)
                )
                scores[number] += idf * weight / (1.2 + weight)
        best = sorted(scores, key=lambda number: (-scores[number], number))[:limit]
        return [(self._entries[number], scores[number]) for number in best]

    def statements(self, ask: Ask, *, limit: int = _PASSAGES_SCORED) -> list[Scored]:
        """The statements of the best passages, best first; ties in the order of the pages."""
        about = self.sites_about(ask.names)[0]
        weighing = self.weighing(ask)
        wide = self._spelled(weighing.weights, weighing.variants)
        for term, weight in weighing.learned.items():
            wide[term] = wide.get(term, 0.0) + weight * weighing.total
        scored: list[Scored] = []
        for entry, _ in self._best(wide, about, limit):
            page = self._page_terms[entry.passage.url]
            elsewhere = _ELSEWHERE if about and site_of(entry.passage.url) not in about else 1.0
            scored.extend(score_passage(entry, page, weighing, elsewhere))
        return sorted(scored, key=lambda item: (-item.score, -item.coverage))

    def weighing(self, ask: Ask) -> Weighing:
        """What the terms of the question are worth among the pages read."""
        about, implied = self.sites_about(ask.names)
        weights = {
            term: self.idf(term) * emphasis * (_IMPLIED if term in implied else 1.0)
            for term, emphasis in zip(ask.terms, ask.emphasis, strict=True)
        }
        same = dict(ask.same)
        variants = {term: self._variants(term) | {same.get(term, term)} for term in weights}
        learned = self.learned(self._best(self._spelled(weights, variants), about, _FEEDBACK_PASSAGES), weights)
        named = frozenset(word.lower().removesuffix("()") for word in ask.identifiers) & self._names
        return Weighing(ask, weights, variants, learned, sum(weights.values()) or 1.0, named)

    def _variants(self, term: str) -> frozenset[str]:
        """The term, and terms read that are the same word in another form where the stemmer does not see it.

        `unsupport` also stands for `support`, `abbrevi` for `abbrev`, `instant` for `instantli`: a negating prefix, up
        to two letters at the end, an ending that the stemmer leaves.
        """
        found = {term}
        for prefix in _NEGATING:
            if term.startswith(prefix) and len(term) - len(prefix) >= 4 and term[len(prefix) :] in self._postings:
                found.add(term[len(prefix) :])
        if term.isalpha() and len(term) >= 6:
            found.update(other for cut in (1, 2) if (other := term[:-cut]) in self._postings and len(other) >= 5)
            found.update(other for ending in _ENDINGS if (other := term + ending) in self._postings)
        return frozenset(found)

    @staticmethod
    def _spelled(weights: dict[str, float], variants: dict[str, frozenset[str]]) -> dict[str, float]:
        spelled = dict(weights)
        for term, others in variants.items():
            for other in others - {term}:
                spelled.setdefault(other, weights[term] * VARIANT)
        return spelled

    def learned(self, best: list[tuple[Indexed, float]], known: dict[str, float]) -> dict[str, float]:
        """Terms that the best passages add to the question, with a share of 1 each: pseudo-relevance feedback.

        Source: Lavrenko and Croft 2001, relevance models; here only the strongest terms, as a tie-breaker.
        """
        gathered: defaultdict[str, float] = defaultdict(float)
        top = best[0][1] if best else 1.0
        for entry, score in best:
            for term, count in entry.body.items():
                if term not in known and len(term) > 2 and not term.isdigit():
                    gathered[term] += (score / top) ** 2 * self.idf(term) * min(count, 2)
        strongest = sorted(gathered, key=lambda term: (-gathered[term], term))[:_FEEDBACK_TERMS]
        weight = sum(gathered[term] for term in strongest) or 1.0
        return {term: gathered[term] / weight for term in strongest}

    def sites_about(self, names: Sequence[str]) -> tuple[frozenset[str], frozenset[str]]:
        """Sites that carry a name of the question in their own name, and the stems of such names.

        A question about "Example" is about the pages of example.org, where that word is on every page.
        """
        words_ = {word.lower(): name for name in names for word in words(name) if not word.isdigit()}
        about: set[str] = set()
        implied: set[str] = set()
        for site in {site_of(url) for url in self._page_terms}:
            for word in set(re.split(r"[^a-z0-9]+", site.lower())) & words_.keys():
                about.add(site)
                implied.update(key_terms(word))
                implied.update(key_terms(words_[word]) if words_[word].lower() == word else ())
        # Two names with a site each tell passages apart: then both count in full.
        return frozenset(about), frozenset(implied if len(about) == 1 else ())

    def _best(self, weights: dict[str, float], about: frozenset[str], limit: int) -> list[tuple[Indexed, float]]:
        best = self._weighted({term: weight for term, weight in weights.items() if weight}, limit * 2)
        ranked = sorted(
            best,
            key=lambda pair: -pair[1] * (_ELSEWHERE if about and site_of(pair[0].passage.url) not in about else 1.0),
        )
        return ranked[:limit]
