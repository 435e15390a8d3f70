"""What a judge is worth, measured on statements with known labels: how many true ones are kept, how many false pass."""

import json
import math
import time
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from functools import cache
from hashlib import sha256
from importlib import resources
from typing import Final

from pincite.domain.errors import InvalidInput
from pincite.domain.evidence import (
    ContextPiece,
    ContextRole,
    EvidencePassage,
    JudgeCase,
    Judgement,
    JudgementLabel,
    Thresholds,
    VerdictStatus,
)
from pincite.domain.frozen import dataclass
from pincite.engine import Engine
from pincite.ports import Judge
from pincite.runtime.ledger import PassingLedger
from pincite.verification.proof import Proven, Statement, prove
from pincite.wiring.judging import keep_thresholds

# Of what a judge supports, so much is true, or it supports nothing (docs/verification.md).
SUPPORTED_PRECISION: Final = 0.97
# Refusing a true statement costs a sentence; letting a false one pass costs trust: so this may be looser.
REFUSED_PRECISION: Final = 0.95
# Fewer rows beyond a threshold say nothing about its precision: one error in 19 is 5 %.
LEAST_ROWS: Final = 20
# So many answers of one kind, over true and false statements alike, are no chance.
_SURE_ROWS: Final = 10
# Several calls' worth, so that progress is told before all of them are over.
_BATCH: Final = 60


@dataclass(frozen=True, slots=True)
class LabelledStatement:
    """A statement, the passages of a page it is judged by, and whether they state it."""

    id: str
    site: str
    title: str
    heading: str
    claim: str
    passages: tuple[str, ...]
    true: bool
    kind: str


@dataclass(frozen=True, slots=True)
class KindCounts:
    """Of the statements of one kind, how many there are and how many became supported."""

    kind: str
    true: bool
    rows: int
    supported: int


@dataclass(frozen=True, slots=True)
class JudgeEvaluation:
    """What became of labelled statements with a judge.

    Attributes:
        true_rows: how many true statements there were, of which `kept` became supported and `partly` partial.
        false_rows: how many false ones there were, of which `passed` became supported.
        accused: true statements that were called contradicted or unsupported, `accused_by_fact` by code alone.
        unchecked: statements of either kind that were not judged, or not surely.
        unanswered: statements that the judge was asked about and said nothing of.
        by_kind: the counts by kind.
        seconds: how long it took; `calls` batches went to the judge.
        tokens_in, tokens_out, cost_usd: what it used.
        auc: how well its likelihoods tell true from false, None where it gives its word.
        always: what the judge says of everything, true or false; empty when it tells them apart.
    """

    judge: str
    true_rows: int
    kept: int
    partly: int
    accused: int
    accused_by_fact: int
    false_rows: int
    passed: int
    unchecked: int
    unanswered: int
    by_kind: tuple[KindCounts, ...]
    seconds: float = 0.0
    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    cost_usd: Decimal = Decimal(0)
    auc: float | None = None
    thresholds: Thresholds | None = None
    always: str = ""
    failure: str = ""


@cache
def shipped_statements() -> tuple[LabelledStatement, ...]:
    """120 statements of ours about three manuals, half of them false."""
    file = resources.files("pincite.evaluation") / "statements.jsonl"
    return read_statements(file.read_text(encoding="utf-8"))


def read_statements(text: str) -> tuple[LabelledStatement, ...]:
    """Labelled statements, one JSON object a line: `claim`, `passages`, `label`, and what else is known.

    Errors: InvalidInput: a line is none.
    """
    found: list[LabelledStatement] = []
    for number, line in enumerate(filter(str.strip, text.splitlines()), start=1):
        try:
            row = json.loads(line)
            label = str(row["label"]).lower()
            if label not in {"true", "false"}:
                raise ValueError(label)
            given = {name: str(row.get(name, "")) for name in ("site", "title", "heading", "kind")}
            passages = tuple(str(passage) for passage in row["passages"])
            found.append(
                LabelledStatement(
                    id=str(row.get("id", number)),
                    claim=str(row["claim"]),
                    passages=passages,
                    true=label == "true",
                    **given,
                )
            )
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise InvalidInput(
                f"line {number} is no labelled statement", hint='Needed: {"claim", "passages": [...], "label": "true"}'
            ) from None
    if not found:
        raise InvalidInput("there is no labelled statement", reason="empty")
    return tuple(found)


