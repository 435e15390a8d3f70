"""Part of a question and pages to excerpts: ranks passages, keeps the best that add something, says what is missing."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import anyio.to_thread

from pincite.domain.evidence import Claim, Evidence, NoteForm
from pincite.domain.frozen import dataclass
from pincite.domain.plan import MOST_WORDS, Analysis, Gap, Progress, ReadPage, ReportLength, SubQuestion, Task
from pincite.domain.report_words import NOT_SURELY_ALL
from pincite.ranking.answerable import is_answered, is_here, is_near, part_likelihood
from pincite.ranking.ranker import PassageRanker, RankedPassage, Ranking, Source, dot
from pincite.research.extractive.closing import conclusions_near, figures_near, limits_near, overview_of
from pincite.research.extractive.comparisons import of_side
from pincite.research.extractive.excerpts import Excerpt, claims_of, excerpts_of, stands_alone
from pincite.research.extractive.parts import sides_of
from pincite.research.extractive.versions import version_labels
from pincite.text.instructions import is_flagged
from pincite.text.tokens import is_identifier
from pincite.urls import registrable_domain

# Excerpts of a question with one part. Six are what a reader takes in as one answer; further down they repeat it.
EXCERPTS: Final = {ReportLength.SHORT: 2, ReportLength.STANDARD: 6, ReportLength.LONG: 10}
# Of each part of several, so that the report stays as long as that of one question.
OF_SEVERAL_PARTS: Final = {ReportLength.SHORT: 2, ReportLength.STANDARD: 3, ReportLength.LONG: 6}
# Excerpts of a question with one part, of each of several, and of a part that these sources don't answer.
NEAREST: Final = 2
# About twice as many as are shown, so that near-copies and crowds can be passed over.
_CANDIDATES: Final = 14
# One page may answer a question alone, but not fill the report where others speak of it, too.
_PER_PAGE: Final = 4
# Of one part: two minutes of reading, unless another length was asked for.
_MOST_WORDS: Final = {ReportLength.SHORT: 200, ReportLength.STANDARD: 480, ReportLength.LONG: 960}
# Of the words that a report may have, what excerpts of all parts share; the rest is for what opens and closes it.
_EXCERPTS_SHARE: Final = 0.75
# Of the likelihood of a passage so much is taken off when it means the very same as one that is chosen.
_SAID_ALREADY: Final = 0.5
# A passage this much less likely than the best one is left out. Likelihoods fall steeply (the weights of the fit are
# about 4). Chosen by hand with the reported sites in view (0.18 lost one fact in twelve there), so not a fitted value.
_WEAK: Final = 0.06
# Sentences of the short answer. A third one put no more facts among the first 120 words, and of 42 third ones six came
# from a passage that answers (docs/measurements.md).
_DIRECT: Final = 2
# A sentence this much less near to the question than the nearest one is no part of the short answer.
_NEAR_THE_NEAREST: Final = 0.75
_MORE_PAGES: Final = 2
# Shorter texts stand on many pages by chance ("The default is 10.") and corroborate nothing.
_DISTINCT_CHARS: Final = 40


@dataclass(frozen=True, slots=True)
class _Found:
    """What a part was answered with, and how likely that is an answer."""

    ranking: Ranking
    likelihood: float
    missing: tuple[str, ...]
    is_defined: bool
    chosen: tuple[RankedPassage, ...] = ()

    @property
    def is_here(self) -> bool:
        """Whether the pages answer at least in part: more must speak for it when they lack what the part names.

        The side of a comparison that has an entry of its own is here: the name alone, that its likelihood is of, is no
        question.
        """
        return self.is_defined or (is_answered(self.ranking) if self.missing else is_here(self.ranking))


class ExtractiveAnalyst:
    """Implements `roles.Analyst`: each claim is a sentence, list item, row or block of code of a chosen excerpt."""

    def __init__(self, ranker: PassageRanker | None = None, *, max_domain_share: float = 1.0) -> None:
        self._ranker = ranker or PassageRanker()
        self._max_domain_share = max_domain_share

    async def analyse(self, task: Task, sub_question: SubQuestion, progress: Progress) -> Analysis:
        """Claims best excerpt first; a gap when the pages read answer the part not at all or not surely."""
        return await anyio.to_thread.run_sync(self._analyse, sub_question, progress, task.style.length)

    def _analyse(self, part: SubQuestion, progress: Progress, length: ReportLength) -> Analysis:
        queries = tuple(query.text for query in part.queries) or progress.asked
        if not progress.pages:
            why = "no page found could be read" if progress.leads else "no page was found"
            return Analysis(gaps=(Gap(part.text, why, queries),))
        parts = len(progress.plan.sub_questions)
        most = EXCERPTS[length] if parts == 1 else OF_SEVERAL_PARTS[length]
        found = self._found(part, progress, most)
        claims = self._claims(found, part, progress, min(_MOST_WORDS[length], room_for(length, parts)))
        gap = _gap(part, found, claims, len(progress.pages), queries)
        return Analysis(claims, () if gap is None else (gap,))

    def _found(self, part: SubQuestion, progress: Progress, most: int) -> _Found:
        """The passages to print, most likely first, each adding something to those before it."""
        pages = _distinct(progress.pages)
        ranking, is_defined = self._ranking(part, pages, progress)
        likelihood = part_likelihood(ranking)
        missing = _missing(part.standalone, pages)
        found = _Found(ranking, likelihood, missing, is_defined)
        room = most if found.is_here else NEAREST if is_near(ranking) else 0
        left = list(ranking.passages[:_CANDIDATES])
        chosen: list[RankedPassage] = []
        while left and len(chosen) < room:
            best = max(left, key=lambda passage: _worth(passage, chosen))
            left.remove(best)
            if chosen and best.likelihood < _WEAK * chosen[0].likelihood:
                continue
            on_its_page = sum(passage.source.url == best.source.url for passage in chosen)
            if on_its_page < _PER_PAGE and not self._crowded(best, chosen, left):
                chosen.append(best)
        return replace(found, chosen=tuple(chosen))

    def _ranking(self, part: SubQuestion, pages: Sequence[ReadPage], progress: Progress) -> tuple[Ranking, bool]:
        """The passages for the part, and whether one defines it; of the side of a comparison, those for both."""
        sources = [Source(page.url, page.document) for page in pages]
        whole = _comparison_of(part, progress)
        own, *others = [
            self._ranker.rank(
                asked.standalone,
                sources,
                queries=[query.text for query in asked.queries],
                survey=progress.plan.survey,
            )
            for asked in (part, *([whole] if whole else []))
        ]
        return of_side(part.text, own, *others) if others else (own, False)

    def _crowded(self, best: RankedPassage, chosen: Sequence[RankedPassage], left: Sequence[RankedPassage]) -> bool:
        """Whether one publisher would have more than its share while others have something to say."""
        domains = [_publisher(passage.source.url) for passage in chosen]
        own = _publisher(best.source.url)
        others = any(_publisher(p.source.url) != own and p.likelihood >= _WEAK * best.likelihood for p in left)
        return others and len(domains) > 1 and (domains.count(own) + 1) / (len(domains) + 1) > self._max_domain_share

    def _claims(self, found: _Found, part: SubQuestion, progress: Progress, most_words: int) -> tuple[Claim, ...]:
        pages, distinct = {page.url: page for page in progress.pages}, _distinct(progress.pages)
        made: dict[str, Claim] = {}
        told: list[tuple[float, str, RankedPassage]] = []
        words = 0
        top = found.chosen[0].likelihood if found.chosen else 1.0
        shown: list[tuple[Excerpt, ...]] = []
        said: set[str] = set()
        labels = version_labels(distinct)
        for passage in found.chosen:
            excerpts = excerpts_of(passage, found.ranking.terms, found.ranking.rarity)
            size = sum(excerpt.words for excerpt in excerpts)
            texts = [text for excerpt in excerpts for text in excerpt.texts]
            # Without what it opens with, which is printed already, the rest of a passage would hang in the air. Of two
            # versions the rest is what differs.
            is_said = excerpts and texts[0] in said and passage.source.url not in labels
            if excerpts and not is_said and not (words and words + size > most_words):
                shown.append(excerpts)
                said.update(texts)
                words += size
        for number, excerpts in enumerate(_by_place(shown), start=1):
            passage = excerpts[0].passage
            confidence = round(found.likelihood * (0.6 + 0.4 * passage.likelihood / (top or 1.0)), 3)
            for place, excerpt in enumerate(excerpts):
                group = f"{part.sub_question_id}.{number}.{place}"
                page = pages[passage.source.url]
                claims = [
                    _also(claim, page, distinct) for claim in claims_of(excerpt, page, part.text, group, confidence)
                ]
                fresh = {claim.claim_id: claim for claim in claims if claim.claim_id not in made}
                made.update(fresh)
                # What could open an answer; not one of several steps, which stand together below.
                if excerpt.form is not NoteForm.STEP:
                    told += [
                        (near, claim.claim_id, excerpt.passage)
                        for unit, near, claim in zip(excerpt.units, excerpt.nearness, claims, strict=True)
                        if not is_flagged(claim.text) and stands_alone(page.document, unit)
                    ]
        if not found.is_here:
            return tuple(made.values())
        alone = len(progress.plan.sub_questions) == 1 or bool(sides_of(part.text))
        most = _DIRECT if alone else 1
        # What is said of one side answers no comparison, but what it is does so beside what the other is.
        if _comparison_of(part, progress) is not None:
            told, most = [one for one in told if one[2] is found.chosen[0]][:1], int(found.is_defined)
        around = _around(found, part, pages, frozenset(made))
        for place, name in enumerate(_direct(told, most), start=1):
            made[name] = replace(made[name], direct=place)
        return (*made.values(), *around)


def _distinct(pages: Sequence[ReadPage]) -> list[ReadPage]:
    """The pages without near-copies: these say nothing new and back nothing, unless they are another version."""
    labels = version_labels(pages)
    return [page for page in pages if page.duplicate_of is None or page.url in labels]


def _comparison_of(part: SubQuestion, progress: Progress) -> SubQuestion | None:
    """The comparison that this part is a side of: alone "a list" is no question, beside a tuple it is."""
    return next((other for other in progress.plan.sub_questions if part.text in sides_of(other.text)), None)


def _by_place(shown: Sequence[tuple[Excerpt, ...]]) -> list[tuple[Excerpt, ...]]:
    """The excerpts of passages, most likely first; those under one heading together, as they follow on their page."""
    first: dict[tuple[str, ...], int] = {}
    for number, (excerpt, *_) in enumerate(shown):
        first.setdefault(_heading_of(excerpt), number)
    return sorted(shown, key=lambda excerpts: (first[_heading_of(excerpts[0])], excerpts[0].start))


def _heading_of(excerpt: Excerpt) -> tuple[str, ...]:
    """What stands above it, the term of an entry with it: entries don't lead up to each other."""
    draft = excerpt.passage.draft
    return (excerpt.passage.source.url, *draft.section, draft.label)


