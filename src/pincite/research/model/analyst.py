"""Pages to claims with a model: one page a call, each page once, quotes by line ids that code offered."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import anyio
import anyio.to_thread

from pincite.domain.errors import BudgetExhausted, ModelBadOutput, PinciteError, ProviderError, RemoteError
from pincite.domain.evidence import Claim, ClaimType, Evidence, NoteForm
from pincite.domain.ids import claim_id
from pincite.domain.model import Material, ModelRole, Prompt
from pincite.domain.plan import Analysis, Gap, Progress, ReadPage, SubQuestion, Task
from pincite.ports import ModelCalls
from pincite.research.model.lines import Line, PageWindows, page_windows
from pincite.research.model.outputs import FoundClaim, PageClaims
from pincite.research.model.prompts import VERSIONS, instructions
from pincite.research.model.style import language_line
from pincite.research.model.wording import plain_line
from pincite.runtime.recovery import first_failure
from pincite.text.context import context_of
from pincite.text.fragments import fragment_url
from pincite.text.instructions import is_flagged
from pincite.text.sentences import Span
from pincite.text.tokens import terms, words
from pincite.verification.quotes import locate
from pincite.verification.verdicts import SPEAKS_TO_MACHINES

MAX_CLAIM_CHARS = 520
# Somebody, does, something.
MIN_CLAIM_WORDS = 3
# A page that yields more is copied out, not read; what is beyond is told as left out.
_CLAIMS_PER_LOOK = 24
# Each is a call with the page's next windows, which the model has to ask for.
_MORE_LOOKS = 3
# As many as fit beside the question and the answer.
_WINDOWS_A_LOOK = 4
# Names of versions and conditions; longer ones are claims of their own.
_HOLDS_CHARS = 120
# A claim that needs more lines is a summary, which nobody can check at a glance.
_LINES_PER_CLAIM = 8


@dataclass(frozen=True, slots=True)
class _Found:
    """A claim with the place of its page in the order read."""

    claim: Claim
    sub_question_id: str


class ModelAnalyst:
    """Has a model read every new page for all parts of the question at once. Made once per run.

    Args:
        calls: the models.
        page_tokens: tokens of one page that are shown at most.
        concurrency: pages read at the same time.
    """

    def __init__(self, calls: ModelCalls, *, page_tokens: int = 3_500, concurrency: int = 8) -> None:
        self._calls = calls
        self._page_tokens = page_tokens
        self._concurrency = concurrency
        self._read: dict[str, tuple[_Found, ...]] = {}
        self._unread: dict[str, str] = {}

    async def analyse(self, task: Task, sub_question: SubQuestion, progress: Progress) -> Analysis:
        """The claims of all pages read so far that answer this part, best first; a gap when there is none.

        Errors: BudgetExhausted and those of `ModelCalls.ask`, when no page at all could be read by the model.
        """
        await self._read_new(task, progress)
        claims: list[Claim] = []
        for page in progress.pages:
            for found in self._read.get(page.url, ()):
                if found.sub_question_id == sub_question.sub_question_id:
                    _add(claims, replace(found.claim, sub_question=sub_question.text))
        claims.sort(key=lambda claim: -claim.confidence)
        queries = tuple(query.text for query in sub_question.queries)
        if not claims:
            reason = "no page could be read" if not progress.pages else "not in these sources: no page read says it"
            return Analysis(gaps=(Gap(sub_question.text, reason, queries),))
        best = claims[0]
        return Analysis(tuple(claims), (), best.confidence, best.evidence[0].url if best.evidence else "")

    @property
    def unread(self) -> Mapping[str, str]:
        """The pages that no model could read, by URL, with the reason."""
        return self._unread

    async def _read_new(self, task: Task, progress: Progress) -> None:
        """Read each page that was not read before, side by side; near-copies are not read again."""
        new = [page for page in progress.pages if page.url not in self._read and page.duplicate_of is None]
        failures: dict[str, PinciteError] = {}
        asked = [task.question, *map(_asked, progress.plan.sub_questions)]
        windows = await anyio.to_thread.run_sync(page_windows, new, asked, self._page_tokens) if new else ()
        limiter = anyio.CapacityLimiter(self._concurrency)

        async def read(page: ReadPage, own: PageWindows) -> None:
            async with limiter:
                try:
                    self._read[page.url] = await self._read_page(task, page, own, progress)
                except (ProviderError, RemoteError, BudgetExhausted) as error:
                    failures[page.url] = error
                    self._read[page.url] = ()

        with first_failure():
            async with anyio.create_task_group() as group:
                for page, own in zip(new, windows, strict=True):
                    group.start_soon(read, page, own)
        if new and len(failures) == len(new):
            for page in new:
                del self._read[page.url]
            raise failures[new[0].url]
        self._unread.update((url, error.reason) for url, error in sorted(failures.items()))

    async def _read_page(
        self, task: Task, page: ReadPage, windows: PageWindows, progress: Progress
    ) -> tuple[_Found, ...]:
        """The claims of the page's best windows, then of those that the model asks for: three more looks at most."""
        parts = progress.plan.sub_questions
        lines = await anyio.to_thread.run_sync(windows.best)
        offered: dict[str, Line] = {}
        found: list[FoundClaim] = []
        over = 0
        for look in range(1 + _MORE_LOOKS):
            if not lines:
                break
            offered |= {line.line_id: line for line in lines}
            others = windows.unshown() if look < _MORE_LOOKS else ()
            prompt = _prompt(task, parts, page, lines, others, [claim.text for claim in found])
            try:
                answer = await self._calls.ask(ModelRole.ANALYST, prompt, PageClaims, deadline_s=progress.seconds_left)
            except (ProviderError, RemoteError, BudgetExhausted):
                if not found:
                    raise
                break  # what was found before counts
            # Each look has its own share: what a later one finds was asked for, and often is the answer.
            found += answer.claims[:_CLAIMS_PER_LOOK]
            over += max(len(answer.claims) - _CLAIMS_PER_LOOK, 0)
            named = {name for name, _ in others}
            wanted = [name for name in dict.fromkeys(answer.more) if name in named][:_WINDOWS_A_LOOK]
            lines = windows.more(wanted) if wanted else ()
        return await anyio.to_thread.run_sync(self._claims, found, over, page, offered, parts)

    def _claims(
        self,
        claims: Sequence[FoundClaim],
        over: int,
        page: ReadPage,
        offered: dict[str, Line],
        parts: Sequence[SubQuestion],
    ) -> tuple[_Found, ...]:
        """All that the model proposed; what can't be placed or printed comes without a passage, to be refused.

        `over`: how many more it proposed than a look may have.
        """
        made = [
            _Found(_claim(found, part, page, offered), part) for found in claims for part in [_part_of(found, parts)]
        ]
        if made and not any(found.claim.evidence for found in made):
            raise ModelBadOutput(
                f"none of the model's {len(claims)} claims of {page.url} says something and names its lines",
                reason="no_usable_claim",
                retryable=False,
            )
        if over:
            text = f"{over} more statements about {page.document.title or page.url}"
            why = f"more than {_CLAIMS_PER_LOOK} of one look at a page"
            made.append(_Found(_unplaced(text, made[0].sub_question_id, why), made[0].sub_question_id))
        return tuple(made)


