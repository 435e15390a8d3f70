"""Sub-question and pages to claims: ranks statements, keeps the best that add something, says what is missing."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import anyio.to_thread

from pincite.domain.evidence import Claim
from pincite.domain.plan import Analysis, Gap, Progress, ReadPage, SubQuestion, Task
from pincite.research.extractive.answerable import LEAST_SCORE, answer_score
from pincite.research.extractive.answers import states_quantity
from pincite.research.extractive.claims import make_claim
from pincite.research.extractive.corroboration import corroborated
from pincite.research.extractive.passages import repeated_furniture
from pincite.research.extractive.premises import premise_of
from pincite.research.extractive.questions import Ask, read_question
from pincite.research.extractive.ranking import PassageIndex
from pincite.research.extractive.reranking import Reranker
from pincite.research.extractive.scoring import Scored
from pincite.research.extractive.shares import DomainShares
from pincite.research.extractive.shelf import Shelf
from pincite.research.extractive.versions import Versions, versions_of
from pincite.text.tokens import words
from pincite.verification.lexicon import NEGATIONS

MIN_COVERAGE = 0.36
"""Below this share of the question's weight the best passage is about something else (docs/research.md)."""
ONLY_TOUCHED = "not in these sources, as far as can be seen: the pages read only touch on this"
_KEEP_OF_BEST = 0.6
_COVERAGE_OF_BEST = 0.45
_SAME = 0.72
_CLAIMS_ALONE = 24
_CLAIMS_PER_PART = 8
_PER_PASSAGE = 4
_ON_PREMISE = 3
_TERM_WORDS = 8
_PAGES = 10
_COVERAGE_ELSEWHERE = 0.3
_COVERAGE_IF_UNSURE = 0.7
"""What the best statement of a further page must cover, of the best; more when nothing seems to answer."""


class ExtractiveAnalyst:
    """Whole sentences as claims, chosen by score with a penalty for repeating what is already chosen."""

    def __init__(self, shelf: Shelf, *, max_domain_share: float = 1.0, reranker: Reranker | None = None) -> None:
        self._shelf = shelf
        self._reranker = reranker
        self._max_domain_share = max_domain_share

    async def analyse(self, task: Task, sub_question: SubQuestion, progress: Progress) -> Analysis:
        """Claims best first; a gap when nothing read covers the sub-question."""
        return await anyio.to_thread.run_sync(self._analyse, task, sub_question, progress)

    def _analyse(self, task: Task, sub_question: SubQuestion, progress: Progress) -> Analysis:
        ask = read_question(sub_question.text)
        index = self._shelf.index(progress.pages)
        queries = _tried(sub_question, progress)
        if not progress.pages:
            return Analysis(gaps=(Gap(sub_question.text, "no page could be read", queries),))
        missing, fitting = _places(ask, progress.pages)
        scored = [item for item in index.statements(ask) if item.passage.url in fitting]
        if missing:
            reason = f"not in these sources: no page read mentions {' together with '.join(missing)}"
            return Analysis(gaps=(Gap(sub_question.text, reason, queries),), best_score=0.0)
        best = max((item.coverage for item in scored), default=0.0)
        if best < MIN_COVERAGE:
            reason = "not in these sources: no passage read is about this"
            return Analysis(gaps=(Gap(sub_question.text, reason, queries),), best_score=best)
        unsure = answer_score(ask, scored) < LEAST_SCORE
        if self._reranker is not None:
            scored = self._reranker.rerank(sub_question.text, scored)
        scored = [*self._on_premise(task, sub_question, index, fitting), *scored]
        alone = len(progress.plan.sub_questions) == 1
        limit = _CLAIMS_ALONE if alone and not unsure else _CLAIMS_PER_PART
        elsewhere = _COVERAGE_IF_UNSURE if unsure else _COVERAGE_ELSEWHERE
        claims = self._choose(scored, sub_question, progress, limit, elsewhere)
        gaps = (Gap(sub_question.text, ONLY_TOUCHED, queries, touched=True),) if unsure else ()
        return Analysis(claims=claims, gaps=gaps, best_score=best, best_url=scored[0].passage.url)

    def _on_premise(
        self, task: Task, sub_question: SubQuestion, index: PassageIndex, fitting: frozenset[str]
    ) -> list[Scored]:
        """The best statements about what the question takes for granted, as answers to whether it is so."""
        premise = premise_of(task.question)
        if not premise or sub_question.sub_question_id != "1":
            return []
        ask = read_question(premise)
        if states_quantity(premise):
            ask = replace(ask, answer_type="number", wants_default=True)
        found = [item for item in index.statements(ask) if item.passage.url in fitting]
        return found[:_ON_PREMISE]

    def _choose(
        self, scored: Sequence[Scored], sub_question: SubQuestion, progress: Progress, limit: int, elsewhere: float
    ) -> tuple[Claim, ...]:
        versions = versions_of(progress.pages)
        copies = {page.url: page.duplicate_of for page in progress.pages if page.duplicate_of}
        copies |= {url: group for url, (group, _) in versions.found.items()}
        terms = read_question(sub_question.text).terms
        furniture = repeated_furniture([item.passage for item in scored], copies, terms)
        floor = max(item.score for item in scored) * _KEEP_OF_BEST
        least = max(item.coverage for item in scored) * _COVERAGE_OF_BEST
        shares = DomainShares(scored, limit, self._max_domain_share)
        chosen: list[tuple[Scored, Claim]] = []
        per_passage: Counter[int] = Counter()
        used: set[tuple[str, int]] = set()
        for item in scored:
            if len(chosen) >= limit:
                break
            if item.score < floor or item.coverage < least or shares.full(item.passage.url):
                continue
            if item.passage.text(item.statement.span) in furniture or per_passage[id(item.passage)] >= _PER_PASSAGE:
                continue
            if any(_same(item, other, versions) for other, _ in chosen):
                continue
            claim = make_claim(item, self._shelf.page(item.passage.url), sub_question.text)
            if claim is None or not used.isdisjoint(told := _told(claim)):
                continue
            used |= told
            per_passage[id(item.passage)] += 1
            shares.take(item.passage.url)
            chosen.append((item, corroborated(claim, progress.pages, scored)))
        cited = {item.passage.url for item, _ in chosen}
        for item in _best_of_other_pages(scored, cited, elsewhere)[: max(_PAGES - len(cited), 0)]:
            claim = make_claim(item, self._shelf.page(item.passage.url), sub_question.text)
            if (
                claim is not None
                and used.isdisjoint(_told(claim))
                and not any(_same(item, other, versions) for other, _ in chosen)
            ):
                chosen.append((item, claim))
        return tuple(claim for _, claim in chosen)