def room_for(length: ReportLength, parts: int) -> int:
    """The words that the excerpts of each of so many parts may have, so that the report keeps to its length."""
    return int(MOST_WORDS[length] * _EXCERPTS_SHARE) // max(parts, 1)


def _around(found: _Found, part: SubQuestion, pages: dict[str, ReadPage], told: frozenset[str]) -> tuple[Claim, ...]:
    """What may be printed around the excerpts: how pages go on, figures, limits, conclusions; nothing twice."""
    near = found.ranking.passages[:_CANDIDATES]
    made: dict[str, Claim] = {}
    for excerpts in (
        conclusions_near(found.chosen, near),
        overview_of(found.chosen, found.ranking.passages),
        figures_near(near),
        limits_near(found.chosen, near),
    ):
        for excerpt in excerpts:
            page = pages[excerpt.passage.source.url]
            group = f"{part.sub_question_id}.{excerpt.form}"
            for claim in claims_of(excerpt, page, part.text, group, round(found.likelihood * 0.6, 3)):
                if claim.claim_id not in told and not is_flagged(claim.text):
                    made.setdefault(claim.claim_id, claim)
    return tuple(made.values())


def _worth(passage: RankedPassage, chosen: Sequence[RankedPassage]) -> float:
    """Its likelihood, less what the chosen ones say already.

    Source: Carbonell and Goldstein 1998, maximal marginal relevance.
    """
    said = max((dot(passage.vector, other.vector) for other in chosen if passage.vector and other.vector), default=0.0)
    return passage.likelihood * (1 - _SAID_ALREADY * max(said, 0.0) ** 2)