def _asked(part: SubQuestion) -> str:
    """The part in its own words, which count twice, and in those of its queries: the words of pages that answer it."""
    return " ".join((part.text, part.text, *(query.text for query in part.queries)))


def _part_of(found: FoundClaim, parts: Sequence[SubQuestion]) -> str:
    """The part that the model named; else the one that shares most words with the statement."""
    if any(part.sub_question_id == found.part for part in parts):
        return found.part
    said = set(terms(found.text))
    return max(parts, key=lambda part: len(said & set(terms(part.text)))).sub_question_id


def _claim(found: FoundClaim, part: str, page: ReadPage, offered: dict[str, Line]) -> Claim:
    """The model's statement as a claim with quotes; without any when its words or its places won't do."""
    text = plain_line(found.text)
    if len(text.split()) < MIN_CLAIM_WORDS:
        return _unplaced(text or found.text[:MAX_CLAIM_CHARS] or "(nothing)", part, "it is too short to state anything")
    if len(text) > MAX_CLAIM_CHARS:
        return _unplaced(text[:MAX_CLAIM_CHARS], part, f"it is longer than {MAX_CLAIM_CHARS} characters")
    if is_flagged(text):
        return _unplaced(text, part, "it speaks to machines, not to readers")
    spans = _spans(found, page, offered)
    if not spans:
        return _unplaced(text, part, "it names no line of the page that was shown")
    if all(is_flagged(page.document.text[span.start : span.end]) for span in spans):
        return _unplaced(text, part, SPEAKS_TO_MACHINES)
    if text[-1:] not in '.!?)"”':
        text += "."
    kind = ClaimType(found.kind) if found.kind in {kind.value for kind in ClaimType} else ClaimType.FACT
    return Claim(
        claim_id=claim_id(text, part),
        text=text,
        sub_question=part,
        type=kind,
        confidence=round(min(max(found.confidence, 0.05), 0.9), 2),
        evidence=tuple(
            Evidence(
                quote=page.document.quote(span.start, span.end),
                snapshot_id=page.snapshot.snapshot_id,
                body_sha256=page.snapshot.body_sha256,
                url=page.url,
                fragment_url=fragment_url(page.url, page.document.text, span.start, span.end),
                context=context_of(page.document, span.start, span.end),
            )
            for span in spans
        ),
        form=NoteForm(found.form) if found.form in {form.value for form in NoteForm} else NoteForm.STATEMENT,
        group=plain_line(found.group)[:_HOLDS_CHARS],
        holds_for=plain_line(found.holds_for)[:_HOLDS_CHARS],
    )