def _places(ask: Ask, pages: Sequence[ReadPage]) -> tuple[tuple[str, ...], frozenset[str]]:
    """Identifiers of the question that no page read contains, and the pages that have all the exact ones together."""
    texts = {page.url: f"{page.document.title}\n{page.document.text}".lower() for page in pages}
    missing = tuple(word for word in ask.identifiers if not any(word.lower() in text for text in texts.values()))
    exact = [word.lower() for word in ask.exact]
    together = frozenset(url for url, text in texts.items() if all(word in text for word in exact))
    if exact and not together and not missing:
        return tuple(ask.exact), together
    return missing, together


def _tried(sub_question: SubQuestion, progress: Progress) -> tuple[str, ...]:
    """The queries that were sent for a sub-question: those of all rounds when there is no other one."""
    alone = len(progress.plan.sub_questions) == 1
    return progress.asked if alone and progress.asked else tuple(query.text for query in sub_question.queries)


def _best_of_other_pages(scored: Sequence[Scored], cited: set[str], share: float) -> list[Scored]:
    """The best statement of each page not cited yet, as far as it covers enough: an answer may need several pages."""
    least = max(item.coverage for item in scored) * share
    best: dict[str, Scored] = {}
    for item in scored:
        if item.passage.url not in cited and item.coverage >= least:
            best.setdefault(item.passage.url, item)
    return list(best.values())


def _told(claim: Claim) -> set[tuple[str, int]]:
    """Where the sentences of a claim stand; a short term or heading in front may be said again."""
    first, *rest = claim.evidence
    spans = [first, *rest] if not rest or len(first.quote.text.split()) > _TERM_WORDS else rest
    return {(evidence.url, evidence.quote.start) for evidence in spans}


def _same(one: Scored, other: Scored, versions: Versions) -> bool:
    """Whether two statements say the same: nearly the same stems, no figure that differs, both denying or neither.

    What two versions of a page say in other words is not the same: a reader wants to know which says what.
    """
    if versions.siblings(one.passage.url, other.passage.url):
        return one.statement.terms == other.statement.terms
    a, b = set(one.statement.terms), set(other.statement.terms)
    if not a or not b:
        return True
    figures = {term for term in a ^ b if any(character.isdigit() for character in term)}
    return len(a & b) / len(a | b) >= _SAME and not figures and _denies(one) == _denies(other)


def _denies(item: Scored) -> bool:
    """Whether the statement has a negation in it."""
    found = words(item.passage.text(item.statement.span).lower())
    return any(word in NEGATIONS or word.endswith(("n't", "n’t")) for word in found)
