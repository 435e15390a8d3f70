"""Pages to a whole report with one call to a model: each sentence names the lines it rests on, which become claims."""

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain, repeat
from typing import Final

import anyio
import anyio.to_thread

from pincite.domain.errors import BudgetExhausted, ModelBadOutput, PinciteError, ProviderError, RemoteError
from pincite.domain.model import Material, ModelRole, Prompt
from pincite.domain.plan import Analysis, Gap, Progress, ReadPage, SubQuestion, Task
from pincite.ports import ModelCalls
from pincite.research.model.lines import Asked, Offer
from pincite.research.model.manuscript import Manuscript, words_of
from pincite.research.model.markup import composed_of
from pincite.research.model.outputs import ChosenPassages, Composed, ComposedSentence
from pincite.research.model.prompts import VERSIONS, instructions
from pincite.research.model.style import ASKED_WORDS, WORDS, style_lines
from pincite.research.model.wording import plain_line
from pincite.verification.snippets import on_one_line

# A further look adds what was missing: new pages, for a few parts. Of half of the room (11,000 tokens) a reader in the
# seat used seven lines.
_FURTHER_SHARE: Final = 0.33
_RUN: Final = re.compile(r"p(\d{1,5})(?:-p?(\d{1,5}))?(?:(\+)(\d{0,3}))?")
# With less of the pages in sight nobody can compose a report.
_LEAST_TOKENS: Final = 1_500
# With ids and marks five reports had about two tokens to a word; and half as much again, as room.
_TOKENS_PER_WORD: Final = 3
_TOKENS_BESIDE: Final = 1_200
_UNPINNED: Final = (
    "Your last answer named no line of the sources. Write the report again, with the ids of its lines in braces behind "
    "each sentence: {a12 b3}."
)
# What is too much for a model's window or for the run's budget is asked with half of the pages in sight.
_TOO_MUCH: Final = frozenset({"model_context_too_long", "tokens_in", "cost_usd"})