def _prompt(
    task: Task,
    parts: Sequence[SubQuestion],
    page: ReadPage,
    lines: Sequence[Line],
    others: Sequence[tuple[str, str]],
    noted: Sequence[str],
) -> Prompt:
    """Question and parts, which all pages share; then windows of this page, and which others it has."""
    listed = "\n".join(f"{part.sub_question_id}: {part.text} (wanted: {part.form})" for part in parts)
    title = page.document.title or "Page"
    material = [Material(title, tuple((line.line_id, line.text) for line in lines))]
    material += [Material("Not shown of this page", tuple(others))] if others else []
    material += (
        [Material("Noted already", tuple((f"n{at}", text) for at, text in enumerate(noted, 1)))] if noted else []
    )
    ask = " In `more` name up to 4 windows not shown that must be read for the answer; usually none." if others else ""
    return Prompt(
        "analyst",
        VERSIONS["analyst"],
        instructions("analyst"),
        context=(f"Question: {plain_line(task.question)}", f"Parts:\n{listed}", language_line(task)),
        material=tuple(material),
        closing=f"Now give the claims of these lines about the parts above, each with the ids of its lines.{ask}",
        max_tokens_out=2_500,
    )


def _unplaced(text: str, part: str, why: str) -> Claim:
    """A claim without a passage, which is listed with the reason and never printed."""
    return Claim(claim_id(text, part), text, part, confidence=0.05, holds_for=why)


def _spans(found: FoundClaim, page: ReadPage, offered: dict[str, Line]) -> list[Span]:
    """The places of the named lines, in reading order; those of the quoted words where no line is named."""
    named = [offered[line_id] for line_id in dict.fromkeys(found.lines) if line_id in offered]
    if named:
        return sorted({line.span for line in named[:_LINES_PER_CLAIM]}, key=lambda span: span.start)
    if len(found.quote.split()) < MIN_CLAIM_WORDS:
        return []
    span = locate(found.quote, page.document.text)
    return [] if span is None else [Span(span.start, span.end)]


def _add(claims: list[Claim], claim: Claim) -> None:
    """Add the claim; one in the words of an earlier one lends it the quotes of another page instead."""
    mine = _said(claim)
    for index, other in enumerate(claims):
        if _said(other) == mine:
            if not {e.url for e in claim.evidence} & {e.url for e in other.evidence}:
                claims[index] = replace(other, evidence=other.evidence + claim.evidence)
            return
    claims.append(claim)


def _said(claim: Claim) -> list[str]:
    return [word.lower() for word in words(claim.text)]
