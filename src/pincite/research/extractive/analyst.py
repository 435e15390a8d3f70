"""Sub-question and pages to claims: ranks statements, keeps the best that add something, says what is missing."""

from collections.abc import Sequence
from dataclasses import replace

import anyio.to_thread

from pincite.domain.plan import Analysis, Gap, Progress, ReadPage, SubQuestion, Task
from pincite.research.extractive.answerable import LEAST_SCORE, answer_score
from pincite.research.extractive.answers import states_quantity
from pincite.research.extractive.choosing import UNSURE, Choice, room_for
from pincite.research.extractive.premises import premise_of
from pincite.research.extractive.questions import DEFINITION, Ask, read_question
from pincite.research.extractive.ranking import PassageIndex
from pincite.research.extractive.reranking import Reranker
from pincite.research.extractive.scoring import Scored
from pincite.research.extractive.shelf import Shelf
from pincite.research.extractive.words import key_terms

MIN_COVERAGE = 0.36
"""Below this share of the question's weight the best passage is about something else (docs/research.md)."""
_ON_PREMISE = 3


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
        if sub_question.answer_type == DEFINITION:
            ask = replace(ask, answer_type=DEFINITION)
        index = self._shelf.index(progress.pages)
        queries = _tried(sub_question, progress)
        if not progress.pages:
            return Analysis(gaps=(Gap(sub_question.text, "no page could be read", queries),))
        count = len(progress.pages)
        missing, fitting = _places(ask, progress.pages)
        scored = [item for item in index.statements(ask) if item.passage.url in fitting]
        if missing:
            reason = _unsaid(count, "mention", " together with ".join(missing))
            return Analysis(gaps=(Gap(sub_question.text, reason, queries),), best_score=0.0)
        best = max((item.coverage for item in scored), default=0.0)
        if best < MIN_COVERAGE:
            reason = _unsaid(count, "deal", "with this")
            return Analysis(gaps=(Gap(sub_question.text, reason, queries),), best_score=best)
        unsure = answer_score(ask, scored) < LEAST_SCORE
        if self._reranker is not None:
            scored = self._reranker.rerank(sub_question.text, scored)
        first = self._on_premise(task, sub_question, index, fitting)
        alone = len(progress.plan.sub_questions) == 1
        room = UNSURE if unsure else room_for(ask, alone=alone)
        choice = Choice(sub_question.text, ask, index, progress)
        claims = choice.take(scored, room, first=first, max_domain_share=self._max_domain_share)
        reason = _unsaid(count, "state", "it, as far as can be seen; what was found only touches on it")
        gaps = (Gap(sub_question.text, reason, queries, touched=True),) if unsure or not claims else ()
        return Analysis(claims=claims, gaps=gaps, best_score=best, best_url=(first or scored)[0].passage.url)

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


def _unsaid(pages: int, verb: str, what: str) -> str:
    """The reason of a gap: what none of the pages does."""
    said = f"the one page read does not {verb}" if pages == 1 else f"none of the {pages} pages read {verb}s"
    return f"not in these sources: {said} {what}"


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
    """The queries that were sent for a sub-question, in the order they were; of several parts those with its words."""
    if len(progress.plan.sub_questions) == 1 and progress.asked:
        return progress.asked
    wanted = set(key_terms(sub_question.text))
    own = tuple(query for query in progress.asked if 2 * len(wanted & set(key_terms(query))) > len(key_terms(query)))
    return own or tuple(query.text for query in sub_question.queries)