def statement_of(row: LabelledStatement, *, pages: tuple[str, ...] = ()) -> Statement:
    """The row as it is put before a judge in a run: its passages under title and heading of their page."""
    page = f"{row.site}/{row.title}"
    context = [ContextPiece(ContextRole.TITLE, row.title)] if row.title else []
    context += [ContextPiece(ContextRole.HEADING, row.heading)] if row.heading else []
    at, passages = 0, []
    for text in row.passages:
        passages.append(EvidencePassage(page, at, at + len(text), text, tuple(context), whole=True))
        at += len(text) + 1
    return Statement(row.claim, tuple(passages), pages)


class _Listening:
    """Implements `ports.Judge` over another one and keeps what it says."""

    def __init__(self, judge: Judge) -> None:
        self._judge = judge
        self.name = judge.name
        self.thresholds = judge.thresholds
        self.asked: set[str] = set()
        self.calls = 0
        self.said: dict[str, Judgement] = {}

    async def judge(self, cases: Sequence[JudgeCase]) -> Sequence[Judgement]:
        self.calls += 1
        self.asked |= {case.case_id for case in cases}
        answers = await self._judge.judge(cases)
        for answer in answers:
            self.said.setdefault(answer.case_id, answer)
        return answers


async def evaluate(
    judge: Judge | None, rows: Sequence[LabelledStatement], *, at: datetime
) -> tuple[JudgeEvaluation, tuple[tuple[LabelledStatement, float], ...]]:
    """What becomes of the rows, and for each row the likelihood that the judge gave (rows without one left out).

    Errors: as `prove`.
    """
    started = time.monotonic()
    proven: list[Proven] = []
    likelihoods: list[tuple[LabelledStatement, float]] = []
    labels: list[tuple[bool, JudgementLabel]] = []
    calls = unanswered = 0
    for first in range(0, len(rows), _BATCH):
        batch = rows[first : first + _BATCH]
        heard = None if judge is None else _Listening(judge)
        proven += await prove([statement_of(row) for row in batch], heard, at=at)
        for number, row in enumerate(batch, start=1):
            answer = None if heard is None else heard.said.get(str(number))
            if answer is not None:
                labels.append((row.true, answer.label))
                if answer.likelihood is not None and math.isfinite(answer.likelihood):
                    likelihoods.append((row, answer.likelihood))
        if heard is not None:
            calls += heard.calls
            unanswered += len(heard.asked - heard.said.keys())
    made = _counted(rows, proven)
    return (
        replace(
            made,
            judge="none" if judge is None else judge.name,
            unanswered=unanswered,
            seconds=time.monotonic() - started,
            calls=calls,
            auc=auc([(row.true, value) for row, value in likelihoods]),
            thresholds=None if judge is None else judge.thresholds,
            always=always_says(labels),
        ),
        tuple(likelihoods),
    )


def _refused(proven: Proven) -> bool:
    return proven.verdict in (VerdictStatus.CONTRADICTED, VerdictStatus.UNSUPPORTED)


def _counted(rows: Sequence[LabelledStatement], proven: Sequence[Proven]) -> JudgeEvaluation:
    pairs = list(zip(rows, proven, strict=True))
    verdicts = Counter((row.true, found.verdict) for row, found in pairs)
    by_kind = Counter((row.kind, row.true) for row in rows)
    supported = Counter((row.kind, row.true) for row, found in pairs if found.verdict is VerdictStatus.SUPPORTED)
    failures = Counter(p.reason for _, p in pairs if p.reason.startswith("the judge could not be asked"))
    return JudgeEvaluation(
        judge="",
        true_rows=sum(row.true for row in rows),
        kept=verdicts[True, VerdictStatus.SUPPORTED],
        partly=verdicts[True, VerdictStatus.PARTIAL],
        accused=sum(row.true and _refused(found) for row, found in pairs),
        accused_by_fact=sum(row.true and _refused(found) and found.judgement is None for row, found in pairs),
        false_rows=sum(not row.true for row in rows),
        passed=verdicts[False, VerdictStatus.SUPPORTED],
        unchecked=verdicts[True, VerdictStatus.UNCHECKED] + verdicts[False, VerdictStatus.UNCHECKED],
        unanswered=0,
        by_kind=tuple(
            KindCounts(kind, true, count, supported[kind, true])
            for (kind, true), count in sorted(by_kind.items(), key=lambda item: (not item[0][1], item[0][0]))
        ),
        failure=failures.most_common(1)[0][0] if failures else "",
    )