class Composer:
    """Implements `roles.Analyst`: a round's pages are shown once, and what the report rests on comes back as claims.

    Args:
        calls: the models.
        manuscript: where the report is kept; its writer proves it.
        source_tokens: tokens of all pages together that are shown.
    """

    def __init__(self, calls: ModelCalls, manuscript: Manuscript, *, source_tokens: int = 20_000) -> None:
        self._calls = calls
        self._manuscript = manuscript
        self._source_tokens = source_tokens
        self._round = 0

    async def analyse(self, task: Task, sub_question: SubQuestion, progress: Progress) -> Analysis:
        """The lines that the report rests on for this part, as claims; a gap where these pages do not answer it.

        Errors: BudgetExhausted and those of `ModelCalls.ask`, when nothing could be composed at all.
        """
        if self._round != progress.round_number:
            self._round = progress.round_number
            await self._compose(task, progress)
        queries = tuple(query.text for query in sub_question.queries)
        claims = tuple(c for c in self._manuscript.claims.values() if c.sub_question == sub_question.text)
        missing = self._manuscript.missing.get(sub_question.sub_question_id)
        if missing is not None:
            reason = plain_line(missing.what) or "no sure answer found in the pages read"
            return Analysis(claims, (Gap(sub_question.text, reason, queries, touched=bool(claims)),))
        if not claims and not self._manuscript.claims:
            reason = "no page could be read" if not progress.pages else "no sure answer found in the pages read"
            return Analysis(gaps=(Gap(sub_question.text, reason, queries),))
        return Analysis(claims)

    async def _compose(self, task: Task, progress: Progress) -> None:
        """One call for what is new in this round: everything in the first, what was missing in others."""
        manuscript, parts = self._manuscript, progress.plan.sub_questions
        wanted = [part for part in parts if not manuscript.is_begun or part.sub_question_id in manuscript.missing]
        pages = [page for page in progress.pages if page.duplicate_of is None]
        asked = [Asked(part.text, tuple(query.text for query in part.queries)) for part in wanted]
        if not manuscript.is_begun:
            asked.insert(0, Asked(task.question))
        room = self._source_tokens if not manuscript.is_begun else round(self._source_tokens * _FURTHER_SHARE)
        began_s = anyio.current_time()
        chosen = await self._chosen(task, wanted, pages, asked, room, progress.seconds_left)
        if chosen is None:
            return
        shown: Sequence[Material] = ()
        while pages and asked:
            more = await anyio.to_thread.run_sync(manuscript.book.look, pages, asked, room, chosen)
            if not more:
                return
            shown = more
            prompt = _prompt(task, parts, wanted, shown, manuscript)
            left_s = progress.seconds_left  # less what choosing, and calls with more room, took of it
            left_s = None if left_s is None else max(left_s - (anyio.current_time() - began_s), 0.0)
            try:
                made, author = await self._written(prompt, left_s)
            except (ProviderError, RemoteError, BudgetExhausted) as error:
                manuscript.book.take_back(shown)
                if _is_too_much(error) and room >= 2 * _LEAST_TOKENS:
                    room //= 2
                    continue
                if manuscript.is_begun:
                    return  # what was composed before stands
                raise
            manuscript.take_in(made, author, parts, {page.url: page for page in progress.pages})
            return

    async def _written(self, prompt: Prompt, left_s: float | None) -> tuple[Composed, str]:
        """What a model wrote, and which; a text that names no line is asked for once more.

        Errors: those of `ModelCalls.ask`; ModelBadOutput, when it names none again, or says neither a thing nor what
        is missing.
        """
        text, author = await self._calls.ask_named(ModelRole.WRITER, prompt, str, deadline_s=left_s)
        made = composed_of(text)
        try:
            _vet(made, self._manuscript)
        except ModelBadOutput:
            again = replace(prompt, note=_UNPINNED)
            text, author = await self._calls.ask_named(ModelRole.WRITER, again, str, deadline_s=left_s)
            made = composed_of(text)
            _vet(made, self._manuscript)
        return made, author

    async def _chosen(
        self,
        task: Task,
        wanted: Sequence[SubQuestion],
        pages: Sequence[ReadPage],
        asked: Sequence[Asked],
        room: int,
        deadline_s: float | None,
    ) -> tuple[Offer, ...] | None:
        """The passages that a model chose from what these pages begin with, best first.

        Nothing where all of it may be shown anyway, and where no model chooses: then words decide. None where, at a
        later look, it finds none of them of use: then what stands is the report.
        """
        offers = await anyio.to_thread.run_sync(self._manuscript.book.offers, pages, asked)
        if sum(offer.tokens for offer in offers) <= room:
            return ()
        prompt = Prompt(
            "choose",
            VERSIONS["choose"],
            instructions("choose"),
            context=(f"Question: {plain_line(task.question)}",),
            task=(*style_lines(task), f"Parts of the question:\n{_parts(wanted)}", f"Room: {room:,} tokens."),
            material=_listed(offers, pages),
            closing="Now choose.",
            max_tokens_out=_TOKENS_BESIDE,
        )
        try:
            made = await self._calls.ask(ModelRole.WRITER, prompt, ChosenPassages, deadline_s=deadline_s)
        except (ProviderError, RemoteError, BudgetExhausted):
            return ()
        if self._manuscript.is_begun and not made.passages:
            return None
        return _picked(made.passages, offers)


def _listed(offers: Sequence[Offer], pages: Sequence[ReadPage]) -> tuple[Material, ...]:
    """What is on offer, page by page: the headings, and how each passage begins behind its size."""
    titles = {page.url: page.document.title for page in pages}
    lines: dict[str, list[tuple[str, str]]] = {}
    above: dict[str, tuple[str, ...]] = {}
    for number, offer in enumerate(offers, start=1):
        mine = lines.setdefault(offer.url, [])
        path = tuple(name for name in offer.section if name != titles[offer.url])
        if path and path != above.get(offer.url):
            mine.append(("#", " > ".join(path)))
        above[offer.url] = path
        more = sum(further.tokens for further in offer.rest)
        beyond = f" +{more} in {len(offer.rest)}" if more else ""
        mine.append((f"p{number}", f"[{offer.tokens}{beyond}] {offer.beginning}"))
    return tuple(Material(titles[url] or "Page", tuple(rows)) for url, rows in lines.items())


def _picked(names: Sequence[str], offers: Sequence[Offer]) -> tuple[Offer, ...]:
    """The offers of these ids and runs of ids, in that order, each once; what was not on offer is nothing."""
    picked: dict[tuple[str, int], Offer] = {}
    for name in names:
        if found := _RUN.fullmatch(name.strip()):
            low, high = max(int(found[1]), 1), min(int(found[2] or found[1]), len(offers))
            taken = [*offers[low - 1 : high]]
            rest = taken[-1].rest if taken and found[3] else ()
            for offer in (*taken, *rest[: int(found[4] or len(rest))]):
                picked.setdefault((offer.url, offer.at), offer)
    return tuple(picked.values())


def _is_too_much(error: PinciteError) -> bool:
    return error.reason in _TOO_MUCH


