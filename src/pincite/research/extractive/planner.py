"""Question to sub-questions and queries. Later rounds ask for what the best passages so far talk about."""

import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

import anyio.to_thread

from pincite.domain.library import Survey
from pincite.domain.plan import Plan, Progress, SubQuestion, Task
from pincite.domain.search import Constraints, Query
from pincite.research.extractive.feedback import feedback_queries
from pincite.research.extractive.notes import notes_on
from pincite.research.extractive.parts import item_of, sides_of, split_question
from pincite.research.extractive.questions import DEFINITION, Ask, frame_terms, read_question, with_dimensions
from pincite.research.extractive.ranking import PassageIndex
from pincite.research.extractive.shelf import Shelf
from pincite.research.extractive.slips import slips_in
from pincite.research.extractive.variants import variants
from pincite.research.extractive.words import content_words, in_words, key_terms
from pincite.research.state import open_sub_questions, query_key
from pincite.text.tokens import stem, words

MIN_QUERIES = 3
_MAX_QUERY_WORDS = 24
_HEADING_CHARS = 90


class ExtractivePlanner:
    """Splits by form, words queries by dropping words; the second round learns words from the passages found."""

    def __init__(
        self,
        shelf: Shelf,
        *,
        survey: Callable[[str], Awaitable[Survey]] | None = None,
        results_per_query: int = 5,
        follow_ups: int = 3,
    ) -> None:
        self._shelf = shelf
        self._survey = survey
        self._results_per_query = results_per_query
        self._follow_ups = follow_ups

    async def plan(self, task: Task, progress: Progress) -> Plan:
        """All sub-questions; the first round words at least three distinct queries, later rounds only what is open."""
        if progress.round_number > 1:
            return await anyio.to_thread.run_sync(self._follow_up, task, progress)
        survey = await self._survey(task.question) if self._survey else Survey()
        self._shelf.know(survey)
        return self._first(task, survey)

    def _first(self, task: Task, survey: Survey) -> Plan:
        question = survey.corrected(in_words(task.question))
        parts, sides = split_question(question), sides_of(" ".join(question.split()))
        worded: list[tuple[str, list[str]]] = [(part, _wordings(part, survey)) for part in parts]
        distinct = {text for _, texts in worded for text in texts}
        if len(distinct) < MIN_QUERIES:
            part, texts = worded[0]
            worded[0] = (part, _fill(part, texts))
        return Plan(
            tuple(
                _sub_question(
                    str(number),
                    part,
                    self._first_queries(part, texts, survey, task.constraints),
                    is_side=part in sides and len(parts) > 1,
                )
                for number, (part, texts) in enumerate(worded, start=1)
            ),
            survey,
            notes_on(task.question, survey),
        )

    def _follow_up(self, task: Task, progress: Progress) -> Plan:
        """What to ask next: the site that the question names, then words of the best passages; later only gaps."""
        index = self._shelf.index(progress.pages)
        asked = set(progress.asked)
        missing = open_sub_questions(progress)
        plan = progress.plan
        if progress.round_number == 2 and not plan.survey.passages and not plan.survey.spellings:
            spelt = Survey(spellings=slips_in(task.question, index, progress.pages))
            if spelt.spellings:
                plan = replace(plan, survey=spelt, notes=notes_on(task.question, spelt, of_pages_read=True))
        parts = []
        for before in plan.sub_questions:
            part = replace(before, text=plan.survey.corrected(before.text))
            ask = read_question(part.text)
            fresh = self._queries(_wordings(part.text, plan.survey)[:1], task.constraints) if part != before else ()
            if progress.round_number == 2 or part.text in missing:
                fresh = (*fresh, *self._on_site(index, ask, task.constraints))
                fresh += self._queries(feedback_queries(index, ask, limit=self._follow_ups), task.constraints)
            fresh += tuple(query for query in progress.follow_ups if part.sub_question_id == "1")
            new = {query_key(query): query for query in fresh if query_key(query) not in asked}
            asked.update(new)
            queries = tuple(new.values())[: self._follow_ups]
            parts.append(replace(part, queries=queries))
        return replace(plan, sub_questions=tuple(parts))

    def _on_site(self, index: PassageIndex, ask: Ask, constraints: Constraints) -> list[Query]:
        """The question put to the site that carries a name of it, when the first pages showed that there is one."""
        sites = sorted(site for site in index.sites_about(ask.names)[0] if "." in site)
        return list(self._within(sites, ask.text, constraints))

    def _within(self, sites: Sequence[str], part: str, constraints: Constraints) -> tuple[Query, ...]:
        """One query limited to the sites that carry a name of this part, without that name; none when none does."""
        ask = read_question(part)
        named = {word.lower() for name in ask.names for word in words(name)}
        limited = tuple(site for site in sites if not named.isdisjoint(re.split(r"[^a-z0-9]+", site)))
        if not limited or constraints.include_domains:
            return ()
        # "by default" is no term, and yet on the pages that say what the default is.
        content = _content_words(ask.text)
        texts = [" ".join(dict.fromkeys(words_)) for words_ in (content, _without_names(content, ask)) if words_]
        return self._queries(texts[-1:], replace(constraints, include_domains=limited))

    def _first_queries(
        self, part: str, texts: list[str], survey: Survey, constraints: Constraints
    ) -> tuple[Query, ...]:
        """The wordings of a part, and the best of them again for single sites and the years of the period."""
        first, *rest = self._queries(texts, constraints)
        return (first, *variants((first,), constraints), *self._within(survey.sites, part, constraints), *rest)

    def _queries(self, texts: list[str], constraints: Constraints) -> tuple[Query, ...]:
        return tuple(Query(text, self._results_per_query, constraints, include_answer=False) for text in texts)