def always_says(answers: Iterable[tuple[bool, JudgementLabel]]) -> str:
    """What a judge says of true and false statements alike; empty when it tells them apart, or said too little."""
    said = list(answers)
    if len(said) < _SURE_ROWS or len({true for true, _ in said}) < 2:
        return ""
    states = sum(label is JudgementLabel.STATES for _, label in said)
    return "everything true" if states == len(said) else "nothing true" if states == 0 else ""


def auc(scored: Sequence[tuple[bool, float]]) -> float | None:
    """The chance that a true row has a higher likelihood than a false one; None without both."""
    true = sorted(value for label, value in scored if label)
    false = [value for label, value in scored if not label]
    if not true or not false:
        return None
    won = sum(len(true) - (bisect_left(true, value) + bisect_right(true, value)) / 2 for value in false)
    return won / (len(true) * len(false))


def fit_thresholds(scored: Sequence[tuple[bool, float]]) -> tuple[float, float] | None:
    """The lowest likelihood from which on 97 % are true, and the highest up to which 95 % are false.

    None when no likelihood reaches 97 %: then the judge can't tell. Without enough that are surely false nothing is
    refused (a threshold of 0).
    """
    rows = sorted(scored, key=lambda row: row[1])
    supported = next(
        (
            value
            for index, (_, value) in enumerate(rows)
            if (index == 0 or rows[index - 1][1] < value)
            and len(rows) - index >= LEAST_ROWS
            and sum(label for label, _ in rows[index:]) >= SUPPORTED_PRECISION * (len(rows) - index)
        ),
        None,
    )
    if supported is None:
        return None
    refused = 0.0
    for index in range(len(rows), LEAST_ROWS - 1, -1):
        value = rows[index - 1][1]
        ends = index == len(rows) or rows[index][1] > value
        if ends and value < supported and sum(not label for label, _ in rows[:index]) >= REFUSED_PRECISION * index:
            refused = value
            break
    return supported, refused


def halves(
    scored: Sequence[tuple[LabelledStatement, float]],
) -> tuple[list[tuple[bool, float]], list[tuple[bool, float]]]:
    """The rows in two halves by page: one to fit on, the other to report."""
    parts: tuple[list[tuple[bool, float]], list[tuple[bool, float]]] = ([], [])
    for row, value in scored:
        parts[sha256(f"{row.site}/{row.title}".encode()).digest()[0] % 2].append((row.true, value))
    return parts


def measured(scored: Sequence[tuple[LabelledStatement, float]], on: str) -> Thresholds | None:
    """Thresholds fitted on one half, with what they came to on the other; None when the judge can't tell."""
    fitted, held = halves(scored)
    limits = fit_thresholds(fitted)
    if limits is None:
        return None
    above = [label for label, value in held if value >= limits[0]]
    below = [label for label, value in held if value <= limits[1]]
    right = f"{sum(above)} of {len(above)} supported and {len(below) - sum(below)} of {len(below)} refused are right"
    return Thresholds(*limits, f"{right}, of {len(held)} held-back statements ({on})")


async def evaluate_judge(engine: Engine, text: str | None = None, *, fit: bool = False) -> JudgeEvaluation:
    """What the judge of an engine is worth: measured on the shipped statements, or on those of `text` (JSON Lines).

    `fit` also fits the thresholds of a judge of probabilities on one half of the pages, notes what they came to on the
    other, and keeps them in the home.

    Errors: InvalidInput (a line is no labelled statement, or the judge gives no probabilities to fit), InvalidSetting.
    """
    rows = shipped_statements() if text is None else read_statements(text)
    ledger = PassingLedger(engine.settings.budget)
    found, likelihoods = await evaluate(await engine.judge(ledger), rows, at=datetime.now(UTC))
    used = await ledger.spent()
    found = replace(found, tokens_in=used.tokens_in, tokens_out=used.tokens_out, cost_usd=used.cost_usd)
    if not fit:
        return found
    if not likelihoods:
        raise InvalidInput(
            f"{found.judge} gives no probabilities", reason="nothing_to_fit", hint=found.failure or "Its word counts."
        )
    on = "the shipped statements" if text is None else f"{len(rows)} statements"
    limits = measured(likelihoods, f"{on}, {datetime.now(UTC):%Y-%m-%d}")
    if limits is not None:
        keep_thresholds(engine.settings, found.judge, limits)
    return replace(found, thresholds=limits)