def _vet(made: Composed, manuscript: Manuscript) -> None:
    """Errors: ModelBadOutput, when it names no line that was shown, or says neither a thing nor what is missing."""
    said = [*made.answer, *(item for section in made.sections for block in section.blocks for item in block.items)]
    said += [cell for section in made.sections for block in section.blocks for row in block.rows for cell in row.cells]
    if not said and not made.missing and not manuscript.is_begun:
        raise ModelBadOutput("the model composed nothing and misses nothing", reason="no_usable_claim", retryable=False)
    if said and not any(name in manuscript.book.lines for sentence in said for name in sentence.lines):
        raise ModelBadOutput(
            f"none of the {len(said)} sentences that the model composed names a line it was shown",
            reason="no_usable_claim",
            retryable=False,
        )


def _prompt(
    task: Task,
    parts: Sequence[SubQuestion],
    wanted: Sequence[SubQuestion],
    shown: Sequence[Material],
    manuscript: Manuscript,
) -> Prompt:
    """The pages, which repeats of this call share; then the parts, and what stands already."""
    closing = "Now write the report."
    told = f"Parts of the question:\n{_parts(wanted)}"
    material: tuple[Material, ...] = ()
    if manuscript.is_begun:
        material = (Material("The report so far", _so_far(manuscript, wanted)),)
        others = [part for part in parts if part not in wanted]
        told += f"\n\nParts that the report tells already:\n{_parts(others)}" if others else ""
        closing = (
            "The report stands, and these further pages were found for the parts above. Write it anew, whole: all that "
            "it says and what they add, each thing where a reader needs it. What they correct or contradict is put "
            "right there; what was said twice is said once; what is crammed into a sentence or hard to follow is "
            "told with more ease; what is marked as refused goes beyond its lines and is mended or left out. A "
            "sentence, item, cell or piece of code that stays as it is, is given by its number alone, as most are, in "
            'its place and in any order: "@12", without braces; code in a fence. Tables and lists are given with all '
            f"of their rows and items. It has {manuscript.words():,} words, and is to have "
            f"{ASKED_WORDS[task.style.length]:,} at most."
        )
    return Prompt(
        "compose",
        VERSIONS["compose"],
        instructions("compose"),
        context=(f"Question: {plain_line(task.question)}",),
        shared=tuple(shown),
        task=("\n".join(style_lines(task)), told),
        material=material,
        closing=closing,
        max_tokens_out=_TOKENS_BESIDE + _TOKENS_PER_WORD * WORDS[task.style.length],
        effort="medium",
    )


def _parts(wanted: Sequence[SubQuestion]) -> str:
    """The parts of the question, a line each."""
    return "\n".join(
        f"{part.sub_question_id}: {part.text}"
        + (f" (best told as {part.form})" if part.form != "prose" else "")
        + (f" (needs the answer of {part.depends_on})" if part.depends_on else "")
        for part in wanted
    )


def _so_far(manuscript: Manuscript, wanted: Sequence[SubQuestion]) -> tuple[tuple[str, str], ...]:
    """The direct answer and the sections, each sentence with the ids it rests on; then lines of those to be changed.

    What was proven says itself what its lines carry. In six reports the lines took twice the room of the sentences.
    """
    numbers = iter(manuscript.standing())

    def standing(said: ComposedSentence, place: str = "") -> tuple[str, str]:
        why = manuscript.refused.get((said.text, said.lines))
        marks = [*said.lines, *([f"part {said.part}"] if said.part else []), *(["goes on"] if said.goes_on else [])]
        marks += [f"refused: {why}"] if why else []
        return next(numbers), f"{place}{on_one_line(said.text)} ({', '.join(marks)})"

    rows = [("heading", "(the direct answer)"), *map(standing, manuscript.answer)]
    for section in manuscript.sections:
        rows += [("heading", section.heading), ("length", f"{words_of(section)} words")]
        for block in section.blocks:
            rows += [("block", " | ".join([block.form, *block.header])), *map(standing, block.items)]
            for row in block.rows:
                columns = chain(block.header[1:], repeat(""))
                rows += [standing(cell, f"{row.name} | {next(columns)}: ") for cell in row.cells]
    open_parts = {part.sub_question_id for part in wanted}
    changing = (
        said
        for said in manuscript.sentences()
        if said.part in open_parts or (said.text, said.lines) in manuscript.refused
    )
    named = dict.fromkeys(name for said in changing for name in said.lines)
    lines = manuscript.book.lines
    return (*rows, *((name, lines[name].text) for name in named if name in lines))