def _sub_question(number: str, part: str, queries: tuple[Query, ...], *, is_side: bool) -> SubQuestion:
    kind = DEFINITION if is_side else read_question(part).answer_type
    return SubQuestion(number, part, queries, answer_type=kind, heading=_heading(part))


def _heading(part: str) -> str:
    """A short title: the item of an enumeration, else the question without its question mark."""
    text = item_of(part).rstrip(" ?.!")
    if len(text) > _HEADING_CHARS:
        text = text[:_HEADING_CHARS].rsplit(" ", 1)[0] + "…"
    return text[:1].upper() + text[1:]


def _wordings(part: str, survey: Survey) -> list[str]:
    """Distinct wordings of one part, most complete first: all content words, the item alone, without names.

    An acronym of the library goes out spelt out as well, and words that the library abbreviates as the acronym.
    """
    ask = read_question(part)
    content = _asked_words(ask)
    wordings = [content]
    item = item_of(part)
    if item != part:
        wordings.append([*ask.names, *_content_words(item)])
        wordings.append(_content_words(item))
    wordings.append(_without_names(content, ask))
    frame = frame_terms(ask.text)
    if frame:
        wordings.append([word for word in content if stem(word.lower()) not in frame])
    # A proper name alone ("PostgreSQL") finds what is about anything of it.
    if set(ask.identifiers) - set(ask.names):
        wordings.append([*ask.identifiers, *ask.names])
    wordings += _otherwise_named(content, part, survey)
    texts = [" ".join(dict.fromkeys(words_)) for words_ in wordings if words_]
    return list(dict.fromkeys(text for text in texts if text)) or [part[:200]]


def _otherwise_named(content: list[str], part: str, survey: Survey) -> list[list[str]]:
    """The words with each acronym spelt out, or with the acronym of words that are spelt out."""
    lowered = f" {' '.join(words(part.lower()))} "
    found = []
    for name in survey.names:
        long = name.expansion.lower()
        if long and f" {name.text.lower()} " in lowered:
            found.append([*(word for word in content if word.lower() != name.text.lower()), *name.expansion.split()])
        elif long and f" {' '.join(words(long))} " in lowered:
            found.append([*(word for word in content if word.lower() not in words(long)), name.text])
    return found[:2]


def _fill(part: str, texts: list[str]) -> list[str]:
    """More wordings for a question of very few words, until there are three."""
    content = _content_words(part) or part.split()[:_MAX_QUERY_WORDS]
    more = [part[:300], f"{' '.join(content)} overview", f"what is {' '.join(content)}", *content]
    for text in more:
        if len(texts) >= MIN_QUERIES:
            break
        if text not in texts:
            texts = [*texts, text]
    return texts


def _content_words(text: str) -> list[str]:
    return content_words(text)[:_MAX_QUERY_WORDS]


def _asked_words(ask: Ask) -> list[str]:
    """The content words that are terms of the question: none that only asks ("how many", "roughly")."""
    return [
        word for word in _content_words(with_dimensions(ask.text)) if not set(ask.terms).isdisjoint(key_terms(word))
    ]


def _without_names(content: list[str], ask: Ask) -> list[str]:
    """The words that are not proper names: on a site about one thing its name says nothing."""
    names = {word.lower() for name in ask.names for word in words(name)}
    kept = [word for word in content if word.lower().removesuffix("'s") not in names]
    return kept if len(kept) >= 2 else []