def _direct(told: Sequence[tuple[float, str, RankedPassage]], most: int) -> tuple[str, ...]:
    """The sentences nearest to the question, the nearest first, at most so many and one of each passage."""
    nearest = sorted(told, key=lambda opener: -opener[0])
    chosen: dict[int, str] = {}
    for near, name, passage in nearest:
        if near >= _NEAR_THE_NEAREST * nearest[0][0] and len(chosen) < most and name not in chosen.values():
            chosen.setdefault(id(passage), name)
    return tuple(chosen.values())


def _missing(text: str, pages: Sequence[ReadPage]) -> tuple[str, ...]:
    """The names of code in a part (`wal_level`, `--all`, `DataFrame`) that no page read has."""
    named = [word.strip(".,;:!?()[]{}\"'`") for word in text.split()]
    exact = dict.fromkeys(
        word for word in named if word.startswith("--") or (word.replace("_", "").isalnum() and is_identifier(word))
    )
    texts = [f"{p.url}\n{p.document.title}\n{p.document.text}".lower() for p in pages] if exact else []
    return tuple(word for word in exact if not any(word.lower() in page for page in texts))


def _gap(part: SubQuestion, found: _Found, claims: Sequence[Claim], pages: int, queries: tuple[str, ...]) -> Gap | None:
    """What is missing of a part; None when it is answered."""
    lacking = f"no page read has {', '.join(found.missing)}" if found.missing else ""
    if claims and found.is_here:
        if is_answered(found.ranking) and not lacking:
            return None
        return Gap(part.text, lacking or NOT_SURELY_ALL, queries, touched=True)
    read = " in the one page read" if pages == 1 else f" in any of the {pages} pages read"
    return Gap(part.text, f"no sure answer found{f': {lacking}' if lacking else read}", queries)


def _also(claim: Claim, page: ReadPage, pages: Sequence[ReadPage]) -> Claim:
    """The claim with the same words of other pages, at most two."""
    text = claim.evidence[0].quote.text
    more: list[Evidence] = []
    for other in pages if len(text) >= _DISTINCT_CHARS else ():
        start = other.document.text.find(text) if other.url != page.url else -1
        if start >= 0 and len(more) < _MORE_PAGES:
            quote = other.document.quote(start, start + len(text))
            more.append(Evidence(quote, other.snapshot.snapshot_id, other.snapshot.body_sha256, other.url))
    return replace(claim, evidence=(*claim.evidence, *more)) if more else claim


def _publisher(url: str) -> str:
    return url if url.startswith("local:") else registrable_domain(url)
