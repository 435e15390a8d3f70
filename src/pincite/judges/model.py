"""A judge that is a language model: some statements in a call, those of the same pages together, a word on each."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from importlib import resources
from typing import Final

import anyio

from pincite.domain.errors import BudgetExhausted, PinciteError, ProviderError, RemoteError
from pincite.domain.evidence import INSIDE, ContextRole, EvidenceLine, JudgeCase, Judgement, JudgementLabel, Thresholds
from pincite.domain.frozen import dataclass
from pincite.domain.model import Material, ModelRole, Prompt
from pincite.ports import ModelCalls
from pincite.runtime.recovery import first_failure
from pincite.text.instructions import is_flagged
from pincite.text.sentences import sentences

# A lost answer loses no more than so many (docs/verification.md). The instructions cost as much as the lines of ten
# statements: with 32 in a call a report's eighty sentences, items and cells take three calls.
CASES_PER_CALL: Final = 32
# About 6,000 tokens of lines in a call: more statements wait for the next one.
CALL_CHARS: Final = 24_000
# Brackets, names of members and a closing line around the rows.
_TOKENS_BESIDE: Final = 100
# A row of the answer: id, label, five line ids, and `beyond` of half a sentence.
_TOKENS_PER_CASE: Final = 80
# Calls at the same time; the service of models has a bound over all its callers besides.
_AT_ONCE: Final = 4
_FAILURES: Final = (ProviderError, RemoteError, BudgetExhausted)
_LEFT_OUT: Final = "Your last answer left out statements, or gave them no known label. Answer for each id below."
# The prompt is one file for each version; a changed text is a new version.
_PROMPT: Final = "judge_statements"
_PROMPT_VERSION: Final = "6"
# Context of several sentences, of which another statement may have some as its passages.
_OF_SENTENCES: Final = frozenset(
    {ContextRole.AROUND, ContextRole.LIST_INTRO, ContextRole.LIST_ITEM, ContextRole.CAPTION}
)
_LineKey = tuple[str, int | None, int | None, str | None, str]


@dataclass(frozen=True, slots=True)
class StatementJudged:
    """What the model says of the statement with this id; everything is read leniently and vetted by code."""

    id: str
    label: str
    lines: tuple[str, ...] = ()
    beyond: str | None = None
    alone: bool | None = None
    answers: bool | None = None


@dataclass(frozen=True, slots=True)
class StatementsJudged:
    """One row for each statement."""

    statements: tuple[StatementJudged, ...]


class ModelJudge:
    """Implements `ports.Judge`: the models of the verifier, whose word counts as it is.

    Args:
        calls: the models; record and budget are behind them.
        name: the model that is asked first, as reports name it.
    """

    def __init__(self, calls: ModelCalls, name: str) -> None:
        self._calls = calls
        self.name = name
        # It gives its word instead of a figure.
        self.thresholds: Thresholds | None = None

    async def judge(self, cases: Sequence[JudgeCase]) -> Sequence[Judgement]:
        """Judgements by case id. Cases that an answer left out are asked about once more.

        Errors: those of `ModelCalls.ask_named`, when no call at all was answered.
        """
        # A call that failed was tried again already by `ModelCalls`; only what an answer left out is asked anew.
        found, failures = await self._ask_in_batches(batches(cases), "")
        left = [case for case in cases if case.case_id not in found and case.case_id not in failures]
        if left:
            more, _ = await self._ask_in_batches(batches(left), _LEFT_OUT)
            found |= more
        if failures and not found:
            raise next(iter(failures.values()))
        return tuple(found.values())

    async def _ask_in_batches(
        self, groups: Iterable[Sequence[JudgeCase]], note: str
    ) -> tuple[dict[str, Judgement], dict[str, PinciteError]]:
        """The judgements by case, and for the cases of calls that failed with what."""
        found: dict[str, Judgement] = {}
        failures: dict[str, PinciteError] = {}
        limiter = anyio.CapacityLimiter(_AT_ONCE)

        async def ask(batch: Sequence[JudgeCase]) -> None:
            shown = _Shown(batch)
            async with limiter:
                try:
                    answer, model = await self._calls.ask_named(
                        ModelRole.VERIFIER, replace(shown.prompt(), note=note), StatementsJudged
                    )
                except _FAILURES as error:
                    failures.update({case.case_id: error for case in batch})
                    return
            by = "" if model == self.name else model
            for row in answer.statements:
                judgement = shown.read(row, by)
                if judgement is not None:
                    # The first row of a case counts: a model that repeats itself does not overrule itself.
                    found.setdefault(judgement.case_id, judgement)

        with first_failure():
            async with anyio.create_task_group() as group:
                for batch in groups:
                    group.start_soon(ask, batch)
        return found, failures


def batches(cases: Sequence[JudgeCase]) -> Iterator[tuple[JudgeCase, ...]]:
    """The cases in calls of at most `CASES_PER_CALL` and `CALL_CHARS`.

    Cases of the same pages share lines and go together; small groups share a call, because the instructions cost
    more than their lines. A page with a line that speaks to machines never stands beside another's statements.
    """
    by_pages: dict[tuple[str, ...], list[JudgeCase]] = {}
    for case in cases:
        # In the order in which the pages first come, so that the same cases make the same calls, as a replay needs.
        by_pages.setdefault(case.pages, []).append(case)
    batch: list[JudgeCase] = []
    alone = False
    for group in by_pages.values():
        # Orders of a page to machines could otherwise turn the verdicts on another page's statements.
        apart, alone = alone, any(is_flagged(line.text) for case in group for line in case.lines)
        if batch and (apart or alone or not _fits([*batch, *group])):
            yield tuple(batch)
            batch = []
        for case in group:
            if batch and not _fits([*batch, case]):
                yield tuple(batch)
                batch = []
            batch.append(case)
    if batch:
        yield tuple(batch)


def _fits(batch: Sequence[JudgeCase]) -> bool:
    lines = {_key(piece): len(piece.text) for case in batch for line in case.lines for piece in _pieces(line)}
    return len(batch) <= CASES_PER_CALL and sum(lines.values()) <= CALL_CHARS


class _Shown:
    """Some cases as one prompt: each sentence of a page once, under an id of this call, whatever it is for each case.

    What stands around one passage is the passage of another; a premise that a page says word for word is that line.
    """

    def __init__(self, cases: Sequence[JudgeCase]) -> None:
        self._cases = {f"c{number}": case for number, case in enumerate(cases, start=1)}
        standing = {
            " ".join(line.text.split()): _key(line)
            for case in cases
            for line in case.lines
            if line.start is not None and line.role is None
        }
        places: dict[str, dict[str, list[_LineKey]]] = {}
        shown: dict[_LineKey, EvidenceLine] = {}
        for name, case in self._cases.items():
            own = places.setdefault(name, {})
            for line in case.lines:
                told = standing.get(" ".join(line.text.split())) if line.role is ContextRole.PREMISE else None
                own[line.line_id] = [told] if told is not None else []
                for piece in () if told is not None else _pieces(line):
                    key = _key(piece)
                    own[line.line_id].append(key)
                    if key not in shown or piece.role is None:
                        shown[key] = piece
        # In the order of the page, premises first, whichever case named a line first.
        ordered = sorted(shown, key=lambda key: (key[0], key[1] is not None, key[1] or 0))
        ids = {key: f"l{number}" for number, key in enumerate(ordered, start=1)}
        said = {key: line.text if line.role is None else f"[{line.role}] {line.text}" for key, line in shown.items()}
        self._lines = tuple((ids[key], said[key]) for key in ordered)
        self._ids = {
            name: {line_id: [ids[key] for key in keys] for line_id, keys in own.items()} for name, own in places.items()
        }

    def prompt(self) -> Prompt:
        """The question to the model."""
        rows: list[tuple[str, str]] = []
        for name, case in self._cases.items():
            numbers = [int(told.removeprefix("l")) for ids in self._ids[name].values() for told in ids]
            rows += [(name, case.statement), (f"{name} lines", _ranges(numbers))]
            rows += [(f"{name} noticed", "; ".join(case.hints))] if case.hints else []
        asked: dict[str, list[str]] = {}
        for name, case in self._cases.items():
            if case.question:
                asked.setdefault(case.question, []).append(name)
        questions = tuple(f"Question of {_names(names)}: {text}" for text, names in asked.items())
        return Prompt(
            _PROMPT,
            _PROMPT_VERSION,
            _instructions(),
            task=questions,
            material=(Material("Lines", self._lines), Material("Statements", tuple(rows))),
            max_tokens_out=_TOKENS_BESIDE + _TOKENS_PER_CASE * len(self._cases),
        )

    def read(self, row: StatementJudged, judge: str) -> Judgement | None:
        """The row as a judgement; None when its id or label is none of ours."""
        name = row.id.strip()
        case = self._cases.get(name)
        label = row.label.strip().lower().replace(" ", "_").replace("-", "_")
        if case is None or label not in set(JudgementLabel):
            return None
        # A premise has the id of the line that says it: the line of the page is what the judgement rests on.
        own = {told: line_id for line_id, ids in self._ids[name].items() for told in ids}
        return Judgement(
            case.case_id,
            JudgementLabel(label),
            line_ids=tuple(dict.fromkeys(own[told] for told in row.lines if told in own)),
            beyond=row.beyond or "",
            stands_alone=row.alone if case.question else None,
            answers=row.answers if case.question else None,
            judge=judge,
        )


def _pieces(line: EvidenceLine) -> Iterator[EvidenceLine]:
    """The line; whole paragraphs around a passage sentence by sentence, for some of it is told already."""
    if line.role not in _OF_SENTENCES or line.start is None:
        yield line
        return
    for span in sentences(line.text):
        text = line.text[span.start : span.end]
        yield replace(line, text=text, start=line.start + span.start, end=line.start + span.end)


def _key(line: EvidenceLine) -> _LineKey:
    """What a call shows once: a place of a page, whatever it is for a case; what is crossed out there is another."""
    role = line.role if line.start is None or line.role in INSIDE else None
    return line.page, line.start, line.end, role, "" if line.start is not None and role is None else line.text


def _ranges(numbers: Iterable[int]) -> str:
    """`l1-l4 l7`; "none" for a statement without evidence."""
    runs: list[list[int]] = []
    for number in sorted(set(numbers)):
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return " ".join(f"l{low}" if low == high else f"l{low}-l{high}" for low, high in runs) or "none"


def _names(names: Sequence[str]) -> str:
    return _ranges([int(name.removeprefix("c")) for name in names]).replace("l", "c")


@cache
def _instructions() -> str:
    file = resources.files("pincite.judges") / "prompts" / f"{_PROMPT}.v{_PROMPT_VERSION}.md"
    return file.read_text(encoding="utf-8").strip()
